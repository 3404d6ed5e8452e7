import { useEffect, useRef } from 'react';

/**
 * After navigation, closes the menu of a narrow window. If the focused element is gone, moves the focus to the start of
 * the new page, because otherwise keyboard and screen reader users would be sent back to the top.
 */
export function useNavigationFocus(location: string, menu_open: boolean, closeMenu: () => void): void {
  const before = useRef(location);
  useEffect(() => {
    if (before.current === location) return;
    before.current = location;
    const lost = menu_open || document.activeElement === document.body;
    if (lost) document.getElementById('content')?.focus({ preventScroll: true });
    closeMenu();
  }, [location, menu_open, closeMenu]);
}

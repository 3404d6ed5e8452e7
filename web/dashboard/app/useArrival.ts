import { useEffect, useRef } from 'react';

/**
 * At another place a narrow window's menu closes. The focus that stood in it, or on a link that went with the page it
 * was on, is put where the new page begins: lost, it would send who listens or types back to the top.
 */
export function useArrival(location: string, menu_open: boolean, closeMenu: () => void): void {
  const before = useRef(location);
  useEffect(() => {
    if (before.current === location) return;
    before.current = location;
    const lost = menu_open || document.activeElement === document.body;
    if (lost) document.getElementById('content')?.focus({ preventScroll: true });
    closeMenu();
  }, [location, menu_open, closeMenu]);
}

import { ActionIcon, Menu } from '@mantine/core';
import { createContext, type KeyboardEvent, type ReactNode, useEffect, useRef, useState } from 'react';
import { Icon } from '../Icon.tsx';

/** Whether a dialog's opener is an item of a menu instead of a button. */
export const InMenu = createContext(false);

/** A “⋯” menu for actions that are rare or destructive. Its children are dialogs. */
export function ActionMenu({ label, children }: { label: string; children: ReactNode }) {
  const [opened, setOpened] = useState(false);
  const opener = useRef<HTMLButtonElement>(null);
  const dropdown = useRef<HTMLDivElement>(null);
  // Mantine leaves the focus on the button if the menu is mounted while closed: keys would not reach the items, and
  // Escape would not close it.
  useEffect(() => {
    const first = dropdown.current?.querySelector<HTMLElement>('[role="menuitem"]');
    if (opened) first?.focus({ preventScroll: true });
  }, [opened]);
  const onChange = (open: boolean) => {
    // Before a dialog opens, which returns the focus to where it was: items of a closed menu cannot have it.
    if (!open) opener.current?.focus();
    setOpened(open);
  };
  const onKeyDown = ({ key }: KeyboardEvent) => {
    // The browser goes on from the button. The menu itself is at the end of the document.
    if (key === 'Tab') onChange(false);
  };
  return (
    // Mounted while closed, because the dialogs that it opens are part of it.
    <Menu opened={opened} onChange={onChange} keepMounted keepMountedMode="display-none" position="bottom-end">
      <Menu.Target>
        <ActionIcon ref={opener} variant="default" size={26} aria-label={label}>
          <Icon name="more" />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown ref={dropdown} onKeyDown={onKeyDown}>
        <InMenu value>{children}</InMenu>
      </Menu.Dropdown>
    </Menu>
  );
}

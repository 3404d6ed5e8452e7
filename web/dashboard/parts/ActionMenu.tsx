import { ActionIcon, Menu } from '@mantine/core';
import { createContext, type ReactNode } from 'react';
import { Icon } from './Icon.tsx';

/** Whether a dialog's opener is an item of a menu instead of a button. */
export const InMenu = createContext(false);

/** A “⋯” menu for actions that are rare or destructive. Its children are dialogs. */
export function ActionMenu({ label, children }: { label: string; children: ReactNode }) {
  return (
    // Mounted while closed, because the dialogs that it opens are part of it.
    <Menu keepMounted keepMountedMode="display-none" position="bottom-end" withinPortal>
      <Menu.Target>
        <ActionIcon variant="default" size={26} aria-label={label}>
          <Icon name="more" />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        <InMenu value>{children}</InMenu>
      </Menu.Dropdown>
    </Menu>
  );
}

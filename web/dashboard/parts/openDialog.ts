import { useEffect } from 'react';

/** Dialogs that the command palette can open. */
export type DialogName = 'create-link' | 'run-again';

const on_page = new Map<DialogName, () => void>();
let requested: DialogName | undefined;

/** Lets `openDialog` open this one while it is on the page, or as soon as it is, if its opening was requested on another page. */
export function useOpenDialog(name: DialogName | undefined, open: () => void): void {
  useEffect(() => {
    if (name === undefined) return;
    on_page.set(name, open);
    if (requested === name) open();
    requested = undefined;
    return () => void on_page.delete(name);
  }, [name, open]);
}

export function isOnPage(name: DialogName): boolean {
  return on_page.has(name);
}

/** Opens the dialog on this page, or on the page that is shown next. */
export function openDialog(name: DialogName): void {
  const open = on_page.get(name);
  requested = open ? undefined : name;
  open?.();
}

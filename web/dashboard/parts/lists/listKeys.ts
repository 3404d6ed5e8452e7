/** The attribute of table rows that keys can move to. */
export const list_row = 'data-list-row';

/** Handles the keys of lists: `j` and `k` move between rows, `x` selects one. Enter opens it, see DataTable. */
export function handleListKey(key: string): boolean {
  const step = { j: 1, k: -1 }[key];
  const focused = document.activeElement?.closest<HTMLElement>(`[${list_row}]`);
  if (step !== undefined) return focusRow(focused, step);
  if (key !== 'x' || !focused) return false;
  focused.querySelector<HTMLInputElement>('input[type=checkbox]')?.click();
  return true;
}

/** Without a focused row, the first one of the page, or the last. */
function focusRow(focused: HTMLElement | null | undefined, step: number): boolean {
  const within = focused?.closest('tbody') ?? document.getElementById('content');
  const rows = [...(within?.querySelectorAll<HTMLElement>(`[${list_row}]`) ?? [])].filter((row) =>
    row.checkVisibility(),
  );
  const row = focused ? rows[rows.indexOf(focused) + step] : rows.at(step > 0 ? 0 : -1);
  row?.focus();
  // Focusing alone leaves rows below the header.
  row?.scrollIntoView({ block: 'nearest' });
  return row !== undefined;
}

import { all, one } from './elements.ts';

/** Filters the contents by words in method, path or summary. Enter goes to the first match. */
export function showFilter(): void {
  const box = one('.find', HTMLElement);
  const input = one('#find', HTMLInputElement);
  const state = one('#find\\.state', HTMLElement);
  if (!box || !input || !state) return;
  box.hidden = false;
  const entries = all('.side li[data-find]', HTMLLIElement);
  const apply = () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const entry of entries) entry.hidden = !words.every((word) => entry.dataset.find?.includes(word));
    for (const group of all('.side .links', HTMLElement)) group.hidden = !one('li:not([hidden])', HTMLLIElement, group);
    for (const guides of all('.side .guides', HTMLElement)) guides.hidden = words.length > 0;
    const matches = entries.filter((entry) => !entry.hidden).length;
    state.textContent = words.length === 0 ? '' : `${matches} of ${entries.length} endpoints`;
  };
  input.addEventListener('input', apply);
  input.addEventListener('keydown', (event) => {
    const first = one('.side li[data-find]:not([hidden]) a', HTMLAnchorElement);
    if (event.key === 'Enter') first?.click();
    else if (event.key === 'ArrowDown') first?.focus();
    else if (event.key === 'Escape') input.value = '';
    else return;
    event.preventDefault();
    if (event.key === 'Escape') apply();
  });
}

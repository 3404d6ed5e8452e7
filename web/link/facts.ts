import { make } from './elements.ts';
import type { Translate } from './texts.ts';

/** A read-only value. `copy`: it is meant to be pasted somewhere else. */
export type Fact = { name: string; value: string; copy?: true };

export function drawFacts(facts: readonly Fact[], t: Translate): Node[] {
  if (facts.length === 0) return [];
  const rows = facts.map(({ name, value, copy }) => {
    const text = make('dd', {}, value);
    if (copy)
      text.append(copyButton({ label: t('copy'), name: t('copy_value', { name }), copied: t('copied') }, value));
    return make('div', copy ? { class: 'to-copy' } : {}, make('dt', {}, name), text);
  });
  return [make('dl', { class: 'facts' }, ...rows)];
}

/** `name` is the accessible name, which says what is copied. */
export function copyButton(texts: { label: string; name?: string; copied: string }, value: string): HTMLElement {
  const button = make('button', { type: 'button', class: 'copy' }, texts.label);
  if (texts.name !== undefined) button.setAttribute('aria-label', texts.name);
  const status = make('span', { class: 'visually-hidden', role: 'status' });
  button.addEventListener('click', async () => {
    if (!(await copyText(value))) return;
    button.textContent = texts.copied;
    status.textContent = texts.copied;
    setTimeout(() => {
      button.textContent = texts.label;
      status.textContent = '';
    }, 2_000);
  });
  return make('span', { class: 'copying' }, button, status);
}

/** In a frame, the clipboard needs a permission that the application's page may not give. The old way does not. */
async function copyText(value: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(value);
    return true;
  } catch {
    const before = document.activeElement;
    const field = make('textarea', { class: 'visually-hidden', 'aria-hidden': 'true' });
    field.value = value;
    document.body.append(field);
    field.select();
    const copied = document.execCommand('copy');
    field.remove();
    if (before instanceof HTMLElement) before.focus({ preventScroll: true });
    return copied;
  }
}

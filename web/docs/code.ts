import { all, make, one } from './elements.ts';

const tokens = /("(?:\\.|[^"\\])*")(\s*:)?|\b(true|false|null)\b|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
const copied_ms = 2000;

/** Highlights JSON. */
export function highlight(code: HTMLElement): void {
  const text = code.textContent ?? '';
  const parts: (Node | string)[] = [];
  let done = 0;
  for (const match of text.matchAll(tokens)) {
    const [token, string, colon, word] = match;
    parts.push(text.slice(done, match.index));
    const kind =
      string === undefined ? (word === undefined ? 'number' : 'word') : colon === undefined ? 'string' : 'key';
    parts.push(make('span', { class: kind }, string ?? token), colon ?? '');
    done = match.index + token.length;
  }
  code.replaceChildren(...parts, text.slice(done));
}

/** A code block like those in the served page. */
export function codeBlock(title: string, text: string, json: boolean): HTMLElement {
  const code = make('code', { class: json ? 'json' : 'text' }, text);
  if (json) highlight(code);
  const button = make('button', { type: 'button', class: 'copy', 'aria-label': `Copy: ${title}` }, 'Copy');
  const block = make(
    'figure',
    { class: 'code' },
    make('figcaption', {}, make('span', {}, title), button),
    make('pre', { tabindex: '0', role: 'group', 'aria-label': title }, code),
  );
  showCopyButtons(block);
  return block;
}

/** Shows the copy buttons, unless the browser has no clipboard API (plain http from another host). */
export function showCopyButtons(within: ParentNode = document): void {
  for (const button of all('button.copy', HTMLButtonElement, within)) {
    button.hidden = !navigator.clipboard;
    button.addEventListener('click', () => void copy(button));
  }
}

async function copy(button: HTMLButtonElement): Promise<void> {
  const block = button.closest('figure');
  const code = block && one('code', HTMLElement, block);
  if (!code) return;
  const label = button.getAttribute('aria-label') ?? '';
  await navigator.clipboard.writeText(code.textContent ?? '');
  button.textContent = 'Copied';
  button.setAttribute('aria-label', label.replace('Copy', 'Copied'));
  setTimeout(() => {
    button.textContent = 'Copy';
    button.setAttribute('aria-label', label);
  }, copied_ms);
}

import { all, make } from './elements.ts';

const copied_ms = 2000;

const strings = String.raw`"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'`;
const numbers = String.raw`(?<![\w.])-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?\b`;
const words: Record<string, string> = {
  json: 'true|false|null',
  shell: 'curl|npm|npx|node|export',
  typescript: 'import|from|export|const|let|new|await|async|for|of|if|else|return|try|catch|function|true|false|null',
  python: 'import|from|for|in|if|else|try|except|return|def|as|with|True|False|None',
};
const comments: Record<string, string> = {
  json: '(?!)',
  shell: String.raw`(?<=^|\s)#.*$`,
  typescript: String.raw`(?<=^|\s)\/\/.*$`,
  python: '#.*$',
};
/** The classes that code blocks have, as far as the language differs in name. */
const aliases: Record<string, string> = {
  curl: 'shell',
  bash: 'shell',
  sh: 'shell',
  ts: 'typescript',
  tsx: 'typescript',
  js: 'typescript',
  javascript: 'typescript',
};

/** Highlights comments, strings, numbers and words of the languages of the documentation. */
export function highlight(code: HTMLElement): void {
  const language = aliases[code.className] ?? code.className;
  if (!Object.hasOwn(words, language)) return;
  const tokens = new RegExp(
    `(${comments[language]})|(${strings})(\\s*:)?|\\b(${words[language]})\\b|(${numbers})`,
    'gm',
  );
  const text = code.textContent ?? '';
  const parts: (Node | string)[] = [];
  let done = 0;
  for (const match of text.matchAll(tokens)) {
    const [token, comment, string, colon, word] = match;
    parts.push(text.slice(done, match.index));
    const kind = comment ? 'comment' : string ? (colon ? 'key' : 'string') : word ? 'word' : 'number';
    parts.push(make('span', { class: kind }, string ?? token), string ? (colon ?? '') : '');
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
  // The visible one of samples in several languages.
  const code = block && all('code', HTMLElement, block).find((each) => each.offsetParent !== null);
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

import { all, make, one } from './elements.ts';

type Entry = { title: string; page: string; section: string; url: string; text: string };
type Prepared = Entry & { in_title: string; in_page: string; in_text: string };

const shown_max = 12;
const excerpt_length = 120;

/** Search over all pages: `/` focuses it, the arrow keys choose a result, Enter opens it. */
export function showSearch(): void {
  const box = one('.search', HTMLElement);
  const input = one('#search', HTMLInputElement);
  const list = one('#results', HTMLElement);
  const state = one('.found', HTMLElement);
  if (!box || !input || !list || !state) return;
  box.hidden = false;
  let index: Promise<Prepared[]> | undefined;
  let chosen = 0;

  const load = () => {
    index ??= fetchIndex().catch(() => {
      index = undefined;
      return [];
    });
    return index;
  };
  const close = () => {
    list.hidden = true;
    input.setAttribute('aria-expanded', 'false');
    input.removeAttribute('aria-activedescendant');
  };
  const mark = (next: number) => {
    const options = [...list.children];
    if (options.length === 0) return;
    chosen = (next + options.length) % options.length;
    for (const [at, option] of options.entries()) option.setAttribute('aria-selected', String(at === chosen));
    input.setAttribute('aria-activedescendant', `result.${chosen}`);
    options[chosen]?.scrollIntoView({ block: 'nearest' });
  };
  const update = async () => {
    const typed = input.value;
    const words = splitWords(typed);
    const entries = words.length === 0 ? [] : await load();
    // Something else was typed while the index was loaded.
    if (input.value !== typed) return;
    if (words.length === 0) {
      state.textContent = '';
      return close();
    }
    const results = find(entries, words);
    list.replaceChildren(...results.map((entry, at) => createOption(entry, words, at)));
    state.textContent = results.length === 0 ? 'No results' : `${results.length} results`;
    state.classList.toggle('none', results.length === 0);
    list.hidden = results.length === 0;
    input.setAttribute('aria-expanded', String(results.length > 0));
    mark(0);
  };

  input.addEventListener('focus', () => void load());
  input.addEventListener('input', () => void update());
  input.addEventListener('keydown', (event) => {
    if (event.key === 'ArrowDown') mark(chosen + 1);
    else if (event.key === 'ArrowUp') mark(chosen - 1);
    else if (event.key === 'Enter' && !list.hidden) all('a', HTMLAnchorElement, list)[chosen]?.click();
    else if (event.key === 'Escape') {
      input.value = '';
      void update();
      input.blur();
    } else return;
    event.preventDefault();
  });
  list.addEventListener('click', () => {
    input.value = '';
    state.textContent = '';
    close();
  });
  box.addEventListener('focusout', (event) => {
    if (!(event.relatedTarget instanceof Node && box.contains(event.relatedTarget))) close();
  });
  addEventListener('keydown', (event) => {
    const typing = event.target instanceof Element && event.target.closest('input, textarea, select');
    if (event.key !== '/' || typing || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    input.focus();
  });
}

async function fetchIndex(): Promise<Prepared[]> {
  const response = await fetch('/docs/search.json');
  const entries = (await response.json()) as Entry[];
  return entries.map((entry) => ({
    ...entry,
    in_title: entry.title.toLowerCase(),
    in_page: `${entry.page} ${entry.section}`.toLowerCase(),
    in_text: entry.text.toLowerCase(),
  }));
}

function splitWords(text: string): string[] {
  return text.toLowerCase().split(/\s+/).filter(Boolean);
}

/** Entries that contain all words, best first: in the title, at the start of a word, in the page's name, in the text. */
function find(entries: readonly Prepared[], words: readonly string[]): Prepared[] {
  return entries
    .map((entry) => ({ entry, score: computeScore(entry, words) }))
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score)
    .slice(0, shown_max)
    .map(({ entry }) => entry);
}

function computeScore({ in_title, in_page, in_text }: Prepared, words: readonly string[]): number {
  let total = in_title === words.join(' ') ? 20 : 0;
  for (const word of words) {
    const score =
      (startsWord(in_title, word) ? 8 : in_title.includes(word) ? 4 : 0) +
      (startsWord(in_page, word) ? 3 : 0) +
      (startsWord(in_text, word) ? 2 : in_text.includes(word) ? 1 : 0);
    if (score === 0) return 0;
    total += score;
  }
  return total;
}

function startsWord(text: string, word: string): boolean {
  const at = text.indexOf(word);
  return at === 0 || (at > 0 && /\W/.test(text.charAt(at - 1)));
}

function createOption(entry: Prepared, words: readonly string[], at: number): HTMLAnchorElement {
  return make(
    'a',
    { id: `result.${at}`, role: 'option', 'aria-selected': 'false', href: entry.url, tabindex: '-1' },
    make('strong', {}, entry.title),
    make('span', { class: 'where' }, entry.title === entry.page ? entry.section : `${entry.section} › ${entry.page}`),
    make('span', { class: 'excerpt' }, chooseExcerpt(entry, words)),
  );
}

function chooseExcerpt({ text, in_text }: Prepared, words: readonly string[]): string {
  const first_match = Math.min(...words.map((word) => in_text.indexOf(word)).filter((at) => at >= 0), text.length);
  const start = first_match === text.length ? 0 : Math.max(0, first_match - excerpt_length / 3);
  const cut = text.slice(start, start + excerpt_length).trim();
  return `${start > 0 ? '… ' : ''}${cut}${start + excerpt_length < text.length ? ' …' : ''}`;
}

import { focusOn, icon, make, startAt } from './elements.ts';
import type { Flow } from './flow.ts';
import { isError, type Practice } from './service.ts';
import { errorText, placeText } from './wording.ts';

/** Long enough for the next letter of a word, short enough to look immediate. */
const pause_ms = 200;
/** As many as the service returns. */
const results_max = 20;

/** The step in which the person finds the practice: a combobox with a list below it (WAI-ARIA, list autocomplete). */
export function findPractice(flow: Flow): void {
  const { t, card } = flow;
  const input = make('input', {
    ...{ id: 'field-practice', name: 'practice', type: 'text', role: 'combobox', autocomplete: 'off' },
    ...{ autocapitalize: 'words', spellcheck: 'false', enterkeyhint: 'search', maxlength: '200' },
    ...{ 'aria-autocomplete': 'list', 'aria-expanded': 'false', 'aria-controls': 'practices' },
    'aria-describedby': 'lead message',
  });
  const list = make('ul', { id: 'practices', class: 'practices', role: 'listbox', 'aria-label': t('find_results') });
  list.hidden = true;
  const status = make('p', { class: 'status', role: 'status' });
  const alert = make('div', { class: 'message', role: 'alert', id: 'message' });
  const field = make('div', { class: 'field' }, make('label', { for: input.id }, t('find_label')), input);
  const form = make('form', { novalidate: '', class: 'finding' }, alert, field, list, status);
  form.addEventListener('submit', (event) => event.preventDefault());

  let shown: Practice[] = [];
  let active = -1;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let searched = '';
  let busy = false;

  /** What the person cannot change is not shown as an error. */
  function warn(text: string, plain = false): void {
    alert.classList.toggle('plain', plain);
    alert.replaceChildren(...(plain ? [] : [icon('alert')]), make('span', {}, text));
  }

  function activate(at: number): void {
    active = at;
    for (const [index, option] of [...list.children].entries()) {
      option.setAttribute('aria-selected', String(index === at));
      if (index === at) option.scrollIntoView({ block: 'nearest' });
    }
    if (at < 0) input.removeAttribute('aria-activedescendant');
    else input.setAttribute('aria-activedescendant', `practice-${at}`);
  }

  function open(practices: Practice[]): void {
    shown = practices;
    list.replaceChildren(...practices.map((practice, at) => drawOption(flow, practice, at, choose)));
    list.hidden = practices.length === 0;
    input.setAttribute('aria-expanded', String(practices.length > 0));
    activate(-1);
  }

  function close(): void {
    open([]);
    status.textContent = '';
  }

  async function search(): Promise<void> {
    const query = input.value.trim();
    if (query === searched) return;
    searched = query;
    if (!/[\p{L}\p{N}]/u.test(query)) return close();
    const result = await flow.service.findPractices(query);
    // The person has typed more since, or left the step.
    if (query !== searched || !input.isConnected) return;
    if (isError(result)) {
      close();
      // Typing the same again repeats it.
      searched = '';
      if (result.code.startsWith('link_')) return flow.dead(result.code.slice('link_'.length));
      return warn(errorText(flow, result.code, result.message ?? ''));
    }
    alert.replaceChildren();
    open(result.practices);
    status.textContent = countText(flow, result.practices.length);
  }

  async function choose(practice: Practice): Promise<void> {
    if (busy) return;
    if (!practice.available) return warn(t('practice_unavailable', { practice: practice.name }), true);
    busy = true;
    form.setAttribute('aria-busy', 'true');
    const result = await flow.service.choosePractice(practice.id);
    busy = false;
    form.removeAttribute('aria-busy');
    if (!isError(result)) return flow.restart();
    flow.host.event('error', result.code);
    if (result.code.startsWith('link_')) return flow.dead(result.code.slice('link_'.length));
    warn(errorText(flow, result.code, result.message ?? '', { practice: practice.name }));
    focusOn(input);
  }

  input.addEventListener('input', () => {
    clearTimeout(timer);
    alert.replaceChildren();
    timer = setTimeout(() => void search(), pause_ms);
  });
  input.addEventListener('keydown', (event) => {
    const move = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const practice = shown[active];
    if (move !== undefined && shown.length > 0) {
      const from = active < 0 && move < 0 ? 0 : active;
      activate((from + move + shown.length) % shown.length);
    } else if (event.key === 'Enter' && practice) void choose(practice);
    else if (event.key === 'Enter') {
      clearTimeout(timer);
      void search();
    } else if (event.key === 'Escape' && input.value !== '') {
      // First the list, then the text; only then does Escape close the window.
      if (list.hidden) input.value = '';
      searched = list.hidden ? '' : searched;
      close();
    } else return;
    event.preventDefault();
    event.stopPropagation();
  });

  card.show(
    make('h1', {}, t('find_title')),
    make('p', { class: 'lead', id: 'lead' }, t('find_lead')),
    form,
    make('p', { class: 'note' }, make('span', {}, t('find_not_listed'))),
  );
  startAt(input);
}

function drawOption(flow: Flow, practice: Practice, at: number, choose: (practice: Practice) => void): HTMLElement {
  const { t } = flow;
  const place = placeText(practice);
  const parent = practice.parent === null ? '' : t('part_of', { parent: practice.parent });
  const detail = [place, parent].filter((text) => text !== '').join(' · ');
  const option = make(
    'li',
    { id: `practice-${at}`, role: 'option', 'aria-selected': 'false' },
    make('strong', { class: 'title' }, practice.name),
    ...(detail === '' ? [] : [make('span', { class: 'detail' }, detail)]),
  );
  if (!practice.available) {
    option.setAttribute('aria-disabled', 'true');
    option.append(make('span', { class: 'tag' }, t('find_unavailable')));
  }
  // The input keeps the focus.
  option.addEventListener('mousedown', (event) => event.preventDefault());
  option.addEventListener('click', () => choose(practice));
  return option;
}

function countText({ t }: Flow, count: number): string {
  if (count === 0) return t('find_none');
  if (count === 1) return t('find_one');
  return t(count < results_max ? 'find_many' : 'find_more', { count: String(count) });
}

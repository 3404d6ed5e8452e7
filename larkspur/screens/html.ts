/** Escaped markup. Only the `html` tag creates it. */
export interface Html {
  readonly [markup]: string;
}

export type Content = Html | string | number | null | undefined | false | Content[];

export function html(strings: TemplateStringsArray, ...values: Content[]): Html {
  return { [markup]: String.raw({ raw: strings }, ...values.map(render)) };
}

export function render(content: Content): string {
  if (content === null || content === undefined || content === false) return '';
  if (Array.isArray(content)) return content.map(render).join('');
  if (typeof content === 'object') return content[markup];
  return String(content).replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

const markup = Symbol('markup');

/** A card with a heading. Shows `emptyText` if there is no content. */
export function section(title: string, emptyText: string, content: Html[]): Html {
  return html`<section class="card" id="${toAnchor(title)}"><h2>${title}</h2>${content.length > 0 ? content : html`<p class="muted">${emptyText}</p>`}</section>`;
}

/** A section of a page, with its title. */
export interface Part {
  title: string;
  content: Html;
}

export function part(title: string, emptyText: string, content: Html[]): Part {
  return { title, content: section(title, emptyText, content) };
}

/** A part of a page that is shown alone. `id` is one of `tab_ids`. */
export interface Tab {
  id: (typeof tab_ids)[number];
  title: string;
  content: Html[];
}

/** The stylesheet has a rule for each, which marks the link of the tab that is shown. */
export const tab_ids = [
  'summary',
  'visits',
  'calls',
  'medication',
  'orders-and-referrals',
  'billing',
  'files',
  'changes',
] as const;

/**
 * Tabs below a heading that stays visible while the page scrolls. The tab that the URL's fragment names is shown, or the
 * one that contains the element with this id; otherwise the first. The stylesheet does it, without scripts.
 */
export function tabs(label: string, heading: Html, all: Tab[]): Html {
  const links = all.map(({ id, title }) => html`<li><a href="#${id}">${title}</a></li>`);
  return html`<div class="chart">
<div class="chart-top">
${heading}
<nav class="tabs" aria-label="${label}"><ul>${links}</ul></nav>
</div>
${all.map(({ id, title, content }) => html`<div class="tab" id="${id}" role="group" aria-label="${title}">${content}</div>`)}
</div>`;
}

function toAnchor(title: string): string {
  return title.toLowerCase().replaceAll(' ', '-');
}

/** A list of labeled values. Empty values are left out. */
export function factList(pairs: [label: string, value: Content][]): Html {
  const filled = pairs.filter(
    ([, value]) =>
      value !== null && value !== undefined && value !== '' && !(Array.isArray(value) && value.length === 0),
  );
  return html`<dl class="facts-list">${filled.map(([label, value]) => html`<div><dt>${label}</dt><dd>${value}</dd></div>`)}</dl>`;
}

/** A row that links can name. */
export interface Row {
  id: string;
  /** Whether it was written through the API within the last day. */
  isNew: boolean;
  cells: Content[];
}

/** A table whose first column is the row header. Without rows there is no table. */
export function table(label: string, columns: string[], rows: (Content[] | Row)[]): Html[] {
  if (rows.length === 0) return [];
  return [
    html`<div class="scroll" tabindex="0" role="region" aria-label="${label}"><table>
<thead><tr>${columns.map((column) => html`<th scope="col">${column}</th>`)}</tr></thead>
<tbody>${rows.map((row) => ('cells' in row ? tableRow(row) : tableRow({ id: '', isNew: false, cells: row })))}</tbody>
</table></div>`,
  ];
}

function tableRow({ id, isNew, cells: [first, ...rest] }: Row): Html {
  return html`<tr${id !== '' && html` id="${id}"`}><th scope="row">${first}${newMark(isNew)}</th>${rest.map((cell) => html`<td>${cell}</td>`)}</tr>`;
}

/** Marks what was written through the API within the last day. */
export function newMark(isNew: boolean): Content {
  return isNew && html` <span class="new">New from API</span>`;
}

/** Links to the previous and next page, if the list has more than one page. */
export function pagination(
  path: string,
  list: { total: number; page: number; pageSize: number },
  search: Record<string, string>,
): Content {
  const last = Math.max(1, Math.ceil(list.total / list.pageSize));
  const link = (number: number, label: string) =>
    html`<a href="${path}?${new URLSearchParams({ ...search, page: String(number) }).toString()}">${label}</a>`;
  return (
    last > 1 &&
    html`<nav class="pages" aria-label="Pages">
${list.page > 1 && link(list.page - 1, 'Previous')}
<span>Page ${list.page} of ${last}</span>
${list.page < last && link(list.page + 1, 'Next')}
</nav>`
  );
}

/** Parses the `page` query parameter. Invalid values count as page 1. */
export function pageNumber(value: unknown): number {
  return Math.min(Math.max(1, Math.trunc(Number(value)) || 1), 100_000);
}

export function chartPath(patientId: string): string {
  return `/patients/${encodeURIComponent(patientId)}`;
}

export function patientLink(patientId: string, name: Content): Html {
  return html`<a href="${chartPath(patientId)}">${name}</a>`;
}

export function nowrap(content: Content): Html {
  return html`<span class="nowrap">${content}</span>`;
}

export function addressLine(address: {
  line1: string;
  line2?: string | null;
  city: string;
  state: string;
  zip: string;
}): string {
  const street = [address.line1, address.line2].filter(Boolean).join(', ');
  return `${street}, ${address.city}, ${address.state} ${address.zip}`;
}

export function dollars(amount: string | null): Content {
  return amount === null ? null : nowrap(amount.startsWith('-') ? `−$${amount.slice(1)}` : `$${amount}`);
}

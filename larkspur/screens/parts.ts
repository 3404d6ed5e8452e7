import { type Content, type Html, html } from './html.ts';

/** A card with a heading; where there is nothing to show, it says so. */
export function section(title: string, none: string, content: Html[]): Html {
  return html`<section class="card"><h2>${title}</h2>${content.length > 0 ? content : html`<p class="muted">${none}</p>`}</section>`;
}

/** Pairs of label and value; those without a value are left out. */
export function facts(pairs: [label: string, value: Content][]): Html {
  const given = pairs.filter(
    ([, value]) => value !== null && value !== '' && !(Array.isArray(value) && value.length === 0),
  );
  return html`<dl class="facts-list">${given.map(([label, value]) => html`<div><dt>${label}</dt><dd>${value}</dd></div>`)}</dl>`;
}

export function table(label: string, columns: string[], rows: Content[][]): Html[] {
  if (rows.length === 0) return [];
  return [
    html`<div class="scroll" tabindex="0" role="region" aria-label="${label}"><table>
<thead><tr>${columns.map((column) => html`<th scope="col">${column}</th>`)}</tr></thead>
<tbody>${rows.map(([first, ...rest]) => html`<tr><th scope="row">${first}</th>${rest.map((cell) => html`<td>${cell}</td>`)}</tr>`)}</tbody>
</table></div>`,
  ];
}

/** Links to the page before and after, where the list has more than one. */
export function pages(
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

/** The page a visitor asked for, whatever they typed. */
export function pageNumber(typed: unknown): number {
  return Math.min(Math.max(1, Math.trunc(Number(typed)) || 1), 100_000);
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
  return amount === null
    ? null
    : html`<span class="nowrap">${amount.startsWith('-') ? `−$${amount.slice(1)}` : `$${amount}`}</span>`;
}

/** A piece of a page that may stand in it as it is. */
export class Html {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

type Part = Html | string | number | false | undefined | readonly Part[];

/** Writes a piece of a page. Whatever is put into it is escaped, unless it is a piece itself. */
export function html(strings: TemplateStringsArray, ...parts: Part[]): Html {
  return new Html(strings.map((string, index) => string + (index < parts.length ? textOf(parts[index]) : '')).join(''));
}

/** A sentence in which `words` between backticks are code. */
export function prose(sentence: string): Html {
  return html`${sentence.split('`').map((part, index) => (index % 2 === 1 ? html`<code>${part}</code>` : part))}`;
}

/** A name that may be broken where its parts meet, before it is broken anywhere. */
export function breakable(name: string): Html {
  return html`${name.split(/(?<=[_.])|(?=\/)/).map((part, index) => html`${index > 0 && html`<wbr>`}${part}`)}`;
}

function textOf(part: Part): string {
  if (part === undefined || part === false) return '';
  if (part instanceof Html) return part.text;
  if (typeof part === 'object') return part.map(textOf).join('');
  const names: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };
  return String(part).replace(/[&<>"']/g, (character) => names[character] ?? '');
}

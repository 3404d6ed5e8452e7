/** HTML that is inserted without escaping. */
export class Html {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

type Part = Html | string | number | false | undefined | readonly Part[];

/** A template tag for HTML. Values are escaped unless they are `Html` themselves. */
export function html(strings: TemplateStringsArray, ...parts: Part[]): Html {
  return new Html(strings.map((string, index) => string + (index < parts.length ? textOf(parts[index]) : '')).join(''));
}

/** Renders text between backticks as code. */
export function prose(sentence: string): Html {
  return html`${sentence.split('`').map((part, index) => (index % 2 === 1 ? html`<code>${part}</code>` : part))}`;
}

/** Allows line breaks between the parts of a name or path. */
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

/** Markup that is safe to send: only `html` makes it, and whatever is put into it is escaped. */
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
  return String(content).replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`);
}

const markup = Symbol('markup');

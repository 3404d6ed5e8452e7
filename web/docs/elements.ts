/** All elements of a type that match a selector. */
export function all<T extends Element>(selector: string, kind: new () => T, within: ParentNode = document): T[] {
  return [...within.querySelectorAll(selector)].filter((element): element is T => element instanceof kind);
}

export function one<T extends Element>(
  selector: string,
  kind: new () => T,
  within: ParentNode = document,
): T | undefined {
  return all(selector, kind, within)[0];
}

/** Creates an element. Its content is text or elements, never HTML. */
export function make<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  attributes: Record<string, string>,
  ...content: (Node | string)[]
): HTMLElementTagNameMap[Name] {
  const element = document.createElement(name);
  for (const [attribute, value] of Object.entries(attributes)) element.setAttribute(attribute, value);
  element.append(...content);
  return element;
}

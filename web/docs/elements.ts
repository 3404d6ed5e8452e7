/** All elements that a selector finds, as what they are known to be. */
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

/** A new element. What it holds is text or elements, never markup. */
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

/** Creates an element. Its content is text or elements, never HTML. */
export function make<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  attributes: Record<string, string> = {},
  ...content: (Node | string)[]
): HTMLElementTagNameMap[Name] {
  const element = document.createElement(name);
  for (const [attribute, value] of Object.entries(attributes)) element.setAttribute(attribute, value);
  element.append(...content);
  return element;
}

let focus_target: HTMLElement | undefined;

/** Focuses an element and remembers it for `restoreFocus`. */
export function focusOn(element: HTMLElement, options?: FocusOptions): void {
  focus_target = element;
  element.focus(options);
}

/** Focuses an element of a new step without scrolling: people read a step from its heading. */
export function startAt(element: HTMLElement): void {
  scrollTo(0, 0);
  focusOn(element, { preventScroll: true });
}

/** Focusing a frame removes the focus from the element inside it. Restores it unless the person moved on. */
export function restoreFocus(): void {
  if (document.activeElement === document.body) focus_target?.focus({ preventScroll: true });
}

const paths = {
  alert: 'M12 8v5m0 3.5v.01M10.3 3.9 2.4 17.6A2 2 0 0 0 4.1 20.6h15.8a2 2 0 0 0 1.7-3L13.7 3.9a2 2 0 0 0-3.4 0Z',
  calendar: 'M4 6.500h16v13.500H4zM4 10.500h16M8 3.500v4M16 3.500v4',
  check: 'm5 12.5 4.5 4.5L19 7.5',
  clock: 'M12 7v5l3.5 2M21 12a9 9 0 1 1-18 0 9 9 0 0 1 18 0Z',
  building: 'M5 20.500V4.500h9v16M14 9.500h5v11M3 20.500h18M8 8.500h3M8 12.500h3M8 16.500h3',
  claims: 'M6 3.500h12v17l-2-1.500-2 1.500-2-1.500-2 1.500-2-1.500-2 1.500zM9 8.500h6M9 12.500h6',
  lock: 'M7 10.5V7.8a5 5 0 0 1 10 0v2.7M6 10.5h12a1 1 0 0 1 1 1V19a1 1 0 0 1-1 1H6a1 1 0 0 1-1-1v-7.500a1 1 0 0 1 1-1Z',
  link: 'M10 14a4 4 0 0 0 5.700 0l3.400-3.400a4 4 0 0 0-5.700-5.700L12.500 5.800M14 10a4 4 0 0 0-5.700 0l-3.400 3.400a4 4 0 0 0 5.700 5.700l.9-.9',
  pencil: 'M4.500 19.500l1-4.500L16 4.500l3.500 3.500L9 18.500zM14 6.500l3.500 3.500',
  people: 'M12 11.500a3.750 3.750 0 1 0 0-7.500 3.750 3.750 0 0 0 0 7.500ZM4.500 20a7.500 7.500 0 0 1 15 0',
};
export type IconName = keyof typeof paths;

/** A decorative icon, hidden from screen readers. */
export function icon(name: IconName): SVGSVGElement {
  const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
  svg.setAttribute('viewBox', '0 0 24 24');
  svg.setAttribute('aria-hidden', 'true');
  svg.setAttribute('class', 'icon');
  const path = document.createElementNS('http://www.w3.org/2000/svg', 'path');
  path.setAttribute('d', paths[name]);
  svg.append(path);
  return svg;
}

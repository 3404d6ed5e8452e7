import { type IconName, icon, make, startAt } from './elements.ts';

/** The card on the page: the client's brand and the current step. */
export type Card = {
  show(...step: Node[]): void;
  /** The words of the current step, as a person reads them. */
  text(): string;
};

export function drawCard(main: HTMLElement, client: { name: string; logo: string | null }): Card {
  const step = make('div', { class: 'step' });
  const mark = client.logo ? logo(client.logo, client.name) : make('span', { class: 'name' }, client.name);
  main.replaceChildren(make('section', { class: 'card' }, make('header', { class: 'brand' }, mark), step));
  return { show: (...parts) => step.replaceChildren(...parts), text: () => step.innerText };
}

function logo(address: string, name: string): HTMLElement {
  const image = make('img', { src: address, alt: name, class: 'logo' });
  // Without its logo, the client is identified by its name.
  image.addEventListener('error', () => image.replaceWith(make('span', { class: 'name' }, name)));
  return image;
}

export type Notice = {
  icon: IconName;
  tone: 'good' | 'plain';
  title: string;
  text: string;
  button?: { label: string; press: () => void } | undefined;
  below?: Node[];
};

/** A final message without inputs. */
export function showNotice(card: Card, { icon: name, tone, title, text, button, below = [] }: Notice): void {
  const heading = make('h1', { tabindex: '-1' }, title);
  const message = make('div', { class: 'notice', role: 'status' }, heading, make('p', { class: 'lead' }, text));
  const parts: Node[] = [make('div', { class: `badge ${tone}` }, icon(name)), message];
  const press = button && make('button', { type: 'button', class: 'primary' }, button.label);
  if (button && press) {
    press.addEventListener('click', button.press);
    parts.push(press);
  }
  card.show(...parts, ...below);
  startAt(press ?? heading);
}

export function showLoading(main: HTMLElement, text: string): void {
  const spinner = make('span', { class: 'spinner', 'aria-hidden': 'true' });
  main.replaceChildren(make('p', { class: 'loading', role: 'status' }, spinner, make('span', {}, text)));
}

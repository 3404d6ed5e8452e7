import type { Card } from './card.ts';
import { focusOn, make } from './elements.ts';
import { drawFacts } from './form.ts';

export type Choice = { label: string; about: string; press: () => void };

/** Several ways on, of which a person takes one. */
export function showChoice(
  card: Card,
  parts: { title: string; lead: string; facts: [name: string, value: string][]; choices: Choice[] },
): void {
  const buttons = parts.choices.map(({ label, about, press }) => {
    const button = make(
      'button',
      { type: 'button', class: 'choice' },
      make('strong', {}, label),
      make('span', {}, about),
    );
    button.addEventListener('click', press);
    return button;
  });
  const list = make('ul', { class: 'choices' }, ...buttons.map((button) => make('li', {}, button)));
  card.show(make('h1', {}, parts.title), make('p', { class: 'lead' }, parts.lead), ...drawFacts(parts.facts), list);
  const [first] = buttons;
  if (first) focusOn(first);
}

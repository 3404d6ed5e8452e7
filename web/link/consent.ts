import type { Card } from './card.ts';
import { type IconName, icon, make, startAt } from './elements.ts';
import { drawFacts, type Fact } from './facts.ts';
import { type ActionForm, drawAction, drawOthers } from './form.ts';
import type { Translate } from './texts.ts';

/** One line of what is shared. */
export type Grant = { icon: IconName; title: string; detail?: string };

export type ConsentParts = {
  title: string;
  lead: string;
  picture?: string | undefined;
  facts: Fact[];
  /** What is shared, and with whom. */
  shared: { title: string; grants: Grant[]; notes: string[] };
  submit: string;
  others: { label: string; press: () => void }[];
  /** Why the step is shown again. */
  warning?: string | undefined;
  /** Called with the words on the page. */
  agree: (text: string) => void;
};

/** The first step: the person agrees before anything is typed. The focus is on the heading, so that nothing is skipped. */
export function showConsent(card: Card, parts: ConsentParts, t: Translate): ActionForm {
  const { shared } = parts;
  const heading = make('h1', { tabindex: '-1' }, parts.title);
  const grants = shared.grants.map(({ icon: name, title, detail }) => {
    const text = make('span', {}, make('strong', {}, title), ...(detail ? [make('span', {}, detail)] : []));
    return make('li', {}, icon(name), text);
  });
  const action = drawAction({ submit: parts.submit, describedby: 'consent', send: () => parts.agree(card.text()) });
  if (parts.others.length > 0) action.element.append(drawOthers(parts.others, action.busy));
  card.show(
    ...(parts.picture ? [make('img', { src: parts.picture, alt: '', class: 'emr-logo' })] : []),
    heading,
    make('p', { class: 'lead' }, parts.lead),
    ...drawFacts(parts.facts, t),
    make(
      'section',
      { class: 'consent', id: 'consent', 'aria-labelledby': 'consent.title' },
      make('h2', { id: 'consent.title' }, shared.title),
      make('ul', { class: 'grants' }, ...grants),
      ...shared.notes.map((note) => make('p', {}, note)),
    ),
    action.element,
  );
  startAt(heading);
  if (parts.warning !== undefined) action.warn({ text: parts.warning });
  return action;
}

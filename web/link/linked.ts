import { showNotice } from './card.ts';
import { make } from './elements.ts';
import type { Flow } from './flow.ts';
import type { Linked } from './service.ts';

/** The last step. The page to which it leads opens in a window of its own, because Link closes. */
export function showLinked(
  { host, hosted, card, language, t }: Pick<Flow, 'host' | 'hosted' | 'card' | 'language' | 't'>,
  { public_token, return_to, practice }: Linked,
): void {
  host.event('linked');
  const returning = hosted && return_to !== null;
  const text = !hosted ? 'linked' : returning ? 'linked_returning' : 'linked_close_window';
  const url = new URL(/* @vite-ignore */ '../../practice', import.meta.url);
  url.hash = `pass=${practice.pass}&account=${practice.account_id}&language=${language}`;
  const manage = make('a', { href: url.href, target: '_blank', rel: 'noopener', class: 'quiet' }, t('manage'));
  // While the person reads, the application waits with closing it. A pointer that happens to be there does not count.
  for (const event of ['pointermove', 'focus']) manage.addEventListener(event, host.stay);
  showNotice(card, {
    icon: 'check',
    tone: 'good',
    title: t('linked_title'),
    text: t(text),
    button: hosted ? undefined : { label: t('done'), press: host.close },
    // In the same window the page would be left again at once.
    below: returning ? [] : [make('div', { class: 'others' }, manage), make('p', { class: 'note' }, t('manage_note'))],
  });
  if (public_token !== null) host.linked(public_token);
  if (returning) location.replace(return_to);
}

import { make } from './elements.ts';
import { copyButton, drawFacts } from './facts.ts';
import type { Flow as LinkFlow } from './flow.ts';
import { hostedLink, type SignInMethod } from './service.ts';
import { formatTime } from './texts.ts';
import { setupFacts, textFor } from './wording.ts';

type Flow = Pick<LinkFlow, 'session' | 't' | 'service'>;

/**
 * What the EMR's administrator needs: the URLs to register and the methods that need their credentials. Staff sign in on
 * the EMR's own page, so this is folded away unless it is all there is.
 */
export function drawAdministrators(
  flow: Flow,
  { method, others, open }: { method: SignInMethod | undefined; others: SignInMethod[]; open: boolean },
  choose: (method: SignInMethod) => void,
): Node[] {
  const { session, t } = flow;
  const for_staff = !method || method.on_page;
  const facts = for_staff ? setupFacts(flow, method) : [];
  if (session.app || (others.length === 0 && facts.length === 0)) return [];
  const details = make('details', { class: 'administrators' }, make('summary', {}, t('administrators')));
  if (open) details.open = true;
  if (facts.length > 0) details.append(make('p', {}, t('administrators_register')), ...drawFacts(facts, t));
  if (others.length > 0) {
    const choices = others.map((other) =>
      make(
        'li',
        {},
        drawChoice(flow, other, () => choose(other)),
      ),
    );
    details.append(make('p', {}, t('administrators_lead')), make('ul', { class: 'choices' }, ...choices));
  }
  return [...(for_staff && !session.update ? drawMessage(flow) : []), details];
}

function drawChoice(flow: Flow, method: SignInMethod, press: () => void): HTMLElement {
  const label = make('strong', {}, textFor(flow, `way_${method.name}`, method.label));
  const description = make('span', {}, textFor(flow, `about_${method.name}`, method.about));
  const button = make('button', { type: 'button', class: 'choice' }, label, description);
  button.addEventListener('click', press);
  return button;
}

/**
 * A draft for the administrator. It contains the link where they can complete it: it works once, until the time that is
 * named. Elsewhere the application would not learn that the account is linked.
 */
function drawMessage({ session, t, service }: Flow): Node[] {
  const facts = session.ways.flatMap((way) => setupFacts({ session, t }, way));
  const values = facts.map(({ name, value }) => `${name}: ${value}`).join('\n');
  const { organization, emr_address: address } = session;
  const subject = t('mail_subject');
  const { resumable, expires_at } = session;
  const until = formatTime(session.language ?? 'en', expires_at, { timeZoneName: 'short' });
  const body = resumable
    ? t('mail_body_link', { organization, address, values, link: hostedLink(service.token), until })
    : t('mail_body', { organization, address, values });
  const href = `mailto:?subject=${encodeURIComponent(subject)}&body=${encodeURIComponent(body)}`;
  const send = make(
    'a',
    { href, class: 'quiet' },
    t(resumable ? 'send_page_to_administrator' : 'send_to_administrator'),
  );
  const copy = copyButton(
    { label: t(resumable ? 'copy_link' : 'copy_message'), copied: t('copied') },
    resumable ? hostedLink(service.token) : body,
  );
  const note = resumable ? [make('p', { class: 'note' }, t('link_until', { until }))] : [];
  return [make('div', { class: 'others' }, send, copy), ...note];
}

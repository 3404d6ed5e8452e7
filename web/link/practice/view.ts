import { type Card, showNotice } from '../card.ts';
import { focusOn, icon, make, startAt } from '../elements.ts';
import { copyButton, drawFacts, type Fact } from '../facts.ts';
import { type ActionForm, drawAction, drawOthers } from '../form.ts';
import { type Counted, type createPracticeService, isError, type LinkedAccount } from '../service.ts';
import { chooseLocale, formatTime, isText, type Language, type Translate } from '../texts.ts';
import { error_texts } from '../wording.ts';

type Shown = { card: Card; t: Translate; language: Language };
type Page = Shown & {
  service: ReturnType<typeof createPracticeService>;
  /** Leaves the page after the person has signed out, or because the session has expired. */
  leave: (why: 'signed_out' | 'expired') => void;
};

/** What is linked, what it was used for, and the button that ends it. */
export function showAccount(page: Page, account: LinkedAccount): void {
  const { card, t, language } = page;
  const heading = make('h1', { tabindex: '-1' }, t('practice_heading'));
  document.title = t('practice_heading');
  const when = (iso: string | null) =>
    iso === null ? t('never') : formatTime(language, iso, { year: 'numeric', month: 'short' });
  // The first sync has not finished yet.
  const reading = account.read_at === null && account.records.length > 0;
  const facts: Fact[] = [
    { name: t('organization'), value: account.organization },
    { name: t('address'), value: account.emr_address },
    { name: t('practice_user'), value: account.emr_user },
    { name: t('practice_since'), value: when(account.linked_at) },
    { name: t('practice_used'), value: when(account.used_at) },
    { name: t('practice_read_at'), value: reading ? t('practice_reading') : when(account.read_at) },
  ];
  const expired = account.status === 'login_required';
  card.show(
    heading,
    make('p', { class: 'lead', id: 'lead' }, t('practice_about')),
    ...(expired ? [make('p', { class: 'message plain' }, icon('alert'), make('span', {}, t('practice_expired')))] : []),
    ...drawFacts(facts, t),
    drawCounts(page, account.records, { title: t('practice_records'), none: t('practice_records_none') }),
    drawCounts(page, account.written, {
      title: t('practice_written', { days: `${account.counted_days}` }),
      none: t('practice_written_none'),
    }),
    ...drawWrites(page, account),
    drawDisconnect(page, account),
    drawFooter(page),
  );
  startAt(heading);
}

/** The account is not linked anymore, now or since the person was here. */
export function showUnlinked({ card, t, language }: Shown, { unlinked_at }: Pick<LinkedAccount, 'unlinked_at'>): void {
  document.title = t('unlinked_title');
  const since = unlinked_at === null ? '' : `${t('unlinked_since', { time: formatTime(language, unlinked_at) })} `;
  showNotice(card, {
    icon: 'check',
    tone: 'good',
    title: t('unlinked_title'),
    text: `${since}${t('unlinked')}`,
  });
}

function drawCounts(
  { t, language }: Page,
  counts: readonly Counted[],
  { title, none }: { title: string; none: string },
): HTMLElement {
  const heading = make('h2', {}, title);
  if (counts.length === 0) return make('section', {}, heading, make('p', { class: 'muted' }, none));
  const format = new Intl.NumberFormat(chooseLocale(language));
  const rows = counts.map(({ subject, count }) =>
    make('div', {}, make('dt', {}, subjectText(t, subject)), make('dd', {}, format.format(count))),
  );
  return make('section', {}, heading, make('dl', { class: 'counts' }, ...rows));
}

function subjectText(t: Translate, subject: string): string {
  const name = `subject_${subject}`;
  return isText(name) ? t(name) : subject;
}

/** The newest writes, without patients: what was written, when, and whether it is in the EMR. */
function drawWrites({ t, language }: Page, { writes }: LinkedAccount): Node[] {
  if (writes.length === 0) return [];
  const items = writes.map(({ subject, requested_at, state }) => {
    const name = `write_state_${state}`;
    const time = make('time', { datetime: requested_at }, formatTime(language, requested_at));
    const label = make('span', { class: `state ${state}` }, isText(name) ? t(name) : state);
    return make('li', {}, make('strong', {}, subjectText(t, subject)), time, label);
  });
  return [
    make('section', {}, make('h2', {}, t('practice_writes')), make('ul', { class: 'writes' }, ...items)),
    make('p', { class: 'note' }, icon('lock'), make('span', {}, t('practice_no_patients'))),
  ];
}

/** The confirmation takes the place of the button, so that the person need not look for it. */
function drawDisconnect(page: Page, account: LinkedAccount): HTMLElement {
  const { t } = page;
  const section = make('section', { class: 'disconnect', 'aria-labelledby': 'disconnect.title' });
  const heading = make('h2', { id: 'disconnect.title', tabindex: '-1' }, t('disconnect'));
  const offer = () => {
    const button = make('button', { type: 'button', class: 'quiet danger' }, t('disconnect_offer'));
    button.addEventListener('click', ask);
    heading.textContent = t('disconnect');
    section.replaceChildren(heading, make('p', {}, t('disconnect_about')), button);
    return button;
  };
  const ask = () => {
    const action: ActionForm = drawAction({
      submit: t('disconnect_now'),
      describedby: 'disconnect.effects',
      send: () => void unlink(page, account, action),
    });
    action.submit.classList.add('danger');
    action.element.append(drawOthers([{ label: t('disconnect_keep'), press: () => focusOn(offer()) }], action.busy));
    const effects = ['disconnect_access', 'disconnect_waiting', 'disconnect_data'] as const;
    heading.textContent = t('disconnect_question');
    section.replaceChildren(
      heading,
      make('ul', { id: 'disconnect.effects' }, ...effects.map((name) => make('li', {}, t(name)))),
      action.element,
    );
    focusOn(heading);
  };
  offer();
  return section;
}

async function unlink(page: Page, account: LinkedAccount, action: ActionForm): Promise<void> {
  const { t, service, leave } = page;
  action.wait(t('disconnecting'));
  const result = await service.unlink();
  action.wait(undefined);
  if (!isError(result)) return showUnlinked(page, { unlinked_at: null });
  if (result.code === 'practice_session_invalid') return leave('expired');
  action.warn({ text: t(error_texts[result.code] ?? 'trouble', { client: account.client.name }) });
}

function drawFooter({ t, service, leave }: Page): HTMLElement {
  const sign_out = make('button', { type: 'button', class: 'quiet' }, t('sign_out'));
  sign_out.addEventListener('click', async () => {
    await service.signOut();
    leave('signed_out');
  });
  const copy = copyButton({ label: t('copy_address'), copied: t('copied') }, location.href);
  return make(
    'footer',
    {},
    make('p', { class: 'muted' }, t('practice_return')),
    make('div', { class: 'others' }, copy, sign_out),
  );
}

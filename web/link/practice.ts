import { type Card, drawCard, showLoading, showNotice } from './card.ts';
import { paintBrand } from './color.ts';
import { no_host } from './host.ts';
import { showAccount, showUnlinked } from './practice/view.ts';
import { runLink } from './run.ts';
import {
  createEntryService,
  createPracticeService,
  isError,
  redeemPass,
  type Session,
  startPracticeEntry,
} from './service.ts';
import { chooseLanguage, type TextName, translator } from './texts.ts';
import { error_texts } from './wording.ts';

/**
 * The page on which a practice sees a linked account and can unlink it. It opens with a one-time pass from Link, or with
 * the account's id, which leads to a sign-in at the EMR. Both are in the fragment. The session is kept for this tab only.
 */
const main = document.getElementById('link') ?? document.body;
const session_key = 'chartwire-practice';
const fragment = new URLSearchParams(location.hash.slice(1));
const [pass, account] = [fragment.get('pass'), fragment.get('account')];
// Link's language, which is passed on with the pass, and kept for a reload.
const preferred: string = fragment.get('language') ?? history.state?.language ?? '';
const language = chooseLanguage(preferred, navigator.languages);
const plain = translator(language, { emr: 'EMR', client: '' });
document.documentElement.lang = language;
addEventListener('hashchange', () => location.reload());
if (pass !== null) setAddress(account);
void open();

/** Removes the pass from the address bar. The account's id stays: it is the address to come back to. */
function setAddress(account_id: string | null): void {
  const hash = account_id === null ? '' : `#account=${account_id}`;
  history.replaceState({ language: preferred }, '', location.pathname + hash);
}

async function open(): Promise<void> {
  document.title = plain('practice_title');
  showLoading(main, plain('loading'));
  if (pass !== null) {
    const redeemed = await redeemPass(pass);
    // A session of this tab may still be valid. Otherwise the person signs in.
    if (!isError(redeemed)) sessionStorage.setItem(session_key, redeemed.session);
    else if (redeemed.code !== 'practice_pass_invalid') return showTrouble(redeemed.code, () => location.reload());
    else if (sessionStorage.getItem(session_key) === null) return welcome('practice_pass_over');
  }
  await showSession();
}

async function showSession(): Promise<void> {
  const session = sessionStorage.getItem(session_key);
  if (session === null) return welcome();
  const service = createPracticeService(session);
  const result = await service.account();
  if (isError(result)) {
    if (result.code !== 'practice_session_invalid') return showTrouble(result.code, () => void showSession());
    sessionStorage.removeItem(session_key);
    return welcome('practice_session_over');
  }
  // The address is that of another account, for which another sign-in is needed.
  if (account !== null && account !== result.account_id) return welcome();
  setAddress(result.account_id);
  if (result.client.colour) paintBrand(document.documentElement, result.client.colour);
  const t = translator(language, { emr: result.emr, client: result.client.name });
  const card = drawCard(main, result.client);
  const leave = (why: 'signed_out' | 'expired') => {
    sessionStorage.removeItem(session_key);
    welcome(why === 'expired' ? 'practice_session_over' : undefined);
  };
  if (result.status === 'revoked') showUnlinked({ card, t, language }, result);
  else showAccount({ card, t, language, service, leave }, result);
}

/** Nothing is requested before the person continues: each sign-in that is started counts. */
function welcome(text: TextName = 'practice_lead'): void {
  const id = account ?? new URLSearchParams(location.hash.slice(1)).get('account');
  document.title = plain('practice_title');
  if (id === null) {
    show('link', 'practice_title', 'practice_no_address');
    return;
  }
  showNotice(drawCard(main, { name: '', logo: null }), {
    icon: 'lock',
    tone: 'plain',
    title: plain('practice_title'),
    text: plain(text),
    button: { label: plain('continue'), press: () => void enter(id) },
  });
}

async function enter(id: string): Promise<void> {
  showLoading(main, plain('loading'));
  const entry = await startPracticeEntry(id);
  if (isError(entry)) {
    if (entry.code === 'practice_page_unknown') return show('link', 'practice_unknown_title', 'practice_unknown');
    if (entry.code === 'practice_page_exhausted') return show('clock', 'exhausted_title', 'practice_exhausted');
    return showTrouble(entry.code, () => void enter(id));
  }
  if (entry.state === 'unlinked') return show('link', 'practice_unlinked_title', 'practice_unlinked');
  if (entry.token === null) return show('lock', 'practice_title', 'practice_no_sign_in');
  await signIn(entry.token, id);
}

async function signIn(token: string, id: string): Promise<void> {
  const service = createEntryService(token, (session) => sessionStorage.setItem(session_key, session));
  const session = await service.session();
  if (isError(session)) return showTrouble(session.code, () => void enter(id));
  const t = translator(language, { emr: session.emr, client: session.client.name });
  if (session.client.colour) paintBrand(document.documentElement, session.client.colour);
  document.title = t('title_sign_in');
  const card: Card = drawCard(main, session.client);
  const shown: Session = { ...session, language };
  const steps = {
    practice_page: true,
    finish: () => void showSession(),
    dead: () => welcome('practice_session_over'),
    restart: () => void enter(id),
  };
  runLink({ session: shown, service, host: no_host, hosted: true, card, language, t, ...steps });
}

function show(icon: 'link' | 'clock' | 'lock', title: TextName, text: TextName): void {
  document.title = plain(title);
  showNotice(drawCard(main, { name: '', logo: null }), { icon, tone: 'plain', title: plain(title), text: plain(text) });
}

function showTrouble(code: string, retry: () => void): void {
  showNotice(drawCard(main, { name: '', logo: null }), {
    icon: 'alert',
    tone: 'plain',
    title: plain('trouble_title'),
    text: plain(error_texts[code] ?? 'trouble_plain'),
    button: { label: plain('try_again'), press: retry },
  });
}

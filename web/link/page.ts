import { drawCard, showLoading, showNotice } from './card.ts';
import { paintBrand } from './color.ts';
import { hexHash } from './hash.ts';
import { connectToParent, type Host, no_host } from './host.ts';
import { showLinked } from './linked.ts';
import { runLink } from './run.ts';
import { createService, isError, type Linked } from './service.ts';
import { chooseLanguage, type TextName, translator } from './texts.ts';
import { error_texts } from './wording.ts';

const main = document.getElementById('link') ?? document.body;
const hosted = document.documentElement.dataset.mode === 'hosted';
const { state = 'unknown', language = '', origins = '[]' } = document.body.dataset;
const preferred: string = language || (history.state?.language ?? '');

if (hosted) {
  const token = readHostedToken();
  // Another link in the same window differs only in its fragment, for which the browser does not load the page again.
  addEventListener('hashchange', () => location.reload());
  if (token === undefined) showUnusable('unknown', no_host);
  else void open(token, no_host);
} else {
  connectToParent(JSON.parse(origins), async (token, host) => {
    // The parent was allowed by the policy of the link in the URL, so no other token is accepted.
    const same = location.pathname.endsWith(`/${await hexHash(token)}`);
    if (state === 'open' && same) void open(token, host);
    else showUnusable(same ? state : 'unknown', host);
  });
}

/**
 * Removes the token from the URL: from the fragment, which is not sent to the service, or from the query of a link that
 * was put together elsewhere. The history entry keeps it, and the language, for a reload.
 */
function readHostedToken(): string | undefined {
  const in_fragment = new URLSearchParams(location.hash.slice(1)).get('token');
  const token = in_fragment ?? new URLSearchParams(location.search).get('token') ?? history.state?.token;
  history.replaceState({ token, language: preferred }, '', location.pathname);
  return typeof token === 'string' ? token : undefined;
}

let opened = false;

async function open(token: string, host: Host, warning?: string): Promise<void> {
  const service = createService(token);
  const browser_language = chooseLanguage(preferred, navigator.languages);
  const plain = translator(browser_language, { emr: '', client: '' });
  document.documentElement.lang = browser_language;
  showLoading(main, plain('loading'));
  const session = await service.session();
  if (isError(session)) {
    if (session.code.startsWith('link_')) return showUnusable(session.code.slice('link_'.length), host);
    host.event('error', session.code);
    const card = drawCard(main, { name: '', logo: null });
    const button = { label: plain('try_again'), press: () => void open(token, host) };
    const title = plain('trouble_title');
    const text = plain(error_texts[session.code] ?? 'trouble_plain');
    return showNotice(card, { icon: 'alert', tone: 'plain', title, text, button });
  }
  const language = chooseLanguage(session.language ?? preferred, navigator.languages);
  const t = translator(language, { emr: session.emr, client: session.client.name });
  document.documentElement.lang = language;
  if (hosted) history.replaceState({ token, language }, '');
  const title = session.update ? 'title_update' : 'title';
  document.title = t(session.emr === '' ? 'find_title' : title);
  if (session.client.colour) paintBrand(document.documentElement, session.client.colour);
  host.texts(document.title, t('close'));
  // Once, also if the link is read again.
  if (!opened) host.event('opened');
  opened = true;
  const card = drawCard(main, session.client);
  const dead = (reason: string) => showUnusable(reason, host);
  const restart = (warning?: string) => void open(token, host, warning);
  const finish = (linked: Linked) => showLinked({ host, hosted, card, language, t }, linked);
  const shown = { ...session, language };
  const steps = { warning, practice_page: false, finish, dead, restart };
  runLink({ session: shown, service, host, hosted, card, language, t, ...steps });
}

/** Shows why a link can no longer be used. */
function showUnusable(reason: string, host: Host): void {
  const language = chooseLanguage(preferred, navigator.languages);
  const t = translator(language, { emr: '', client: '' });
  document.documentElement.lang = language;
  const kind: TextName = reason === 'expired' || reason === 'used' || reason === 'exhausted' ? reason : 'unknown';
  document.title = t(`${kind}_title`);
  host.texts(document.title, t('close'));
  host.dead(`link_${kind}`);
  showNotice(drawCard(main, { name: '', logo: null }), {
    icon: kind === 'expired' ? 'clock' : 'link',
    tone: 'plain',
    title: document.title,
    // A hosted link may have been sent by email, so there is no application to go back to.
    text: hosted ? `${t(kind)} ${t('sent_link')}` : t(kind),
    button: hosted ? undefined : { label: t('close'), press: host.close },
  });
}

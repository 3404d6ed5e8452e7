import { drawCard, showLoading, showNotice } from './card.ts';
import { paintBrand } from './color.ts';
import { hexHash } from './hash.ts';
import { type Host, meetParent, nobody } from './host.ts';
import { runLink } from './run.ts';
import { isRefused, openService } from './service.ts';
import { chooseLanguage, speak, type TextName } from './texts.ts';

const main = document.getElementById('link') ?? document.body;
const hosted = document.documentElement.dataset.mode === 'hosted';
const { state = 'unknown', language = '', origins = '[]' } = document.body.dataset;
const wanted: string = language || (history.state?.language ?? '');

if (hosted) {
  const token = takeToken();
  if (token === undefined) showDead('unknown', nobody);
  else void open(token, nobody);
} else {
  meetParent(JSON.parse(origins), async (token, host) => {
    // The policy that let this parent in is that of the link in the address, and holds for no other.
    const same = location.pathname.endsWith(`/${await hexHash(token)}`);
    if (state === 'open' && same) void open(token, host);
    else showDead(same ? state : 'unknown', host);
  });
}

/**
 * The token leaves the address bar before anything else happens; the window's history entry keeps it for a reload,
 * with the language, which the service can then no longer tell from the address.
 */
function takeToken(): string | undefined {
  const token = new URLSearchParams(location.search).get('token') ?? history.state?.token;
  history.replaceState({ token, language: wanted }, '', location.pathname);
  return typeof token === 'string' ? token : undefined;
}

async function open(token: string, host: Host): Promise<void> {
  const service = openService(token);
  const spoken = chooseLanguage(wanted, navigator.languages);
  const plain = speak(spoken, { emr: '', client: '' });
  document.documentElement.lang = spoken;
  showLoading(main, plain('loading'));
  const session = await service.session();
  if (isRefused(session)) {
    if (session.code.startsWith('link_')) return showDead(session.code.slice('link_'.length), host);
    host.event('error', session.code);
    const card = drawCard(main, { name: '', logo: null });
    const button = { label: plain('try_again'), press: () => void open(token, host) };
    const title = plain('trouble_title');
    const text = plain(session.code === 'offline' ? 'offline' : 'trouble_plain');
    return showNotice(card, { drawing: 'alert', tone: 'plain', title, text, button });
  }
  const language = chooseLanguage(session.language ?? wanted, navigator.languages);
  const say = speak(language, { emr: session.emr, client: session.client.name });
  document.documentElement.lang = language;
  document.title = say(session.update ? 'title_update' : 'title');
  if (session.client.colour) paintBrand(document.documentElement, session.client.colour);
  host.texts(document.title, say('close'));
  host.event('opened');
  const card = drawCard(main, session.client);
  const dead = (reason: string) => showDead(reason, host);
  runLink({ session: { ...session, language }, service, host, hosted, card, say, dead });
}

/** A link that is no good any more says so, and what to do instead. */
function showDead(reason: string, host: Host): void {
  const language = chooseLanguage(wanted, navigator.languages);
  const say = speak(language, { emr: '', client: '' });
  document.documentElement.lang = language;
  const kind: TextName = reason === 'expired' || reason === 'used' || reason === 'exhausted' ? reason : 'unknown';
  document.title = say(`${kind}_title`);
  host.texts(document.title, say('close'));
  host.dead(`link_${kind}`);
  showNotice(drawCard(main, { name: '', logo: null }), {
    drawing: kind === 'expired' ? 'clock' : 'link',
    tone: 'plain',
    title: document.title,
    // A link on a page of its own may have come by e-mail, where there is nothing to start again.
    text: hosted ? `${say(kind)} ${say('sent_link')}` : say(kind),
    button: hosted ? undefined : { label: say('close'), press: host.close },
  });
}

import { drawCard, showLoading, showNotice } from './card.ts';
import { finishPage, isRefused, openService } from './service.ts';
import { chooseLanguage, speak, type TextName } from './texts.ts';
import { worded } from './worded.ts';

/**
 * The window that goes to the EMR's own page and comes back from it. What it must show on its return it keeps for
 * itself: an address alone, sent to somebody else, leads to no sign-in of theirs.
 */
const main = document.getElementById('link') ?? document.body;
const kept_as = 'chartwire-window';
const language_kept_as = 'chartwire-language';
const back = location.pathname.endsWith('/callback');
// That of Link, which the window sets out with; what the EMR's page sends along is not asked.
const wanted = back ? sessionStorage.getItem(language_kept_as) : new URLSearchParams(location.search).get('language');
const language = chooseLanguage(wanted ?? '', navigator.languages);
const say = speak(language, { emr: 'EMR', client: '' });
document.documentElement.lang = language;

if (back) void comeBack();
else goOut();

function goOut(): void {
  // The window of Link, which is of our own origin; any other opener gets no word.
  const from: Window | null = window.opener;
  if (!from) {
    tell('page_lost');
    return;
  }
  showLoading(main, say('page_opening'));
  addEventListener('message', async ({ source, origin, data }: MessageEvent) => {
    const { type, token, credentials } = Object(data);
    if (source !== from || origin !== location.origin || type !== 'chartwire:go') return;
    const answer = await openService(String(token)).startPage(credentials);
    if (isRefused(answer)) {
      from.postMessage({ type: 'chartwire:refused', code: answer.code, message: answer.message }, location.origin);
      return close();
    }
    sessionStorage.setItem(kept_as, answer.window);
    sessionStorage.setItem(language_kept_as, language);
    from.postMessage({ type: 'chartwire:gone' }, location.origin);
    location.replace(answer.url);
  });
  from.postMessage({ type: 'chartwire:window' }, location.origin);
}

async function comeBack(): Promise<void> {
  const { search } = location;
  // What the EMR sent along leaves the address bar and the history before anything else happens.
  history.replaceState(null, '', location.pathname);
  const kept = sessionStorage.getItem(kept_as);
  sessionStorage.removeItem(kept_as);
  if (!kept || !search) return tell('page_lost');
  showLoading(main, say('page_finishing'));
  const answer = await finishPage(search, kept);
  // What the EMR said is told where it can be mended: in the window of Link, which closes this one where it can.
  if (isRefused(answer)) {
    return tell(answer.code.startsWith('emr_') ? 'page_failed' : (worded[answer.code] ?? 'trouble_plain'));
  }
  tell('page_done');
  close();
}

function tell(text: TextName): void {
  const good = text === 'page_done';
  showNotice(drawCard(main, { name: '', logo: null }), {
    drawing: good ? 'check' : 'alert',
    tone: good ? 'good' : 'plain',
    title: say(good ? 'page_done_title' : 'page_failed_title'),
    text: say(text),
    button: { label: say('close'), press: () => close() },
  });
}

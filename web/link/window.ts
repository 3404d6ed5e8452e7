import { drawCard, showLoading, showNotice } from './card.ts';
import { createService, finishPage, isError } from './service.ts';
import { chooseLanguage, type TextName, translator } from './texts.ts';
import { error_texts } from './wording.ts';

/**
 * The window that leads to the EMR's own sign-in page and back. It keeps a secret in its session storage, so that its
 * URL alone is of no use to anyone else.
 */
const main = document.getElementById('link') ?? document.body;
const secret_key = 'chartwire-window';
const language_key = 'chartwire-language';
/** The last part of the redirect URI, after the EMR's page has returned to it. */
const [, callback_id] = /\/callback\/([^/]+)$/.exec(location.pathname) ?? [];
const returned = callback_id !== undefined;
// Link's language, which is passed on when the window opens.
const preferred = returned
  ? sessionStorage.getItem(language_key)
  : new URLSearchParams(location.search).get('language');
const language = chooseLanguage(preferred ?? '', navigator.languages);
const t = translator(language, { emr: 'EMR', client: '' });
document.documentElement.lang = language;

if (callback_id !== undefined) void finishSignIn(callback_id);
else startSignIn();

function startSignIn(): void {
  // Link's window, on our own origin. Messages of any other opener are ignored.
  const opener: Window | null = window.opener;
  if (!opener) {
    show('page_lost');
    return;
  }
  showLoading(main, t('page_opening'));
  addEventListener('message', async ({ source, origin, data }: MessageEvent) => {
    const { type, token, credentials } = Object(data);
    if (source !== opener || origin !== location.origin || type !== 'chartwire:go') return;
    const result = await createService(String(token)).startPage(credentials);
    if (isError(result)) {
      opener.postMessage({ type: 'chartwire:refused', code: result.code, message: result.message }, location.origin);
      return close();
    }
    sessionStorage.setItem(secret_key, result.window);
    sessionStorage.setItem(language_key, language);
    opener.postMessage({ type: 'chartwire:gone' }, location.origin);
    location.replace(result.url);
  });
  opener.postMessage({ type: 'chartwire:window' }, location.origin);
}

async function finishSignIn(callback_id: string): Promise<void> {
  const { search } = location;
  // Remove what the EMR sent from the URL and the history.
  history.replaceState(null, '', location.pathname);
  const secret = sessionStorage.getItem(secret_key);
  sessionStorage.removeItem(secret_key);
  if (!secret || !search) return show('page_lost');
  showLoading(main, t('page_finishing'));
  const result = await finishPage(search, secret, callback_id);
  // EMR errors are shown in Link's window, where they can be fixed. It closes this window if it can.
  if (isError(result)) {
    return show(result.code.startsWith('emr_') ? 'page_failed' : (error_texts[result.code] ?? 'trouble_plain'));
  }
  show('page_done');
  close();
}

function show(text: TextName): void {
  const good = text === 'page_done';
  showNotice(drawCard(main, { name: '', logo: null }), {
    icon: good ? 'check' : 'alert',
    tone: good ? 'good' : 'plain',
    title: t(good ? 'page_done_title' : 'page_failed_title'),
    text: t(text),
    button: { label: t('close'), press: () => close() },
  });
}

import { isRefused, type openService, type Refused } from './service.ts';

export type PageEnd = 'signed_in' | Refused;

/**
 * Opens a window that goes to the EMR's own page, and says what came of it. The window is told what it needs by
 * message, to our own origin alone; after it has gone, the service is asked, because a page of the EMR may cut the
 * tie between the two windows. Gives undefined where the browser lets no window open, else a way to stop listening.
 */
export function awaitPage(
  service: ReturnType<typeof openService>,
  credentials: Record<string, string>,
  told: { ended: (end: PageEnd) => void; closed: () => void },
): (() => void) | undefined {
  const address = new URL(/* @vite-ignore */ 'oauth/window', import.meta.url);
  address.searchParams.set('language', document.documentElement.lang);
  const opened = open(address, 'chartwire-emr', 'popup,width=560,height=760');
  if (!opened) return undefined;
  let gone = false;
  let missing = false;

  const end = (outcome: PageEnd) => {
    stop();
    if (!opened.closed) opened.close();
    told.ended(outcome);
  };
  const hear = (event: MessageEvent) => {
    if (event.source !== opened || event.origin !== location.origin) return;
    const { type, code, message } = Object(event.data);
    if (type === 'chartwire:window')
      opened.postMessage({ type: 'chartwire:go', token: service.token, credentials }, origin);
    if (type === 'chartwire:gone') gone = true;
    if (type === 'chartwire:refused') end({ code: String(code), message: String(message ?? '') });
  };
  const look = async () => {
    // Looked at before the service is asked: a window that has done its work closes by itself.
    const left = opened.closed;
    const answer = gone ? await service.pageState() : undefined;
    // Another look may have ended it while this one was on its way; what cannot be asked now is asked again.
    if (timer === undefined || (answer && isRefused(answer))) return;
    if (answer?.state === 'signed_in') return end('signed_in');
    if (answer?.state === 'failed') return end({ code: answer.failure ?? 'trouble' });
    if (left && !missing && answer?.state !== 'returned') {
      missing = true;
      told.closed();
    }
  };
  let timer: number | undefined = window.setInterval(() => void look(), look_every_ms);
  const stop = () => {
    window.clearInterval(timer);
    timer = undefined;
    removeEventListener('message', hear);
  };
  addEventListener('message', hear);
  return stop;
}

const look_every_ms = 1000;

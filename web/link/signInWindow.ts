import { type createService, type ErrorResult, isError } from './service.ts';

export type WindowResult = 'signed_in' | ErrorResult;

const poll_ms = 1000;

/**
 * Opens a window for the EMR's own sign-in page and reports the result. The window gets what it needs by message, sent
 * to our own origin only. After that the service is polled, because the EMR's page may cut the connection between the
 * two windows. Returns undefined if the browser blocks the window, else a function that stops waiting.
 */
export function openSignInWindow(
  service: ReturnType<typeof createService>,
  credentials: Record<string, string>,
  on: { finished: (result: WindowResult) => void; closed: () => void },
): (() => void) | undefined {
  const url = new URL(/* @vite-ignore */ 'oauth/window', import.meta.url);
  url.searchParams.set('language', document.documentElement.lang);
  const opened = open(url, 'chartwire-emr', 'popup,width=560,height=760');
  if (!opened) return undefined;
  let left = false;
  let reported_closed = false;

  const finish = (result: WindowResult) => {
    stop();
    if (!opened.closed) opened.close();
    on.finished(result);
  };
  const onMessage = (event: MessageEvent) => {
    if (event.source !== opened || event.origin !== location.origin) return;
    const { type, code, message } = Object(event.data);
    if (type === 'chartwire:window')
      opened.postMessage({ type: 'chartwire:go', token: service.token, credentials }, origin);
    if (type === 'chartwire:gone') left = true;
    if (type === 'chartwire:refused') finish({ code: String(code), message: String(message ?? '') });
  };
  const poll = async () => {
    // Read before the request, because a window that has finished closes itself.
    const { closed } = opened;
    const response = left ? await service.pageState() : undefined;
    // Another poll may have finished meanwhile. An error is retried with the next poll.
    if (timer === undefined || (response && isError(response))) return;
    if (response?.state === 'signed_in') return finish('signed_in');
    if (response?.state === 'failed') {
      const { failure, message } = response;
      return finish({ code: failure ?? 'trouble', message: message ?? '' });
    }
    if (closed && !reported_closed && response?.state !== 'returned') {
      reported_closed = true;
      on.closed();
    }
  };
  let timer: number | undefined = window.setInterval(() => void poll(), poll_ms);
  const stop = () => {
    window.clearInterval(timer);
    timer = undefined;
    removeEventListener('message', onMessage);
  };
  addEventListener('message', onMessage);
  return stop;
}

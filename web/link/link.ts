import { hexHash } from './hash.ts';
import { type Overlay, openOverlay } from './overlay.ts';

export type LinkOptions = {
  /** The link token that your server got from `POST /link/token/create`. */
  token: string;
  /** The account is linked. Your server exchanges the public token with `GET /link/token/exchange`. */
  onSuccess: (public_token: string) => void;
  /** Link was closed without success: `closed` by the person, `exited` by you, or `link_expired` and its like. */
  onExit?: (reason: string) => void;
  /** A step was reached; never with anything that a person typed. */
  onEvent?: (name: string, details: { code?: string }) => void;
};

export type LinkHandle = {
  /** Opens Link once more after it was closed without success. */
  open(): void;
  /** Closes Link as a person would, and calls `onExit`. */
  exit(): void;
  /** Takes Link away without calling anything, for whoever unmounts the component that opened it. */
  destroy(): void;
};

type Session = { end(reason: string): void; withdraw(): void };

/** How long the person sees that it worked, unless they go on before. */
const success_shown_ms = 2_000;
const source = (document.currentScript as HTMLScriptElement | null)?.src ?? '';
/** Only one Link is shown at a time, whoever opened it. */
let shown: Session | undefined;

/** Opens Link over the page. Each time it is open it ends with one call: `onSuccess` or `onExit`. */
export function init(options: LinkOptions): LinkHandle {
  if (typeof options?.token !== 'string') throw new TypeError('CobaltLink.init needs a token: your link_token.');
  if (typeof options.onSuccess !== 'function') throw new TypeError('CobaltLink.init needs onSuccess(public_token).');
  // Without it the frame would have no address, and the page would lie under an empty overlay.
  if (!crypto.subtle) throw new TypeError('CobaltLink.init needs a page served over https, or from your own machine.');
  let session: Session | undefined;
  let over = false;
  const open = () => {
    if (session || over) return;
    // Opened a second time, the latest takes over: its callbacks are the ones that are waited for.
    shown?.withdraw();
    session = shown = openSession(options, (linked) => {
      if (shown === session) shown = undefined;
      session = undefined;
      over ||= linked;
    });
  };
  open();
  return {
    open,
    exit: () => session?.end('exited'),
    destroy: () => {
      over = true;
      session?.withdraw();
    },
  };
}

function openSession({ token, onSuccess, onExit, onEvent }: LinkOptions, closed: (linked: boolean) => void): Session {
  const service = new URL('.', source);
  let open = true;
  let linked = false;
  let dead: string | undefined;
  let timer: number | undefined;
  const overlay: Overlay = openOverlay(() => end('closed'));
  const { frame } = overlay;

  const withdraw = () => {
    if (!open) return;
    open = false;
    clearTimeout(timer);
    removeEventListener('message', hear);
    overlay.remove();
    closed(linked);
  };
  const end = (reason: string) => {
    if (!open) return;
    withdraw();
    if (!linked) onExit?.(reason === 'closed' ? (dead ?? reason) : reason);
  };
  const hear = (event: MessageEvent) => {
    if (event.source !== frame.contentWindow || event.origin !== service.origin) return;
    const { type, ...told } = Object(event.data);
    if (type === 'chartwire:ready') {
      overlay.ready(String(told.title), String(told.close));
      frame.contentWindow?.postMessage({ type: 'chartwire:focus' }, service.origin);
    } else if (type === 'chartwire:dead') dead = String(told.reason);
    else if (type === 'chartwire:close') end('closed');
    else if (type === 'chartwire:event') {
      onEvent?.(String(told.name), told.code === undefined ? {} : { code: String(told.code) });
    } else if (type === 'chartwire:success' && !linked) {
      linked = true;
      timer = window.setTimeout(withdraw, success_shown_ms);
      onSuccess(String(told.public_token));
    }
  };
  addEventListener('message', hear);
  // The page cannot know who frames it, so the first word is ours; it is for the service's origin alone.
  frame.addEventListener('load', () => {
    if (frame.src) frame.contentWindow?.postMessage({ type: 'chartwire:init', token }, service.origin);
  });
  void hexHash(token).then((hash) => {
    if (open) frame.src = new URL(`frame/${hash}`, service).href;
  });
  return { end, withdraw };
}

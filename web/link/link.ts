import { hexHash } from './hash.ts';
import { type Overlay, openOverlay } from './overlay.ts';

export type LinkOptions = {
  /** The link token that your server got from `POST /link/token/create`. */
  token: string;
  /** The account is linked. Your server exchanges the public token with `GET /link/token/exchange`. */
  onSuccess: (public_token: string) => void;
  /** Link closed without success: `closed` by the person, `exited` by you, `link_expired` and other link errors. */
  onExit?: (reason: string) => void;
  /** Reports a step, without any input. */
  onEvent?: (name: string, details: { code?: string }) => void;
};

export type LinkHandle = {
  /** Opens Link again after it closed without success. */
  open(): void;
  /** Closes Link and calls `onExit`. */
  exit(): void;
  /** Removes Link without calling anything, for example when a component unmounts. */
  destroy(): void;
};

type Session = { end(reason: string): void; remove(): void };

/** How long the success message is shown, unless the person closes it first. */
const success_shown_ms = 5_000;
const source = (document.currentScript as HTMLScriptElement | null)?.src ?? '';
/** Only one Link is open at a time. */
let shown: Session | undefined;

/** Opens Link over the page. Each opening ends with exactly one call: `onSuccess` or `onExit`. */
export function init(options: LinkOptions): LinkHandle {
  if (typeof options?.token !== 'string') throw new TypeError('CobaltLink.init needs a token: your link_token.');
  if (typeof options.onSuccess !== 'function') throw new TypeError('CobaltLink.init needs onSuccess(public_token).');
  // Needed for the hash in the frame's URL.
  if (!crypto.subtle) throw new TypeError('CobaltLink.init needs a page served over https or from localhost.');
  let session: Session | undefined;
  let finished = false;
  const open = () => {
    if (session || finished) return;
    // A new Link replaces the open one, without calling its callbacks.
    shown?.remove();
    session = shown = openSession(options, (linked) => {
      if (shown === session) shown = undefined;
      session = undefined;
      finished ||= linked;
    });
  };
  open();
  return {
    open,
    exit: () => session?.end('exited'),
    destroy: () => {
      finished = true;
      session?.remove();
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

  const remove = () => {
    if (!open) return;
    open = false;
    clearTimeout(timer);
    removeEventListener('message', onMessage);
    overlay.remove();
    closed(linked);
  };
  const end = (reason: string) => {
    if (!open) return;
    remove();
    if (!linked) onExit?.(reason === 'closed' ? (dead ?? reason) : reason);
  };
  const onMessage = (event: MessageEvent) => {
    if (event.source !== frame.contentWindow || event.origin !== service.origin) return;
    const { type, ...data } = Object(event.data);
    if (type === 'chartwire:ready') {
      overlay.ready(String(data.title), String(data.close));
      frame.contentWindow?.postMessage({ type: 'chartwire:focus' }, service.origin);
    } else if (type === 'chartwire:dead') dead = String(data.reason);
    else if (type === 'chartwire:stay') clearTimeout(timer);
    else if (type === 'chartwire:close') end('closed');
    else if (type === 'chartwire:event') {
      onEvent?.(String(data.name), data.code === undefined ? {} : { code: String(data.code) });
    } else if (type === 'chartwire:success' && !linked) {
      linked = true;
      timer = window.setTimeout(remove, success_shown_ms);
      onSuccess(String(data.public_token));
    }
  };
  addEventListener('message', onMessage);
  // The page does not know its parent's origin, so the parent sends the first message, to the service's origin only.
  frame.addEventListener('load', () => {
    if (frame.src) frame.contentWindow?.postMessage({ type: 'chartwire:init', token }, service.origin);
  });
  void hexHash(token).then((hash) => {
    if (open) frame.src = new URL(`frame/${hash}`, service).href;
  });
  return { end, remove };
}

import { restoreFocus } from './elements.ts';

/** The application that embeds the page; the hosted page has none. */
export type Host = {
  /** Reports a step, without any input. */
  event(name: string, code?: string): void;
  linked(public_token: string): void;
  /** The link can no longer be used; `reason` is passed on when Link closes. */
  dead(reason: string): void;
  /** Keeps the last step on the page until the person closes it. */
  stay(): void;
  close(): void;
  /** Labels for the overlay. */
  texts(title: string, close: string): void;
};

/** Waits for the application's first message. Exchanges messages only with a parent window on an allowed origin. */
export function connectToParent(allowed: readonly string[], onConnected: (token: string, host: Host) => void): void {
  let origin: string | undefined;
  const send = (message: Record<string, unknown>) => {
    if (origin !== undefined) window.parent.postMessage(message, origin);
  };
  const host: Host = {
    event: (name, code) => send({ type: 'chartwire:event', name, ...(code === undefined ? {} : { code }) }),
    linked: (public_token) => send({ type: 'chartwire:success', public_token }),
    dead: (reason) => send({ type: 'chartwire:dead', reason }),
    stay: () => send({ type: 'chartwire:stay' }),
    close: () => send({ type: 'chartwire:close' }),
    texts: (title, close) => send({ type: 'chartwire:ready', title, close }),
  };
  addEventListener('message', (event: MessageEvent) => {
    if (window.parent === window || event.source !== window.parent) return;
    if (!allowed.some((pattern) => isOrigin(pattern, event.origin))) return;
    const { type, token } = Object(event.data);
    if (type === 'chartwire:focus') restoreFocus();
    if (origin !== undefined || type !== 'chartwire:init' || typeof token !== 'string') return;
    origin = event.origin;
    onConnected(token, host);
  });
  addEventListener('keydown', (event) => {
    if (event.key === 'Escape') host.close();
  });
}

export const no_host: Host = { event() {}, linked() {}, dead() {}, stay() {}, close() {}, texts() {} };

/** `http://localhost:*` allows any port, `*` any origin. */
function isOrigin(pattern: string, origin: string): boolean {
  // The origin of a sandboxed frame is the string null, to which no message can be addressed.
  if (origin === 'null') return false;
  if (pattern === '*' || pattern === origin) return true;
  if (!pattern.endsWith(':*')) return false;
  const host = pattern.slice(0, -2);
  return origin === host || (origin.startsWith(`${host}:`) && /^\d+$/.test(origin.slice(host.length + 1)));
}

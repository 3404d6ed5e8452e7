import { focusAgain } from './elements.ts';

/** Who the page ends with: the application that frames it, or the browser's own window. */
export type Host = {
  /** A step was reached. Never with anything a person typed. */
  event(name: string, code?: string): void;
  linked(public_token: string): void;
  /** Nothing more can come of this link; closing says why. */
  dead(reason: string): void;
  close(): void;
  /** Texts for what the application's side shows. */
  texts(title: string, close: string): void;
};

/** Waits for the application's first message. Only a window that may frame this page is heard, and only it is told. */
export function meetParent(allowed: readonly string[], meet: (token: string, host: Host) => void): void {
  let origin: string | undefined;
  const tell = (message: Record<string, unknown>) => {
    if (origin !== undefined) window.parent.postMessage(message, origin);
  };
  const host: Host = {
    event: (name, code) => tell({ type: 'chartwire:event', name, ...(code === undefined ? {} : { code }) }),
    linked: (public_token) => tell({ type: 'chartwire:success', public_token }),
    dead: (reason) => tell({ type: 'chartwire:dead', reason }),
    close: () => tell({ type: 'chartwire:close' }),
    texts: (title, close) => tell({ type: 'chartwire:ready', title, close }),
  };
  addEventListener('message', (event: MessageEvent) => {
    if (window.parent === window || event.source !== window.parent) return;
    if (!allowed.some((pattern) => isOrigin(pattern, event.origin))) return;
    const { type, token } = Object(event.data);
    if (type === 'chartwire:focus') focusAgain();
    if (origin !== undefined || type !== 'chartwire:init' || typeof token !== 'string') return;
    origin = event.origin;
    meet(token, host);
  });
  addEventListener('keydown', (event) => {
    if (event.key === 'Escape') host.close();
  });
}

/** Without an application there is nobody to tell. */
export const nobody: Host = { event() {}, linked() {}, dead() {}, close() {}, texts() {} };

/** `http://localhost:*` is any port; `*` is anyone. */
function isOrigin(pattern: string, origin: string): boolean {
  // A sandboxed frame's origin is the word null, and nothing could be told to it alone.
  if (origin === 'null') return false;
  if (pattern === '*' || pattern === origin) return true;
  if (!pattern.endsWith(':*')) return false;
  const host = pattern.slice(0, -2);
  return origin === host || (origin.startsWith(`${host}:`) && /^\d+$/.test(origin.slice(host.length + 1)));
}

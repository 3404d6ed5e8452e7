/** What Link ended with. Your server exchanges the public token for the permanent access token. */
export type LinkOutcome = { outcome: 'linked'; public_token: string } | { outcome: 'exited'; reason: string };

export type OpenLinkOptions = {
  /** The link token that your server got from `POST /link/token/create`. */
  token: string;
  /** Where the service stands: `https://chartwire.example.org`. Or say where its script is. */
  baseUrl?: string;
  scriptUrl?: string;
  /** A step was reached; never with anything that a person typed. */
  onEvent?: (name: string, details: { code?: string }) => void;
  /** Takes Link away; the promise is then rejected with the signal's reason. */
  signal?: AbortSignal;
};

type Handle = { open(): void; exit(): void; destroy(): void };
type CobaltLink = {
  init(options: {
    token: string;
    onSuccess: (public_token: string) => void;
    onExit: (reason: string) => void;
    onEvent?: (name: string, details: { code?: string }) => void;
  }): Handle;
};

/** Only one Link is shown at a time: who waits for the one before is told that it was replaced. */
let replace: (() => void) | undefined;

/** Opens Link over the page and waits for its end. Rejected only when the script cannot be loaded, or when aborted. */
export async function openLink(options: OpenLinkOptions): Promise<LinkOutcome> {
  const { token, onEvent, signal } = options;
  signal?.throwIfAborted();
  const link = await loadScript(addressOf(options));
  signal?.throwIfAborted();
  return new Promise((resolve, reject) => {
    const handle = link.init({
      token,
      onSuccess: (public_token) => settle(() => resolve({ outcome: 'linked', public_token })),
      onExit: (reason) => settle(() => resolve({ outcome: 'exited', reason })),
      ...(onEvent && { onEvent }),
    });
    const abort = () => {
      handle.destroy();
      settle(() => reject(signal?.reason));
    };
    const settle = (end: () => void) => {
      signal?.removeEventListener('abort', abort);
      end();
    };
    signal?.addEventListener('abort', abort);
    replace?.();
    replace = () => settle(() => resolve({ outcome: 'exited', reason: 'replaced' }));
  });
}

function addressOf({ scriptUrl, baseUrl }: OpenLinkOptions): string {
  if (scriptUrl !== undefined) return scriptUrl;
  if (baseUrl === undefined) throw new TypeError('openLink needs baseUrl or scriptUrl.');
  return `${baseUrl.replace(/\/+$/, '')}/link/v1/link.js`;
}

/** One load per address, however often Link is opened. A load that failed is tried again the next time. */
const loads = new Map<string, Promise<CobaltLink>>();

function loadScript(address: string): Promise<CobaltLink> {
  const known = loads.get(address);
  if (known) return known;
  const load = new Promise<CobaltLink>((resolve, reject) => {
    const script = document.createElement('script');
    const fail = (message: string) => {
      loads.delete(address);
      script.remove();
      reject(new Error(message));
    };
    script.src = address;
    script.onload = () => {
      // The script defines this name, or it is not our script.
      const { CobaltLink } = window as unknown as { CobaltLink?: CobaltLink };
      if (CobaltLink) resolve(CobaltLink);
      else fail(`${address} is not the script of Link.`);
    };
    script.onerror = () => fail(`The script of Link could not be loaded from ${address}.`);
    document.head.append(script);
  });
  loads.set(address, load);
  return load;
}

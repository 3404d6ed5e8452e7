/** The result of Link. Your server exchanges the public token for the permanent access token. */
export type LinkOutcome = { outcome: 'linked'; public_token: string } | { outcome: 'exited'; reason: string };

export type OpenLinkOptions = {
  /** The link token from `POST /link/token/create`. */
  token: string;
  /** The service's URL, such as `https://chartwire.example.org`, or the URL of its script. */
  baseUrl?: string;
  scriptUrl?: string;
  /** Called at each step. Never contains anything the person typed. */
  onEvent?: (name: string, details: { code?: string }) => void;
  /** Removes Link and rejects the promise with the signal's reason. */
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

/** Only one Link is shown at a time: opening another resolves the previous promise with `replaced`. */
let replace: (() => void) | undefined;

/** Opens Link over the page and waits until it closes. Rejects only if the script cannot be loaded or on abort. */
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

/** The script is loaded once per URL. A failed load is repeated the next time. */
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
      // Another script at this URL does not define it.
      const { CobaltLink } = window as unknown as { CobaltLink?: CobaltLink };
      if (CobaltLink) resolve(CobaltLink);
      else fail(`${address} is not the Link script.`);
    };
    script.onerror = () => fail(`The Link script could not be loaded from ${address}.`);
    document.head.append(script);
  });
  loads.set(address, load);
  return load;
}

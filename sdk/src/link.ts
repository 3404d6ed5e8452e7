/** Link's result. Your server exchanges the public token for the permanent access token. */
export type LinkOutcome = { outcome: 'linked'; public_token: string } | { outcome: 'exited'; reason: string };

export type OpenLinkOptions = {
  /** The link token that your server got from `POST /link/token/create`. */
  token: string;
  /** The URL of the service, `https://chartwire.example.org`, or of its script. */
  baseUrl?: string;
  scriptUrl?: string;
  /** Reports a step, without any input. */
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

/** Ends the open Link with the reason `replaced`, because only one Link is open at a time. */
let replace: (() => void) | undefined;

/** Opens Link over the page and waits for its result. Rejects only if the script cannot be loaded or the signal aborts. */
export async function openLink(options: OpenLinkOptions): Promise<LinkOutcome> {
  const { token, onEvent, signal } = options;
  signal?.throwIfAborted();
  const link = await loadScript(chooseScriptUrl(options));
  signal?.throwIfAborted();
  return new Promise((resolve, reject) => {
    const handle = link.init({
      token,
      onSuccess: (public_token) => finish(() => resolve({ outcome: 'linked', public_token })),
      onExit: (reason) => finish(() => resolve({ outcome: 'exited', reason })),
      ...(onEvent && { onEvent }),
    });
    const abort = () => {
      handle.destroy();
      finish(() => reject(signal?.reason));
    };
    const finish = (end: () => void) => {
      signal?.removeEventListener('abort', abort);
      end();
    };
    signal?.addEventListener('abort', abort);
    replace?.();
    replace = () => finish(() => resolve({ outcome: 'exited', reason: 'replaced' }));
  });
}

function chooseScriptUrl({ scriptUrl, baseUrl }: OpenLinkOptions): string {
  if (scriptUrl !== undefined) return scriptUrl;
  if (baseUrl === undefined) throw new TypeError('openLink needs baseUrl or scriptUrl.');
  return `${baseUrl.replace(/\/+$/, '')}/link/v1/link.js`;
}

/** Each script is loaded once. A failed load is retried the next time. */
const loads = new Map<string, Promise<CobaltLink>>();

function loadScript(url: string): Promise<CobaltLink> {
  const loading = loads.get(url);
  if (loading) return loading;
  const load = new Promise<CobaltLink>((resolve, reject) => {
    const script = document.createElement('script');
    const fail = (message: string) => {
      loads.delete(url);
      script.remove();
      reject(new Error(message));
    };
    script.src = url;
    script.onload = () => {
      // Defined by Link's script.
      const { CobaltLink } = window as unknown as { CobaltLink?: CobaltLink };
      if (CobaltLink) resolve(CobaltLink);
      else fail(`${url} is not the Link script.`);
    };
    script.onerror = () => fail(`The Link script could not be loaded from ${url}.`);
    document.head.append(script);
  });
  loads.set(url, load);
  return load;
}

import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createInterface } from 'node:readline';
import { StartFailure } from '../../catalog/errors.ts';
import { parseUrl } from '../../catalog/parseUrl.ts';

/** The redirect URI to register with an EMR for `connectors certify`, unless another one is given. */
export const default_redirect_uri = 'http://127.0.0.1:8765/callback';

export type SignInPage = {
  /** Shows the page's URL and waits for the redirect back. Undefined: nobody signed in. */
  open(url: string): Promise<URL | undefined>;
  close(): Promise<void>;
};

/**
 * Lets a person sign in on an EMR's page. The redirect back is received here, if the redirect URI is on this machine, or
 * pasted: the browser may run on another one, and an EMR may only know the redirect URI of the service.
 */
export async function startSignInPage(
  redirect_uri: string,
  { input, show }: { input: NodeJS.ReadableStream; show: (text: string) => void },
): Promise<SignInPage> {
  const back = parseRedirectUri(redirect_uri);
  const waiting: { state: string | null; resolve: (returned: URL | undefined) => void }[] = [];
  const receive = (returned: URL): boolean => {
    const at = waiting.findIndex(({ state }) => state !== null && state === returned.searchParams.get('state'));
    const [sign_in] = at < 0 ? [] : waiting.splice(at, 1);
    sign_in?.resolve(returned);
    return sign_in !== undefined;
  };
  const listens = isLoopback(back);
  const server = listens ? await listen(back, receive) : undefined;
  const lines = createInterface({ input, terminal: false });
  lines.on('line', (line) => {
    const returned = parseUrl(line.trim());
    if (line.trim() === '' || (returned && receive(returned))) return;
    show('This is not the URL of the page after the sign-in, or it is that of another sign-in.\n');
  });
  // A script may have no input. A redirect that only a person can paste does not come then.
  lines.on('close', () => {
    if (!listens) for (const { resolve } of waiting.splice(0)) resolve(undefined);
  });
  return {
    open: (url) => {
      show(`Sign in to the EMR on this page, in a browser:\n\n${url}\n\n${instructions(listens)}\n`);
      let timer: NodeJS.Timeout | undefined;
      const returned = new Promise<URL | undefined>((resolve) => {
        waiting.push({ state: new URL(url).searchParams.get('state'), resolve });
        timer = setTimeout(() => resolve(undefined), wait_ms_max);
      });
      return returned.finally(() => clearTimeout(timer));
    },
    close: async () => {
      lines.close();
      server?.closeAllConnections();
      await new Promise((done) => (server ? server.close(done) : done(undefined)));
    },
  };
}

/** A person may have to look for a password, or for somebody who has one. */
const wait_ms_max = 10 * 60_000;

function instructions(listens: boolean): string {
  const paste = 'paste the URL that the browser shows at the end here, even if the page does not load';
  return listens ? `If the browser runs on another machine, ${paste}.` : `Then ${paste}.`;
}

function parseRedirectUri(text: string): URL {
  const url = parseUrl(text);
  if (url && (url.protocol === 'https:' || isLoopback(url)) && url.hash === '') return url;
  throw new StartFailure(
    `--redirect-uri must be a URL that the EMR knows: https://…, or one on this machine such as ${default_redirect_uri}.`,
  );
}

function isLoopback({ protocol, hostname }: URL): boolean {
  return protocol === 'http:' && ['127.0.0.1', 'localhost', '[::1]'].includes(hostname);
}

async function listen(back: URL, receive: (returned: URL) => boolean): Promise<Server> {
  const server = createServer((request, response) => respond(request, response, { back, receive }));
  try {
    server.listen(Number(back.port || 80), back.hostname.replace(/^\[|\]$/g, ''));
    await once(server, 'listening');
  } catch (error) {
    const reason = (error as NodeJS.ErrnoException).code ?? 'unknown error';
    const message = `--redirect-uri: cannot listen on ${back.host} (${reason}). Register another port with the EMR.`;
    throw new StartFailure(message, { cause: error });
  }
  return server;
}

/** Accepts only the redirect of a sign-in that was started here: its state is known to the EMR and the browser alone. */
function respond(
  { url = '/', method }: IncomingMessage,
  response: ServerResponse,
  { back, receive }: { back: URL; receive: (returned: URL) => boolean },
): void {
  const returned = parseUrl(back.origin + url);
  const accepted = method === 'GET' && returned?.pathname === back.pathname && receive(returned);
  const [status, text] = accepted
    ? [200, 'Signed in. You can close this window and return to the terminal.']
    : [404, 'This page only receives the sign-in that was started in the terminal.'];
  const headers = { 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-store', connection: 'close' };
  response.writeHead(status, headers).end(text);
}

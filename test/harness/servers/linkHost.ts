import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Browser, BrowserContext, BrowserContextOptions, Frame, Page } from 'playwright-core';

/** A customer's application on its own origin, which opens Link. */
export type LinkHost = {
  origin: string;
  /** The requests it received. */
  requests: { url: string; referer: string | undefined }[];
  close(): Promise<void>;
};

/** `calls` are the callbacks in order: `['success', 'pt_…']`, `['exit', 'closed']`, `['event', 'opened', {}]`. */
const page = (script: string, more: string) => `<!doctype html><html lang="en"><meta charset="utf-8"><title>App</title>
<h1>App</h1><button id="start" type="button">Connect</button>
<script src="${script}"></script>
<script>
  window.calls = [];
  window.callbacks = () => ({
    onSuccess: (...values) => calls.push(['success', ...values]),
    onExit: (...values) => calls.push(['exit', ...values]),
    onEvent: (...values) => calls.push(['event', ...values]),
  });
  window.start = (token) => { window.handle = CobaltLink.init({ token, ...callbacks() }); };
</script>${more}</html>`;

const bare = '<!doctype html><title>App</title><p>An application that has not loaded the script';

/** Serves the application with the script of the service at `base_url`; `/bare` has no script. */
export async function startLinkHost(base_url: string, more = ''): Promise<LinkHost> {
  const requests: LinkHost['requests'] = [];
  const server = createServer((request, response) => {
    requests.push({ url: request.url ?? '', referer: request.headers.referer });
    response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' });
    response.end(request.url === '/bare' ? bare : page(`${base_url}/link/v1/link.js`, more));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    origin: `http://127.0.0.1:${port}`,
    requests,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** A browser window with the application. */
export type LinkWindow = {
  page: Page;
  /** The requests of the window. */
  sent: { url: string; referer: string | undefined }[];
  /** Opens Link and returns its frame. */
  start(token: string): Promise<Frame>;
  frame(): Promise<Frame>;
  calls(): Promise<unknown[][]>;
  type(text: string, then?: string): Promise<void>;
  /** Closes the window and those that it opened, and removes its cookies, permissions and routes. */
  close(): Promise<void>;
};

/** Windows without options share a context: each new one starts with a process of its own and an empty cache. */
const contexts = new WeakMap<Browser, Promise<BrowserContext>>();

function sharedContext(browser: Browser): Promise<BrowserContext> {
  const shared = contexts.get(browser);
  if (shared) return shared;
  const started = newContext(browser).then((context) => {
    // `closeWindows` closes it after each file.
    context.once('close', () => contexts.delete(browser));
    return context;
  });
  contexts.set(browser, started);
  return started;
}

function newContext(browser: Browser, options: BrowserContextOptions = {}): Promise<BrowserContext> {
  return browser.newContext({ viewport: { width: 1100, height: 800 }, ...options });
}

export async function openLinkWindow(
  browser: Browser,
  address: string,
  options?: BrowserContextOptions,
): Promise<LinkWindow> {
  const context = await (options ? newContext(browser, options) : sharedContext(browser));
  const page = await context.newPage();
  const opened: Page[] = [];
  page.on('popup', (popup) => opened.push(popup));
  const sent: LinkWindow['sent'] = [];
  page.on('request', (request) => {
    sent.push({ url: request.url(), referer: request.headers().referer });
  });
  await page.goto(address);
  const frame = async () => {
    const element = await page.waitForSelector('dialog iframe[src]');
    const content = await element.contentFrame();
    if (!content) throw new Error('The frame is empty.');
    return content;
  };
  return {
    page,
    sent,
    frame,
    start: async (token) => {
      await page.focus('#start');
      await page.evaluate(`start(${JSON.stringify(token)})`);
      return frame();
    },
    calls: () => page.evaluate('calls'),
    type: async (text, then = 'Enter') => {
      await page.keyboard.type(text);
      // Link submits a complete one-time code by itself.
      if (!/^\d{6}$/.test(text)) await page.keyboard.press(then);
    },
    close: async () => {
      if (options) return context.close();
      for (const each of [page, ...opened]) await each.close();
      await Promise.all([context.clearCookies(), context.clearPermissions(), context.unrouteAll()]);
    },
  };
}

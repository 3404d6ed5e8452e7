import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Browser, BrowserContextOptions, Frame, Page } from 'playwright-core';

/** An application of a customer's, on an origin of its own, that opens Link. */
export type LinkHost = {
  origin: string;
  /** Paths that were asked for, with what browsers said of where they came from. */
  asked: { url: string; referer: string | undefined }[];
  close(): Promise<void>;
};

/** `calls` are the callbacks in their order: `['success', 'pt_…']`, `['exit', 'closed']`, `['event', 'opened', {}]`. */
const page = (script: string, more: string) => `<!doctype html><html lang="en"><meta charset="utf-8"><title>App</title>
<h1>App</h1><button id="start" type="button">Connect</button>
<script src="${script}"></script>
<script>
  window.calls = [];
  window.callbacks = () => ({
    onSuccess: (...told) => calls.push(['success', ...told]),
    onExit: (...told) => calls.push(['exit', ...told]),
    onEvent: (...told) => calls.push(['event', ...told]),
  });
  window.start = (token) => { window.handle = CobaltLink.init({ token, ...callbacks() }); };
</script>${more}</html>`;

const bare = '<!doctype html><title>App</title><p>An application that has not loaded the script';

/** Serves the application's page at every path but `/bare`, with the script of the service at `base_url`. */
export async function startLinkHost(base_url: string, more = ''): Promise<LinkHost> {
  const asked: LinkHost['asked'] = [];
  const server = createServer((request, response) => {
    asked.push({ url: request.url ?? '', referer: request.headers.referer });
    response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' });
    response.end(request.url === '/bare' ? bare : page(`${base_url}/link/v1/link.js`, more));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    origin: `http://127.0.0.1:${port}`,
    asked,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** A browser window at the application, and what a person does in it. */
export type LinkWindow = {
  page: Page;
  /** Every address that the window asked for, and what it said of where it came from. */
  sent: { url: string; referer: string | undefined }[];
  /** Opens Link as the application does, by its button, and gives the page in the frame. */
  start(token: string): Promise<Frame>;
  frame(): Promise<Frame>;
  calls(): Promise<unknown[][]>;
  type(text: string, then?: string): Promise<void>;
};

export async function openLinkWindow(
  browser: Browser,
  address: string,
  options: BrowserContextOptions = {},
): Promise<LinkWindow> {
  const page = await browser.newPage({ viewport: { width: 1100, height: 800 }, ...options });
  const sent: LinkWindow['sent'] = [];
  page.on('request', (request) => {
    sent.push({ url: request.url(), referer: request.headers().referer });
  });
  await page.goto(address);
  const frame = async () => {
    const element = await page.waitForSelector('dialog iframe[src]');
    const found = await element.contentFrame();
    if (!found) throw new Error('The frame has no page.');
    return found;
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
      await page.keyboard.press(then);
    },
  };
}

import type { Browser, BrowserContext, BrowserContextOptions, Locator, Page, Request } from 'playwright-core';
import { expect } from 'vitest';
import { accessibilityViolations, closeWindows, openBrowser } from '../../harness/browser.ts';
import { startSandbox, type TestSandbox } from '../../harness/sandbox.ts';

/** The sandbox product, and a browser with the owner signed in to the dashboard. */
export type DashboardFixture = {
  product: TestSandbox;
  browser: Browser;
  /**
   * Shows a dashboard page as the owner; `{client}` is the sandbox's client. All tests of a file use the same tab, which
   * saves a third of the time of a new one, and is closed with the fixture. Given options, even empty ones, the page gets
   * a context of its own: for tests that end the session or change cookies. They close it.
   */
  open(path?: string, options?: BrowserContextOptions): Promise<Page>;
  /** The page's script errors and policy violations since it was opened. */
  consoleErrors(page: Page): string[];
  /** The URLs of the page's requests without a response, except its live stream. */
  pendingRequests(page: Page): string[];
  close(): Promise<void>;
};

export async function startDashboard(options: Parameters<typeof startSandbox>[0] = {}): Promise<DashboardFixture> {
  const [product, browser] = await Promise.all([startSandbox({ small: true, ...options }), openBrowser()]);
  const { dashboard, client_id } = product.sandbox;
  let shared: Page | undefined;
  let signed_in: Awaited<ReturnType<BrowserContext['storageState']>> | undefined;
  const newContext = (window_options: BrowserContextOptions = {}) =>
    browser.newContext({
      viewport: { width: 1280, height: 800 },
      reducedMotion: 'reduce',
      ...(signed_in ? { storageState: signed_in } : {}),
      ...window_options,
    });
  const watched = new WeakMap<Page, Watched>();
  return {
    product,
    browser,
    open: async (path = '', window_options) => {
      const page = (window_options === undefined && shared) || (await (await newContext(window_options)).newPage());
      if (window_options === undefined) shared = page;
      if (!watched.has(page)) watched.set(page, watch(page));
      watched.get(page)?.errors.splice(0);
      await page.unrouteAll();
      await page.goto(`${dashboard.url}${path.replace('{client}', `clients/${client_id}`)}`);
      // Once for all windows, because an account has only ten password attempts in 15 minutes.
      if (!signed_in) await signIn(page, dashboard);
      await page.getByRole('navigation', { name: 'Pages' }).waitFor({ state: 'attached' });
      signed_in ??= await page.context().storageState();
      // On a slow machine, the tests of a file take longer than a sign-in is fresh.
      await product.owner`UPDATE operator_sessions SET authenticated_at = now()`;
      return page;
    },
    consoleErrors: (page) => watched.get(page)?.errors ?? [],
    pendingRequests: (page) => [...(watched.get(page)?.pending ?? [])].map((request) => request.url()),
    close: async () => {
      await closeWindows(browser);
      await product.close();
    },
  };
}

type Watched = { errors: string[]; pending: Set<Request> };

function watch(page: Page): Watched {
  const errors: string[] = [];
  const pending = new Set<Request>();
  page.on('pageerror', (error) => errors.push(error.message));
  page.on('console', (message) => {
    // The page shows error responses, and the browser logs them too.
    const error_response = /^Failed to load resource: the server responded with a status of 4/.test(message.text());
    if (message.type() === 'error' && !error_response) errors.push(message.text());
  });
  page.on('request', (request) => {
    if (!request.url().endsWith('/dashboard/api/live')) pending.add(request);
  });
  page.on('requestfinished', (request) => pending.delete(request));
  page.on('requestfailed', (request) => pending.delete(request));
  return { errors, pending };
}

/** Chooses an action from the “⋯” menu of a record, on the page or in a part of it. */
export async function chooseFromMenu(within: Page | Locator, name: string, record = ''): Promise<void> {
  await within.getByRole('button', { name: `More actions for ${record}` }).click();
  // The menu is outside of the part that opens it.
  const page = 'page' in within ? within.page() : within;
  await page.getByRole('menuitem', { name }).click();
}

export async function signIn(page: Page, { email, password }: { email: string; password: string }): Promise<void> {
  await page.getByLabel('Email').fill(email);
  await page.locator('input[name="password"]').fill(password);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
}

/**
 * Checks a page with axe in light and dark mode, and that neither it nor its tables scroll sideways at 320 px. `within` limits axe to an
 * element, for pages that otherwise look like one that is checked completely.
 */
export async function expectAccessible(page: Page, { within = 'html' } = {}): Promise<void> {
  // Begins with the colors that the last check left: changing them takes as long as a check of them.
  const dark = (await page.getAttribute('html', 'data-mantine-color-scheme')) === 'dark';
  for (const colorScheme of dark ? (['dark', 'light'] as const) : (['light', 'dark'] as const)) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
    await page.waitForSelector(`html[data-mantine-color-scheme="${colorScheme}"]`);
    // The colors change a moment after the attribute; real violations remain.
    const rules = (colorScheme === 'dark') === dark ? 'all' : 'colors';
    const faults = () => accessibilityViolations(page, { rules, within });
    await expect.poll(faults, { message: colorScheme }).toStrictEqual([]);
  }
  const size = page.viewportSize();
  await page.setViewportSize({ width: 320, height: 640 });
  try {
    // Charts and dialogs resize one frame later.
    const sideways = () => page.evaluate<number>('document.documentElement.scrollWidth - innerWidth');
    await expect.poll(sideways, { message: 'sideways at 320 px' }).toBeLessThanOrEqual(0);
    await expect.poll(() => wideTables(page), { message: 'tables that scroll sideways at 320 px' }).toStrictEqual([]);
  } finally {
    // The following tests share the window.
    if (size) await page.setViewportSize(size);
  }
}

/** The names of the tables that scroll sideways in their box. */
export function wideTables(page: Page): Promise<string[]> {
  return page.evaluate(
    `[...document.querySelectorAll('.table')].filter((box) => box.scrollWidth > box.clientWidth).map((box) => box.ariaLabel)`,
  );
}

import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core';
import { expect } from 'vitest';
import { accessibilityFaults, openBrowser } from '../harness/browser.ts';
import { startSandbox, type TestSandbox } from '../harness/sandbox.ts';

/** The whole product and a browser in which its owner works. */
export type DashboardPlace = {
  world: TestSandbox;
  browser: Browser;
  /** A window of the dashboard with the owner signed in, at an address below it; `{client}` is the sandbox's client. */
  open(path?: string, options?: BrowserContextOptions): Promise<Page>;
  /** What a window has complained of since it was opened: script errors and breaches of its policy. */
  complaints(page: Page): string[];
  close(): Promise<void>;
};

export async function startDashboardPlace(options: Parameters<typeof startSandbox>[0] = {}): Promise<DashboardPlace> {
  const [world, browser] = await Promise.all([startSandbox({ small: true, ...options }), openBrowser()]);
  const { dashboard, client_id } = world.sandbox;
  let signed_in: Awaited<ReturnType<BrowserContext['storageState']>> | undefined;
  const heard = new WeakMap<Page, string[]>();
  return {
    world,
    browser,
    open: async (path = '', window_options = {}) => {
      const context = await browser.newContext({
        viewport: { width: 1280, height: 800 },
        ...(signed_in ? { storageState: signed_in } : {}),
        ...window_options,
      });
      const page = await context.newPage();
      const complaints: string[] = [];
      heard.set(page, complaints);
      page.on('pageerror', (error) => complaints.push(error.message));
      page.on('console', (message) => {
        // A refusal that the page shows is told by the browser too.
        const refused = /^Failed to load resource: the server responded with a status of 4/.test(message.text());
        if (message.type() === 'error' && !refused) complaints.push(message.text());
      });
      await page.goto(`${dashboard.url}${path.replace('{client}', `clients/${client_id}`)}`);
      // Once for all windows: ten passwords in a quarter of an hour are all that is checked for an account.
      if (!signed_in) await signIn(page, dashboard);
      await page.getByRole('navigation', { name: 'Pages' }).waitFor({ state: 'attached' });
      signed_in ??= await context.storageState();
      return page;
    },
    complaints: (page) => heard.get(page) ?? [],
    close: async () => {
      await browser.close();
      await world.close();
    },
  };
}

export async function signIn(page: Page, { email, password }: { email: string; password: string }): Promise<void> {
  await page.getByLabel('E-mail').fill(email);
  await page.locator('input[name="password"]').fill(password);
  await page.getByRole('button', { name: 'Sign in' }).click();
}

/** What every page and state owes: nothing for axe to find in light and in dark, no sideways scrolling at 320 px. */
export async function expectSound(page: Page): Promise<void> {
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
    await page.waitForSelector(`html[data-mantine-color-scheme="${colorScheme}"]`);
    // The attribute is set first, the colours follow a moment later; a real fault stays.
    const faults = () => accessibilityFaults(page);
    await expect.poll(faults, { message: colorScheme }).toStrictEqual([]);
  }
  await page.emulateMedia({ colorScheme: 'light' });
  const size = page.viewportSize();
  await page.setViewportSize({ width: 320, height: 640 });
  // What follows its window, such as a chart or an open dialog, does so a frame later.
  const sideways = () => page.evaluate<number>('document.documentElement.scrollWidth - innerWidth');
  await expect.poll(sideways, { message: 'sideways at 320 px' }).toBeLessThanOrEqual(0);
  if (size) await page.setViewportSize(size);
}

import type { Browser, BrowserContextOptions, Frame } from 'playwright-core';
import { expect } from 'vitest';
import { connect, type Sql } from '../../../src/platform/db/database.ts';
import { parseDatabaseUrl } from '../../../src/platform/db/openServer.ts';
import { closeWindows, openBrowser } from '../../harness/browser.ts';
import { startSandbox, type TestSandbox } from '../../harness/sandbox.ts';
import { type LinkHost, type LinkWindow, openLinkWindow, startLinkHost } from '../../harness/servers/linkHost.ts';
import { type LinkSteps, linkSteps } from '../../linking/linkSteps.ts';

/** The sandbox product, an application that opens Link, and a browser. */
export type LinkFixture = {
  product: TestSandbox;
  browser: Browser;
  host: LinkHost;
  steps: LinkSteps;
  /** Larkspur's database, for changes that its control API does not support. */
  larkspur: Sql;
  person(staff: number): { username: string; password: string };
  /** Opens the application. */
  open(options?: BrowserContextOptions): Promise<LinkWindow>;
  /** Opens the hosted page of a link token. */
  openHosted(token: string, options?: BrowserContextOptions): Promise<LinkWindow & { frame: () => Promise<Frame> }>;
  /** Signs in with password and code, by keyboard only. */
  signIn(window: LinkWindow, frame: Frame, staff: number): Promise<void>;
  /** A link token for an account that needs re-linking. */
  expiredAccount(user_id: string, staff: number): Promise<string>;
  close(): Promise<void>;
};

export async function startLink({ sync_after_link = false } = {}): Promise<LinkFixture> {
  const [product, browser] = await Promise.all([startSandbox({ small: true, sync_after_link }), openBrowser()]);
  const { sandbox, api, owner } = product;
  const host = await startLinkHost(sandbox.base_url);
  const steps = linkSteps(product);
  const address = parseDatabaseUrl('DATABASE_URL', product.env.DATABASE_URL ?? '');
  const larkspur = connect({ ...address, database: `${address.database}_larkspur` }, { max: 1 });
  const person = (staff: number) => sandbox.larkspur.staff[staff] ?? { username: '', password: '' };
  return {
    product,
    browser,
    host,
    steps,
    larkspur,
    person,
    open: (options) => openLinkWindow(browser, host.origin, options),
    openHosted: async (token, options) => {
      const window = await openLinkWindow(browser, `${sandbox.base_url}/link#token=${token}`, options);
      return { ...window, frame: async () => window.page.mainFrame() };
    },
    signIn: async (window, frame, staff) => {
      await focused(frame, 'username');
      await window.type(person(staff).username, 'Tab');
      await window.type(person(staff).password);
      await focused(frame, 'code');
      await window.type(api.code(staff));
    },
    expiredAccount: async (user_id, staff) => {
      const person = { user_id, org_id: sandbox.org_id };
      // Linked through the page, so that consent was given.
      const first = await steps.linkToken(person);
      await steps.consent(first);
      const { body } = await steps.signIn(first, staff);
      const access_token = (await steps.exchange(body.public_token)).body.token;
      await owner`UPDATE accounts SET status = 'login_required' WHERE user_id = ${user_id}`;
      await owner`SELECT pg_notify('chartwire_access', '')`;
      return steps.linkToken({ ...person, access_token });
    },
    close: async () => {
      await closeWindows(browser);
      await host.close();
      await larkspur.end({ timeout_ms: 5_000 });
      await product.close();
    },
  };
}

/** Waits for a field to have the focus. Agrees first, if Link asks for consent. */
export async function focused(frame: Frame, name: string): Promise<void> {
  if (name !== 'code') await agree(frame);
  await frame.waitForSelector(`input[name="${name}"]:focus`);
}

/** Waits for the first step, and continues by keyboard if it is the consent. */
export async function agree(frame: Frame): Promise<void> {
  await frame.waitForSelector('.step h1');
  // A button that was pressed before is about to be removed.
  const button = frame.locator('.consent + form button[type="submit"]:not([aria-disabled="true"])');
  if ((await button.count()) > 0) await button.press('Enter');
}

/** Waits for an error message. */
export async function untilAlert(frame: Frame, words: RegExp): Promise<void> {
  await expect.poll(() => frame.locator('[role="alert"]').innerText()).toMatch(words);
}

export async function untilClosed({ page }: LinkWindow): Promise<void> {
  await page.waitForSelector('dialog', { state: 'detached' });
}

/** The callbacks that ended Link. */
export async function endings(window: LinkWindow): Promise<unknown[][]> {
  return (await window.calls()).filter(([kind]) => kind !== 'event');
}

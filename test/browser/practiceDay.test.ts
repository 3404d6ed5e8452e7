import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdir, mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { accessibilityViolations, closeWindows, openBrowser } from '../harness/browser.ts';
import { startSandbox, type TestSandbox } from '../harness/sandbox.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
let product: TestSandbox;
let browser: Browser;
let page: Page;
let folder: string;
beforeAll(async () => {
  [product, browser] = await Promise.all([startSandbox(), openBrowser()]);
  page = await browser.newPage({ viewport: { width: 1200, height: 900 } });
  folder = await mkdtemp(join(process.env.CHARTWIRE_TEST_ROOT ?? tmpdir(), 'practice-day-'));
  await cp(join(root, 'examples/practice-day'), folder, { recursive: true });
  await mkdir(join(folder, 'node_modules/@chartwire'), { recursive: true });
  await symlink(join(root, 'dist/sdk'), join(folder, 'node_modules/@chartwire/client'));
});
afterAll(async () => {
  await closeWindows(browser);
  await product?.close();
  await rm(folder, { recursive: true, force: true });
});

async function signInToLarkspur(): Promise<void> {
  const { larkspur } = product.sandbox;
  await page.goto(larkspur.url);
  await page.locator('input[autocomplete="username"]').fill(larkspur.staff[0]?.username ?? '');
  await page.locator('input[autocomplete="current-password"]').fill(larkspur.staff[0]?.password ?? '');
  await page.keyboard.press('Enter');
  await page.locator('input[autocomplete="one-time-code"]').fill(product.api.code());
  await page.keyboard.press('Enter');
  await page.waitForURL('**/patients');
}

/** Runs the example, and calls `onLine` with each line that it prints. */
async function runDay(onLine: (what: string, result: string) => Promise<void>): Promise<Record<string, string>> {
  const day = spawn(process.execPath, ['day.mjs'], {
    cwd: folder,
    env: { PATH: process.env.PATH ?? '', DATA_DIR: product.env.DATA_DIR ?? '' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let errors = '';
  day.stderr.on('data', (data) => {
    errors += data;
  });
  const exit = once(day, 'exit');
  const printed: Record<string, string> = {};
  for await (const line of createInterface(day.stdout)) {
    const [what, result] = [line.slice(0, 12).trim(), line.slice(13)];
    printed[what] = result;
    await onLine(what, result);
  }
  const [code] = await exit;
  expect(errors).toBe('');
  expect(code).toBe(0);
  return printed;
}

const readText = async (path: string) => {
  await page.goto(product.sandbox.larkspur.url + path);
  return page.locator('main').innerText();
};

test('a day at the clinic, run by an application and watched on the EMR’s screens', async () => {
  await signInToLarkspur();
  let visit = '';
  const printed = await runDay(async (what, result) => {
    if (what !== 'Now you') return;
    visit = new URL(result.match(/http\S+/)?.[0] ?? '').pathname;
    await page.goto(product.sandbox.larkspur.url + visit);
    await page.getByLabel('Status').selectOption('Arrived');
    await page.getByRole('button', { name: 'Save' }).click();
    await expect.poll(() => page.locator('main').innerText()).toContain('Arrived');
  });
  expect(Object.keys(printed)).toStrictEqual([
    ...['Booked', 'Rescheduled', 'Now you', 'Arrived', 'Note', 'Claim', 'Payment', 'Eligibility', 'Referral', 'Task'],
    ...['Done', 'Reference'],
  ]);
  expect(printed.Arrived).toBe('status ARR');

  const shown = await readText(visit);
  for (const part of ['Arrived', 'Feels well, sleeps better.', 'Blood pressure 128/82.', 'I10', '99213']) {
    expect(shown).toContain(part);
  }
  expect(await accessibilityViolations(page)).toStrictEqual([]);
  await page.goto(product.sandbox.larkspur.url + new URL(printed.Done?.match(/http\S+/)?.[0] ?? '').pathname);
  // The text of all tabs.
  const chart = await page.locator('main').textContent();
  for (const part of [printed.Claim ?? '', '25.50', 'Cardiology opinion', 'summary.png', 'Call back']) {
    expect(chart).toContain(part);
  }
  expect(await accessibilityViolations(page)).toStrictEqual([]);

  // Everything of the day is found by the reference.
  const { jobs } = (await product.api.call('GET', `/v1/jobs?reference=${encodeURIComponent(printed.Reference ?? '')}`))
    .body;
  expect(jobs).toHaveLength(7);
  expect(new Set(jobs.map(({ status }: { status: string }) => status))).toStrictEqual(new Set(['succeeded']));
});

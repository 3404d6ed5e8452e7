import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { accessibilityViolations, closeWindows, openBrowser } from '../harness/browser.ts';
import { startSandbox, type TestSandbox } from '../harness/sandbox.ts';

let product: TestSandbox;
let browser: Browser;
let page: Page;
const externalRequests: string[] = [];
beforeAll(async () => {
  [product, browser] = await Promise.all([startSandbox(), openBrowser()]);
  page = await browser.newPage({ viewport: { width: 1200, height: 900 } });
  page.on('request', (request) => {
    if (new URL(request.url()).hostname !== '127.0.0.1') externalRequests.push(request.url());
  });
});
afterAll(async () => {
  await closeWindows(browser);
  await product.close();
});

async function type(text: string, key: string): Promise<void> {
  await page.keyboard.type(text);
  await page.keyboard.press(key);
}

/** Signs in with the keyboard only. */
async function signIn(code: string): Promise<void> {
  const [person] = product.sandbox.larkspur.staff;
  await page.goto(product.sandbox.larkspur.url);
  await page.locator('input[autocomplete="username"]').focus();
  await type(person?.username ?? '', 'Tab');
  await type(person?.password ?? '', 'Enter');
  await page.locator('input[autocomplete="one-time-code"]').focus();
  await type(code, 'Enter');
}

describe('clinic staff', () => {
  test('see an error for a wrong code and can try again, with the keyboard only', async () => {
    await signIn('000000');
    await expect.poll(() => page.locator('[role="alert"]').innerText()).toMatch(/code/i);
    expect(await accessibilityViolations(page)).toStrictEqual([]);
    await page.locator('input[autocomplete="one-time-code"]').focus();
    await type(product.api.code(), 'Enter');
    await page.waitForURL('**/patients');
    expect(await accessibilityViolations(page)).toStrictEqual([]);
  });

  test('see a telephone encounter that an application created, in the patient’s chart', async () => {
    const { api, sandbox } = product;
    const { body } = await api.callIn({
      caller: 'Testa Caller',
      message: 'Needs a refill before the weekend.',
      refill_medication_name: 'lisin',
      pharmacy_ehr_id: sandbox.example.pharmacy_ehr_id,
      is_high_priority: 'true',
      template_name: 'Phone note',
    });
    await api.untilEvent(body.job_id);
    await page.goto(`${sandbox.larkspur.url}/patients`);
    await page.locator('input[type="search"], input[name="q"]').first().focus();
    await type(sandbox.example.patient_mrn, 'Enter');
    await page.waitForURL('**/patients?*');
    await page.locator('main table a').first().click();
    await page.waitForURL('**/patients/*');
    // The first tab is open, and no other one.
    await page.getByRole('group', { name: 'Summary' }).getByRole('heading', { name: 'Current medications' }).waitFor();
    expect(await page.locator('.tab:visible').count()).toBe(1);
    await page.getByRole('link', { name: 'Calls and tasks' }).click();
    await page.getByRole('group', { name: 'Calls and tasks' }).getByText('Testa Caller').waitFor();
    const chart = await page.locator('main').innerText();
    for (const part of [
      'Testa Caller',
      'Needs a refill before the weekend.',
      'Lisinopril',
      'Phone note',
      'High priority',
    ]) {
      expect(chart).toContain(part);
    }
    expect(await accessibilityViolations(page)).toStrictEqual([]);
  });

  test('see on a phone the whole entry that a link names, below the banner with allergies and PCP', async () => {
    await page.setViewportSize({ width: 375, height: 740 });
    await page.goto(`${product.sandbox.larkspur.url}/patients/10001#encounter-30001`);
    const banner = page.locator('.chart-top');
    for (const label of ['Allergies', 'Alerts', 'PCP']) await banner.getByText(label, { exact: true }).waitFor();
    const [above, entry] = [await banner.boundingBox(), await page.locator('#encounter-30001').boundingBox()];
    expect(entry?.y).toBeGreaterThanOrEqual((above?.y ?? 0) + (above?.height ?? 0));
    expect(await accessibilityViolations(page)).toStrictEqual([]);
    await page.setViewportSize({ width: 1200, height: 900 });
  });

  test('see the eligibility checks of a patient, and the benefits of one', async () => {
    await page.goto(`${product.sandbox.larkspur.url}/patients/10001#eligibility-checks`);
    const checks = page.getByRole('region', { name: 'Eligibility checks' });
    await checks.getByRole('link').first().click();
    await page.getByRole('heading', { name: 'Eligibility check 90001' }).waitFor();
    const benefits = await page.getByRole('region', { name: 'Benefits' }).innerText();
    for (const part of ['Deductible', 'Out of Pocket (Stop Loss)', 'In network', 'Family', '20%']) {
      expect(benefits).toContain(part);
    }
    expect(await accessibilityViolations(page)).toStrictEqual([]);
    const other = await page.goto(`${product.sandbox.larkspur.url}/patients/10002/eligibility-checks/90001`);
    expect(other?.status()).toBe(404);
  });
});

test('no page sends requests to another host', () => {
  expect(externalRequests).toStrictEqual([]);
});

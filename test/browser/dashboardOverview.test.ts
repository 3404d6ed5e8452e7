import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newClient } from '../api/support.ts';
import { respondWith, startReceiver } from '../harness/receiver.ts';
import { expireAccount } from '../spec/support/expireAccount.ts';
import { withJobsPaused } from '../spec/support/pauseJobs.ts';
import { type DashboardFixture, expectAccessible, startDashboard } from './dashboardFixture.ts';

let fixture: DashboardFixture;
beforeAll(async () => {
  fixture = await startDashboard();
});
afterAll(() => fixture?.close());

const attention = (page: Page) => page.getByRole('region', { name: 'Needs attention' });
const numbers = (page: Page) => page.getByRole('region', { name: 'Current jobs' });
const figure = (page: Page, title: string) => page.getByRole('figure').filter({ hasText: title });

describe('overview page', () => {
  test('is the start page and reports all clear', async () => {
    const page = await fixture.open();
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
    await attention(page).getByText('All clear').waitFor();
    await figure(page, 'Finished jobs').waitFor();
    await expectAccessible(page);
    expect(fixture.consoleErrors(page)).toStrictEqual([]);
    await page.close();
  });

  test('updates queue numbers and charts live', async () => {
    const { product } = fixture;
    const page = await fixture.open('/{client}/overview?range=1h');
    await figure(page, 'Finished jobs').getByText('in 1 hour').waitFor();
    const finished = async () =>
      Number(/([\d,]+) in 1 hour/.exec(await figure(page, 'Finished jobs').innerText())?.[1]);
    const before = await finished();
    const { job_id } = await withJobsPaused(product, async () => {
      const { body } = await product.api.callIn();
      await expect.poll(() => numbers(page).innerText()).toMatch(/Queued\s+1\s+Oldest:/);
      await expectAccessible(page);
      return body;
    });
    await product.api.untilEvent(job_id);
    await expect.poll(() => numbers(page).innerText()).toMatch(/Queued\s+0\s+Queue is empty/);
    await expect.poll(finished).toBeGreaterThan(before);
    expect(await figure(page, 'Job duration').innerText()).toMatch(/p50 [\d.]+ (ms|s)/);
    await figure(page, 'Finished jobs').getByText('Show as table').click();
    await figure(page, 'Finished jobs')
      .getByRole('table')
      .getByRole('columnheader', { name: 'Needs review' })
      .waitFor();
    await expectAccessible(page);
    expect(fixture.consoleErrors(page)).toStrictEqual([]);
    await page.close();
  });

  test('keeps the period in the URL', async () => {
    const page = await fixture.open('/{client}/overview');
    await figure(page, 'Finished jobs').getByText('in 24 hours').waitFor();
    await page.getByText('7 days', { exact: true }).click();
    await figure(page, 'Finished jobs').getByText('in 7 days').waitFor();
    expect(page.url()).toMatch(/range=7d$/);
    await page.reload();
    await figure(page, 'Finished jobs').getByText('in 7 days').waitFor();
    await page.close();
  });

  test('lists accounts to re-link and failing endpoints live, with links', async () => {
    const { product } = fixture;
    const page = await fixture.open('/{client}/overview');
    await attention(page).waitFor();
    const receiver = await startReceiver(respondWith(503));
    await product.api.call('POST', '/v1/webhook', { body: { webhook_url: receiver.url } });
    await product.api.callIn();
    await attention(page).getByText(receiver.url).waitFor();
    expect(await attention(page).innerText()).toMatch(/503.*Since/s);
    await expireAccount(product, 'expired-user', 1);
    await attention(page).getByText('Larkspur requires a new one-time code.').waitFor();
    await expect.poll(() => numbers(page).innerText()).toMatch(/Waiting for re-linking\s+[12]\s/);
    await expectAccessible(page);
    await attention(page).getByRole('link', { name: 'sandbox-practice · expired-user' }).click();
    await page.getByRole('heading', { level: 1, name: 'Accounts' }).waitFor();
    await receiver.close();
    expect(fixture.consoleErrors(page)).toStrictEqual([]);
    await page.close();
  });

  test('lists all clients if there are several', async () => {
    await newClient(fixture.product);
    const page = await fixture.open('/{client}/overview');
    const clients = page.getByRole('region', { name: 'All clients' }).first();
    await clients.getByRole('row').nth(2).waitFor();
    await expectAccessible(page);
    await clients.getByRole('row').nth(2).getByRole('link').click();
    await attention(page).getByText('All clear').waitFor();
    expect(page.url()).not.toContain(fixture.product.sandbox.client_id);
    await page.close();
  });
});

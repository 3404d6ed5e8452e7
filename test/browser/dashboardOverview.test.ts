import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newClient } from '../api/support.ts';
import { rejectedCall } from '../dashboard/finishedCalls.ts';
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
const tile = (page: Page, label: string) =>
  page.getByRole('region', { name: 'Current state' }).getByRole('link').filter({ hasText: label });
const figure = (page: Page, title: string) => page.getByRole('figure').filter({ hasText: title });

describe('overview page', () => {
  test('is the start page and reports all clear', async () => {
    const page = await fixture.open();
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
    await attention(page).getByText('All clear').waitFor();
    await figure(page, 'Finished jobs').waitFor();
    await expectAccessible(page);
    expect(fixture.consoleErrors(page)).toStrictEqual([]);
  });

  test('updates tiles and charts live, and a chart opens its jobs', async () => {
    const { product } = fixture;
    const page = await fixture.open('/{client}/overview?range=1h');
    await figure(page, 'Finished jobs').getByText('in 1 hour').waitFor();
    const finished = async () =>
      Number(/([\d,]+) in 1 hour/.exec(await figure(page, 'Finished jobs').innerText())?.[1]);
    const before = await finished();
    const { job_id } = await withJobsPaused(product, async () => {
      const { body } = await product.api.callIn();
      await expect.poll(() => tile(page, 'Queue age').innerText()).toMatch(/\d+ s\s+1 queued/);
      await expectAccessible(page);
      return body;
    });
    await product.api.untilEvent(job_id);
    await expect.poll(() => tile(page, 'Queue age').innerText()).toMatch(/–\s+0 queued/);
    await expect.poll(finished).toBeGreaterThan(before);
    await expect.poll(() => figure(page, 'Job duration').innerText()).toMatch(/p50 [\d.]+ (ms|s)/);
    await figure(page, 'Finished jobs').getByText('Show as table').click();
    await figure(page, 'Finished jobs')
      .getByRole('table')
      .getByRole('columnheader', { name: 'Needs review' })
      .waitFor();
    await expectAccessible(page);
    // The charts are resized one frame after the window.
    await expect.poll(() => clippedLabels(page)).toStrictEqual([]);
    // The newest bar is the last one.
    const bar = page.locator('.recharts-bar-rectangle path').last();
    await bar.hover();
    await bar.click();
    await page.getByRole('heading', { level: 1, name: 'Jobs' }).waitFor();
    await page.getByText('Finished').first().waitFor();
    await page.getByRole('row').filter({ hasText: 'Telephone encounter' }).first().waitFor();
    expect(page.url()).toMatch(/finished_from=.*finished_to=/);
    expect(fixture.consoleErrors(page)).toStrictEqual([]);
  });

  test('groups failures by cause and runs a group again, with a summary', async () => {
    const { product } = fixture;
    await rejectedCall(product);
    await rejectedCall(product, { patient_mrn: 'LK100002' });
    const page = await fixture.open('/{client}/overview');
    const group = attention(page).getByRole('article', { name: '2 × Rejected by the EMR' });
    await group.getByText('Resolve the cause in the EMR or in the request.').waitFor();
    await group.getByRole('link', { name: /^Job \d+$/ }).waitFor();
    await expect.poll(() => tile(page, 'Failed (24 h)').innerText()).toMatch(/\s2\s/);
    await tile(page, 'Failed (24 h)').click();
    await expect.poll(() => page.getByRole('cell', { name: 'Failed', exact: true }).count()).toBe(2);
    await page.goBack();
    await group.getByRole('button', { name: 'Run again' }).click();
    const dialog = page.getByRole('dialog', { name: 'Run 2 jobs again' });
    await dialog.getByRole('button', { name: 'Run again' }).click();
    await dialog.getByText('2 jobs were queued again.').waitFor();
    await expectAccessible(page);
    await dialog.getByRole('button', { name: 'Done' }).click();
    await group.waitFor({ state: 'detached' });
    await expect.poll(() => tile(page, 'Failed (24 h)').innerText()).toMatch(/\s0\s/);
    expect(fixture.consoleErrors(page)).toStrictEqual([]);
  });

  test('keeps the period in the URL', async () => {
    const page = await fixture.open('/{client}/overview');
    await figure(page, 'Finished jobs').getByText('in 24 hours').waitFor();
    await page.getByText('7 days', { exact: true }).click();
    await figure(page, 'Finished jobs').getByText('in 7 days').waitFor();
    expect(page.url()).toMatch(/range=7d$/);
    await page.reload();
    await figure(page, 'Finished jobs').getByText('in 7 days').waitFor();
  });

  test('lists accounts to re-link and failing endpoints live, with links', async () => {
    const { product } = fixture;
    const page = await fixture.open('/{client}/overview');
    await attention(page).waitFor();
    const receiver = await startReceiver(respondWith(503));
    await product.api.call('POST', '/v1/webhook', { body: { webhook_url: receiver.url } });
    await product.api.callIn();
    await attention(page).getByText(receiver.url).waitFor();
    await expect.poll(() => attention(page).innerText()).toMatch(/503.*Since/s);
    await expireAccount(product, 'expired-user', 1);
    await attention(page).getByText('Larkspur requires a new one-time code.').waitFor();
    await expect.poll(() => tile(page, 'Waiting for re-linking').innerText()).toMatch(/\s1\s+\d+ jobs? waiting/);
    await expect.poll(() => tile(page, 'Failing webhooks').innerText()).toMatch(/\s1\s/);
    await expectAccessible(page);
    await attention(page).getByRole('link', { name: 'sandbox-practice · expired-user', exact: true }).click();
    await page.getByRole('heading', { level: 1, name: 'Accounts' }).waitFor();
    await receiver.close();
    expect(fixture.consoleErrors(page)).toStrictEqual([]);
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
  });
});

/** Labels of the charts that reach beyond their chart's box. */
function clippedLabels(page: Page): Promise<string[]> {
  return page.evaluate(`[...document.querySelectorAll('.chart')].flatMap((chart) => {
    const box = chart.getBoundingClientRect();
    const isClipped = ({ left, right }) => left < box.left || right > box.right;
    const labels = [...chart.querySelectorAll('text')];
    return labels.filter((label) => isClipped(label.getBoundingClientRect())).map((label) => label.textContent);
  })`);
}

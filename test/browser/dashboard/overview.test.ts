import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { freePort } from '../../../scripts/freePort.ts';
import { evaluateAlerts } from '../../../src/product/alerts/evaluateAlerts.ts';
import { newClient } from '../../api/support.ts';
import { rejectedCall } from '../../dashboard/finishedCalls.ts';
import { respondWith, startReceiver } from '../../harness/servers/receiver.ts';
import { until } from '../../journeys/support.ts';
import { expireAccount } from '../../spec/support/expireAccount.ts';
import { withJobsPaused } from '../../spec/support/pauseJobs.ts';
import { type DashboardFixture, expectAccessible, startDashboard } from './fixture.ts';

let fixture: DashboardFixture;
beforeAll(async () => {
  // The receiver's URL contains the port, so it must be known before the service starts.
  fixture = await startDashboard({ env: { PORT: String(await freePort()) } });
});
afterAll(() => fixture?.close());

const attention = (page: Page) => page.getByRole('region', { name: 'Needs attention' });
const tile = (page: Page, label: string) =>
  page.getByRole('region', { name: 'Current state' }).getByRole('link').filter({ hasText: label });
const figure = (page: Page, title: string) => page.getByRole('figure').filter({ hasText: title });

describe('overview page', () => {
  test('leads to the first success by buttons alone: a write, its event, and the chart', async () => {
    const page = await fixture.open();
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
    const steps = page.getByRole('region', { name: 'Your first write in three steps' });
    const step = (title: string) => steps.getByRole('listitem').filter({ hasText: title });
    await steps.getByRole('button', { name: 'Send first write' }).waitFor();
    // No zeros and no empty charts.
    expect(await page.getByRole('region').count()).toBe(1);
    expect(await page.getByRole('figure').count()).toBe(0);
    await expectAccessible(page);
    await steps.getByRole('button', { name: 'Send first write' }).click();
    await step('Send a first write').getByText('Succeeded').waitFor();
    await steps.getByRole('button', { name: 'Receive the event' }).click();
    await step('Receive its event').getByText('Delivered').waitFor();
    await expectAccessible(page);
    const opening = page.waitForEvent('popup');
    await steps.getByText('Open in Larkspur').click();
    await (await opening).close();
    // Everything is done: what remains is the overview of an installation in use.
    await steps.waitFor({ state: 'detached' });
    await attention(page).getByText('All clear').waitFor();
    await figure(page, 'Finished jobs')
      .getByText(/^\d+ in 1 hour, /)
      .waitFor();
    await page.reload();
    await attention(page).getByText('All clear').waitFor();
    expect(await steps.count()).toBe(0);
    await expectAccessible(page);
    const node = (name: string) => page.getByRole('region', { name: 'Flow' }).getByRole('link', { name });
    expect(await node('sandbox-practice').getAttribute('href')).toContain('organization_id=');
    await node('1 writes/h').waitFor();
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
    await expect.poll(() => tile(page, 'Queue age').innerText()).toMatch(/None\s+0 queued/);
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
    await group
      .getByText(/^2 writes \(Telephone encounter\) for patients of .+ failed .*Both can run again\.$/)
      .waitFor();
    // The EMR's own words.
    await group.getByText('This chart is locked.').waitFor();
    await group.getByRole('link', { name: /^Job \d+$/ }).waitFor();
    await expect.poll(() => tile(page, 'Failed (24 h)').innerText()).toMatch(/\s2\s/);
    await tile(page, 'Failed (24 h)').click();
    await expect.poll(() => page.getByRole('cell', { name: 'Failed', exact: true }).count()).toBe(2);
    await page.goBack();
    await group.getByRole('button', { name: 'Run the 2 that can succeed' }).click();
    const dialog = page.getByRole('dialog', { name: 'Run 2 jobs again' });
    await dialog.getByRole('button', { name: 'Run again' }).press('Enter');
    await dialog.getByText('2 jobs were queued again.').waitFor();
    await expectAccessible(page);
    // With the keyboard alone, one neither leaves the dialog nor begins at the top of the page again.
    await expect.poll(() => page.locator(':focus').innerText()).toBe('Done');
    await page.keyboard.press('Enter');
    await group.waitFor({ state: 'detached' });
    await expect.poll(() => page.locator(':focus').getAttribute('id')).toBe('content');
    await expect.poll(() => tile(page, 'Failed (24 h)').innerText()).toMatch(/\s0\s/);
    expect(fixture.consoleErrors(page)).toStrictEqual([]);
  });

  test('an outage of the EMR is seen on the overview, the account, the job and as an alert, and disappears by itself', async () => {
    const { product } = fixture;
    const { owner, api } = product;
    const page = await fixture.open('/sandbox');
    await page.getByLabel('Server error').check({ force: true });
    const { body } = await api.callIn();
    const overview = await fixture.open('/{client}/overview');
    const group = attention(overview).getByRole('article', { name: 'Larkspur is not responding' });
    await until('several failed attempts', async () => {
      await owner`UPDATE lanes SET ready_at = now() WHERE ready_at > now()`;
      const [row] = await owner`SELECT FROM jobs WHERE id = ${body.job_id} AND retries >= 2`;
      return row;
    });
    await owner`UPDATE emr_outages SET since = now() - interval '301 seconds'`;
    await expect.poll(() => group.innerText()).toMatch(/1 job retrying since .*5 min.*sandbox-practice/s);
    await group.getByText('Larkspur responded with an error (500).').waitFor();
    await expectAccessible(overview);
    await overview
      .getByRole('region', { name: 'Flow' })
      .getByRole('link', { name: /^1 retrying/ })
      .waitFor();
    await until('the alert', async () => {
      await evaluateAlerts(product.ctx);
      return (await owner`SELECT FROM alerts WHERE code = 'emr_unreachable' AND resolved_at IS NULL`).length === 1;
    });
    // Said once.
    await expect.poll(() => attention(overview).getByRole('article').count()).toBe(1);
    await group.getByRole('link', { name: 'View Larkspur is not responding' }).click();
    expect(overview.url()).toMatch(/state=retrying&organization_id=[0-9a-f]{32}$/);
    await overview.getByRole('link', { name: String(body.job_id), exact: true }).waitFor();
    await overview.getByRole('link', { name: 'Accounts', exact: true }).click();
    const notice = overview.getByRole('alert').filter({ hasText: 'Larkspur is not responding' });
    await notice.getByRole('link', { name: '1 job waiting' }).waitFor();
    await expectAccessible(overview);
    const sandbox = await fixture.open('/sandbox');
    await sandbox.getByLabel('Server error').uncheck({ force: true });
    const accounts = await fixture.open('/{client}/accounts');
    await until('the job to be finished', async () => {
      await owner`UPDATE lanes SET ready_at = now() WHERE ready_at > now()`;
      return (await owner`SELECT FROM jobs WHERE id = ${body.job_id} AND state = 'succeeded'`).length === 1;
    });
    await notice.waitFor({ state: 'detached' });
    await accounts.getByRole('link', { name: 'Overview', exact: true }).click();
    await attention(accounts).getByText('All clear').waitFor();
    await until('the alert to be resolved', async () => {
      await evaluateAlerts(product.ctx);
      return (await owner`SELECT FROM alerts WHERE code = 'emr_unreachable' AND resolved_at IS NULL`).length === 0;
    });
    expect(fixture.consoleErrors(accounts)).toStrictEqual([]);
  });

  test('lists a sync that makes no progress, with what it waits for, until it goes on', async () => {
    const { owner } = fixture.product;
    const page = await fixture.open('/{client}/accounts');
    const problem = attention(page).getByRole('article', { name: 'Sync makes no progress' });
    await withJobsPaused(fixture.product, async () => {
      await page.getByRole('button', { name: 'Sync now' }).click();
      const { id } = await until('the sync to be queued', async () => {
        const [row] = await owner<{ id: number }[]>`SELECT id FROM jobs WHERE type = 'sync' AND state = 'queued'`;
        return row;
      });
      // As after 40 minutes in which the EMR has sent no page of its claims.
      await owner`UPDATE jobs SET created_at = now() - interval '1 hour' WHERE id = ${id}`;
      await owner`INSERT INTO job_steps (job_id, client_id, attempt, name, kind, at)
        SELECT id, client_id, 1, 'started', 'note', now() - interval '40 minutes' FROM jobs WHERE id = ${id}`;
      await owner`UPDATE sync_passes SET run = ${id}, done = false WHERE kind = 'claims'`;
      await fixture.open('/{client}/overview');
      const facts = /sandbox-practice \(claims\) · nothing read since .+ \(4\d min\) · /;
      await expect.poll(() => problem.innerText()).toMatch(facts);
      await expectAccessible(page);
      await problem.getByRole('link', { name: 'View Sync makes no progress' }).click();
      await page.waitForURL(new RegExp(`/jobs/${id}$`));
    });
    await page.getByRole('heading', { level: 1, name: 'Sync · Succeeded' }).waitFor();
    await page.getByRole('link', { name: 'Overview', exact: true }).click();
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
    await problem.waitFor({ state: 'detached' });
    expect(fixture.consoleErrors(page)).toStrictEqual([]);
  });

  test('keeps the period in the URL', async () => {
    const page = await fixture.open('/{client}/overview');
    await figure(page, 'Finished jobs').getByText('in 1 hour').waitFor();
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
    await expect.poll(() => attention(page).innerText()).toMatch(/\d+ events? waiting · Since.*503/s);
    await expireAccount(product, 'expired-user', 1);
    await attention(page).getByText('Larkspur requires a new one-time code.').waitFor();
    await expect.poll(() => tile(page, 'Waiting for re-linking').innerText()).toMatch(/\s1\s+\d+ jobs? waiting/);
    await expect.poll(() => tile(page, 'Failing webhooks').innerText()).toMatch(/\s1\s/);
    await expectAccessible(page);
    await attention(page).getByRole('link', { name: 'sandbox-practice · expired-user', exact: true }).click();
    await page.getByRole('heading', { level: 1, name: 'Accounts' }).waitFor();
    await page.locator('.chosen-account', { hasText: 'expired-user' }).waitFor();
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
    await page.getByRole('region', { name: 'Your first write in three steps' }).waitFor();
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

import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newClient } from '../api/support.ts';
import { answering, startReceiver } from '../harness/receiver.ts';
import { expireAccount } from '../spec/support/expireAccount.ts';
import { withJobsPaused } from '../spec/support/pauseJobs.ts';
import { type DashboardPlace, expectSound, startDashboardPlace } from './dashboardPlace.ts';

let place: DashboardPlace;
beforeAll(async () => {
  place = await startDashboardPlace();
});
afterAll(() => place?.close());

const attention = (page: Page) => page.getByRole('region', { name: 'Needs attention' });
const now = (page: Page) => page.getByRole('region', { name: 'Now' });
const figure = (page: Page, title: string) => page.getByRole('figure').filter({ hasText: title });

describe('the overview', () => {
  test('is where one arrives, calm while nothing is wrong', async () => {
    const page = await place.open();
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
    await attention(page).getByText('Nothing needs you at present.').waitFor();
    await figure(page, 'Jobs ended').waitFor();
    await expectSound(page);
    expect(place.complaints(page)).toStrictEqual([]);
    await page.context().close();
  });

  test('follows the queue as it fills and empties, and the charts follow', async () => {
    const { world } = place;
    const page = await place.open('/{client}/overview?range=1h');
    await figure(page, 'Jobs ended').getByText('in 1 hour').waitFor();
    const ended = async () => Number(/([\d,]+) in 1 hour/.exec(await figure(page, 'Jobs ended').innerText())?.[1]);
    const before = await ended();
    const { job_id } = await withJobsPaused(world, async () => {
      const { body } = await world.api.callIn();
      await expect.poll(() => now(page).innerText()).toMatch(/Queued\s+1\s+The oldest since/);
      await expectSound(page);
      return body;
    });
    await world.api.untilEvent(job_id);
    await expect.poll(() => now(page).innerText()).toMatch(/Queued\s+0\s+Nothing waits/);
    await expect.poll(ended).toBeGreaterThan(before);
    expect(await figure(page, 'Time from accepted to ended').innerText()).toMatch(
      /half of the jobs within [\d.]+ (ms|s)/,
    );
    // The same for who does not see the picture.
    await figure(page, 'Jobs ended').getByText('As a table').click();
    await figure(page, 'Jobs ended').getByRole('table').getByRole('columnheader', { name: 'Needs review' }).waitFor();
    await expectSound(page);
    expect(place.complaints(page)).toStrictEqual([]);
    await page.context().close();
  });

  test('keeps the span of time in the address', async () => {
    const page = await place.open('/{client}/overview');
    await figure(page, 'Jobs ended').getByText('in 24 hours').waitFor();
    await page.getByText('7 days', { exact: true }).click();
    await figure(page, 'Jobs ended').getByText('in 7 days').waitFor();
    expect(page.url()).toMatch(/range=7d$/);
    await page.reload();
    await figure(page, 'Jobs ended').getByText('in 7 days').waitFor();
    await page.context().close();
  });

  test('tells of accounts to re-link and of failing addresses as they come, and leads to where they are mended', async () => {
    const { world } = place;
    const page = await place.open('/{client}/overview');
    await attention(page).waitFor();
    const receiver = await startReceiver(answering(503));
    await world.api.call('POST', '/v1/webhook', { body: { webhook_url: receiver.url } });
    await world.api.callIn();
    await attention(page).getByText(receiver.url).waitFor();
    expect(await attention(page).innerText()).toMatch(/503.*Since/s);
    await expireAccount(world, 'expired-user', 1);
    await attention(page).getByText('Larkspur asks for a new one-time code.').waitFor();
    await expect.poll(() => now(page).innerText()).toMatch(/Waiting for re-linking\s+[12]\s/);
    await expectSound(page);
    await attention(page).getByRole('link', { name: 'expired-user of sandbox-practice' }).click();
    await page.getByRole('heading', { level: 1, name: 'Accounts' }).waitFor();
    await receiver.close();
    expect(place.complaints(page)).toStrictEqual([]);
    await page.context().close();
  });

  test('shows all clients where there are several', async () => {
    await newClient(place.world);
    const page = await place.open('/{client}/overview');
    const clients = page.getByRole('region', { name: 'All clients' }).first();
    await clients.getByRole('row').nth(2).waitFor();
    await expectSound(page);
    await clients.getByRole('row').nth(2).getByRole('link').click();
    await attention(page).getByText('Nothing needs you at present.').waitFor();
    expect(page.url()).not.toContain(place.world.sandbox.client_id);
    await page.context().close();
  });
});

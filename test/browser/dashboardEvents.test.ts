import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { answering, startReceiver } from '../harness/receiver.ts';
import { freePort } from '../harness/sandbox.ts';
import { until } from '../journeys/journey.ts';
import { type DashboardPlace, expectSound, startDashboardPlace } from './dashboardPlace.ts';

let place: DashboardPlace;
beforeAll(async () => {
  // A port that is known beforehand: it stands in the address of the built-in receiver.
  place = await startDashboardPlace({ env: { PORT: `${await freePort()}` } });
});
afterAll(() => place?.close());
afterEach(async () => {
  await place.world.owner`DELETE FROM webhook_endpoints`;
  await place.world.owner`DELETE FROM events`;
});

const tab = (page: Page, name: string) => page.getByRole('tab', { name }).click();
const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });

/** A page that was loaded anew would have forgotten this. */
const markPage = (page: Page) => page.evaluate('window.unbroken = true');
const isUnbroken = (page: Page) => page.evaluate('window.unbroken === true');

async function finish(page: Page): Promise<void> {
  expect(place.complaints(page)).toStrictEqual([]);
  await page.context().close();
}

describe('events and the built-in receiver', () => {
  test('a write whose webhook fails is seen with its try, mended, resent and seen to arrive, without a reload', async () => {
    const page = await place.open('/{client}/events');
    await page.getByText('There is no event yet.').waitFor();
    await expectSound(page);
    await markPage(page);

    await tab(page, 'Built-in receiver');
    await expectSound(page);
    await button(page, 'Use the built-in receiver').click();
    await page.getByText('It takes everything: 200.').waitFor();
    await page.getByText('Nothing came yet.').waitFor();
    await expectSound(page);
    // It stays closed to the tries that follow by themselves, until it is told otherwise.
    await page.getByLabel('Answer', { exact: true }).selectOption('500');
    await button(page, 'Answer so').click();
    await page.getByText('500, until it is told otherwise.').waitFor();

    await place.world.api.callIn();
    const request = page.getByRole('row', { name: /telephone_encounter\.created/ }).first();
    await request.getByText('Signature valid').waitFor();
    await request.getByText('500').waitFor();

    await tab(page, 'Events');
    const event = page.getByRole('row', { name: /telephone_encounter\.created/ });
    await event.getByText('Pending').waitFor();
    await expectSound(page);
    await event.getByRole('link').click();
    await page.getByText('The built-in receiver is configured to respond with 500.').first().waitFor();
    await page.getByText('The receiver responded with 500.').first().waitFor();
    await page.getByText(place.world.sandbox.example.patient_mrn).waitFor();
    await page.getByRole('link', { name: /^Job \d+$/ }).waitFor();
    await expectSound(page);
    // The patient is on the page and in no address.
    expect(page.url()).not.toContain(place.world.sandbox.example.patient_mrn);
    // The ladder takes three days to its end; here the delivery is at it, once no try of it is under way.
    await until('the delivery to pause', async () => {
      const [paused] = await place.world.owner`UPDATE deliveries
        SET status = 'failed', ready_at = NULL, finished_at = now() WHERE locked_until IS NULL RETURNING id`;
      return paused;
    });
    await place.world.owner`UPDATE events SET delivery_status = 'failed'`;

    await tab(page, 'Built-in receiver');
    await button(page, 'Take everything again').click();
    await page.getByText('It takes everything: 200.').waitFor();
    await tab(page, 'Events');
    await event.getByText('Failed').waitFor();
    await event.getByRole('link').click();
    await button(page, 'Resend').click();
    await page.getByText('On its way to 1 endpoint.').waitFor();
    await page.getByText('Delivered').first().waitFor();
    await page.getByText('{"received":true}').waitFor();

    await tab(page, 'Built-in receiver');
    const arrived = page.getByRole('row', { name: /telephone_encounter\.created/ }).first();
    await arrived.getByText('200').waitFor();
    await arrived.getByRole('link').click();
    await page.getByRole('heading', { name: 'Headers' }).waitFor();
    await page.getByText('Signature valid').waitFor();
    await page.getByRole('rowheader', { name: 'webhook-signature' }).waitFor();
    await expectSound(page);
    expect(await isUnbroken(page)).toBe(true);
    await finish(page);
  });

  test('all that failed is resent after the count was shown', async () => {
    const receiver = await startReceiver(answering(500));
    const { api, owner } = place.world;
    await api.call('POST', '/v1/webhook', { body: { webhook_url: receiver.url }, headers: { access_token: null } });
    for (let n = 0; n < 3; n++) await api.untilEvent((await api.callIn()).body.job_id);
    const page = await place.open('/{client}/events');
    await expect.poll(async () => (await owner`SELECT FROM delivery_attempts`).length).toBeGreaterThanOrEqual(3);
    await owner`UPDATE deliveries SET status = 'failed', ready_at = NULL, finished_at = now()`;
    await owner`UPDATE events SET delivery_status = 'failed'`;
    receiver.answer = answering(200);
    await button(page, 'Resend failed').click();
    await page.getByText('3 events are failed now.').waitFor();
    await expectSound(page);
    await button(page, 'Resend').click();
    await page.getByText('3 events are on the way.').waitFor();
    await button(page, 'Done').click();
    await expect.poll(() => page.getByRole('cell', { name: 'Delivered' }).count()).toBe(3);
    await receiver.close();
    await finish(page);
  });

  test('filters stand in the address and survive a reload', async () => {
    const { api } = place.world;
    await api.untilEvent((await api.callIn()).body.job_id);
    const page = await place.open('/{client}/events');
    await page.getByRole('row', { name: /telephone_encounter\.created/ }).waitFor();
    await page.getByLabel('Delivery').selectOption('failed');
    await page.getByText('No event of the last 30 days fits these filters.').waitFor();
    expect(page.url()).toContain('delivery_status=failed');
    await page.reload();
    await page.getByText('No event of the last 30 days fits these filters.').waitFor();
    await button(page, 'Clear').click();
    await page.getByRole('row', { name: /telephone_encounter\.created/ }).waitFor();
    await finish(page);
  });
});

describe('endpoints', () => {
  test('are added, tested, edited, rotated, disabled, enabled and deleted', async () => {
    const receiver = await startReceiver(answering(418, { 'content-type': 'text/plain' }, 'short and stout'));
    const page = await place.open('/{client}/events/endpoints');
    await page.getByText('Nobody is told of events yet.').waitFor();
    await expectSound(page);

    await button(page, 'Add endpoint').click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Address').fill('http://10.0.0.1/hook');
    await button(page, 'Add').click();
    await dialog.getByRole('alert').getByText('must use https').waitFor();
    await expectSound(page);
    await dialog.getByLabel('Address').fill(receiver.url);
    await button(page, 'Add').click();
    const first = await dialog.getByText(/^whsec_/).innerText();
    await expectSound(page);
    await button(page, 'Done').click();
    await page.getByRole('heading', { name: receiver.url }).waitFor();
    await expectSound(page);

    await button(page, 'Send test event').click();
    await button(page, 'Send').click();
    await dialog.getByText('short and stout').waitFor();
    await dialog.getByText('The receiver responded with 418.').waitFor();
    await expectSound(page);
    await button(page, 'Done').click();

    await button(page, 'Edit types').click();
    await dialog.getByRole('checkbox', { name: 'sync.completed' }).check();
    await expectSound(page);
    await button(page, 'Save').click();
    await page.getByText('sync.completed').waitFor();

    await button(page, 'Rotate secret').click();
    await expectSound(page);
    await button(page, 'Rotate').click();
    expect(await dialog.getByText(/^whsec_/).innerText()).not.toBe(first);
    await button(page, 'Done').click();

    await button(page, 'Disable').click();
    await dialog.getByRole('button', { name: 'Disable' }).click();
    await page.getByText('Disabled by an operator.').waitFor();
    await expectSound(page);
    await button(page, 'Enable').click();
    await page.getByText('Enabled').waitFor();
    await button(page, 'Delete').click();
    await dialog.getByRole('button', { name: 'Delete' }).click();
    await page.getByText('Nobody is told of events yet.').waitFor();
    await receiver.close();
    await finish(page);
  });
});

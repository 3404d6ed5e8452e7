import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { freePort } from '../../../scripts/freePort.ts';
import { respondWith, startReceiver } from '../../harness/servers/receiver.ts';
import { postponeDeliveries, until } from '../../journeys/support.ts';
import { chooseFromMenu, type DashboardFixture, expectAccessible, startDashboard } from './fixture.ts';

let fixture: DashboardFixture;
beforeAll(async () => {
  // The built-in receiver's URL contains the port, so it must be known before the service starts.
  fixture = await startDashboard({ env: { PORT: `${await freePort()}` } });
});
afterAll(() => fixture?.close());
afterEach(async () => {
  await fixture.product.owner`DELETE FROM webhook_endpoints`;
  await fixture.product.owner`DELETE FROM events`;
});

const tab = (page: Page, name: string) => page.getByRole('tab', { name }).click();
/** For dialogs: the page behind them is checked before they open. */
const in_dialog = { within: '[role="dialog"]' };
const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });

/** A reload would lose this mark. */
const markPage = (page: Page) => page.evaluate('window.marked = true');
const isMarked = (page: Page) => page.evaluate('window.marked === true');

const expectNoErrors = (page: Page) => expect(fixture.consoleErrors(page)).toStrictEqual([]);

describe('events and the built-in receiver', () => {
  test('shows a failed delivery, and its success after a resend, without a reload', async () => {
    const page = await fixture.open('/{client}/events');
    await page.getByText('No events yet.').waitFor();
    await expectAccessible(page);
    await markPage(page);

    await tab(page, 'Built-in receiver');
    await expectAccessible(page);
    await button(page, 'Set up receiver').click();
    await page.getByText('Responds with 200 OK.').waitFor();
    expect(await page.getByLabel('Respond with', { exact: true }).inputValue()).toBe('200');
    await page.getByText('No requests yet.').waitFor();
    await button(page, 'Send test event').waitFor();
    await expectAccessible(page);
    // Automatic retries fail too, until this is changed.
    await page.getByLabel('Respond with', { exact: true }).selectOption('500');
    await button(page, 'Apply').click();
    await page.getByText('500, until changed.').waitFor();
    // The form shows what is in force, also after a reload.
    const respond_with = page.getByLabel('Respond with', { exact: true });
    expect(await respond_with.inputValue()).toBe('500');

    await fixture.product.api.callIn();
    const request = page.getByRole('row', { name: /telephone_encounter\.created/ }).first();
    await request.getByText('Valid signature').waitFor();
    await request.getByText('500').waitFor();
    // On a phone, the name may wrap after a dot, but not inside a word.
    expect(await request.getByRole('link').locator('wbr').count()).toBe(2);

    await tab(page, 'Events');
    const event = page.getByRole('row', { name: /telephone_encounter\.created/ });
    await event.getByText('Retrying').waitFor();
    await event.getByText('Next attempt:').waitFor();
    await expectAccessible(page);
    await event.getByRole('link').click();
    await page.getByText('The built-in receiver is configured to respond with 500.').first().waitFor();
    await page.getByText('The receiver responded with 500.').first().waitFor();
    const payload = page.getByRole('region', { name: 'Payload' });
    await payload.getByText(fixture.product.sandbox.example.patient_mrn).waitFor();
    expect(await payload.locator('.json-name').first().innerText()).toBe('"id"');
    await page.getByRole('link', { name: /^Job \d+$/ }).waitFor();
    await expectAccessible(page);
    // The MRN is on the page, but not in the URL.
    expect(page.url()).not.toContain(fixture.product.sandbox.example.patient_mrn);
    // Retries take three days. Instead, set the delivery to failed while no attempt is running.
    await until('the delivery to be idle', async () => {
      const [idle] = await fixture.product.owner`UPDATE deliveries
        SET status = 'failed', ready_at = NULL, finished_at = now() WHERE locked_until IS NULL RETURNING id`;
      return idle;
    });
    await fixture.product.owner`UPDATE events SET delivery_status = 'failed'`;

    await tab(page, 'Built-in receiver');
    await button(page, 'Reset to 200').click();
    await page.getByText('Responds with 200 OK.').waitFor();
    await tab(page, 'Events');
    await event.getByText('Failed').waitFor();
    await event.getByRole('link').click();
    await button(page, 'Resend').click();
    await page.getByText('Resending to 1 endpoint.').waitFor();
    await page.getByText('Delivered').first().waitFor();
    // A delivery that succeeded is one line.
    expect(await page.getByText('{"received":true}').isVisible()).toBe(false);
    await page.getByText(/^\d attempts$/).click();
    await page.getByText('{"received":true}').waitFor();
    await page.getByText(/^v1,[\w+/=]{44}$/).waitFor();
    await expectAccessible(page);

    await tab(page, 'Built-in receiver');
    const arrived = page.getByRole('row', { name: /telephone_encounter\.created/ }).first();
    await arrived.getByText('200').waitFor();
    await arrived.getByRole('link').click();
    await page.getByRole('heading', { name: 'Headers' }).waitFor();
    await page.getByText('Valid signature').waitFor();
    await page.getByRole('rowheader', { name: 'webhook-signature' }).waitFor();
    await expectAccessible(page);
    expect(await isMarked(page)).toBe(true);
    expectNoErrors(page);
  });

  test('shows to how many endpoints an event was delivered, and resends the failed ones', async () => {
    const receiver = await startReceiver(respondWith(500));
    const { api, owner } = fixture.product;
    const healthy = await startReceiver(respondWith(200));
    await api.call('POST', '/v1/webhook', { body: { webhook_url: healthy.url }, headers: { access_token: null } });
    await api.call('POST', '/v1/webhook', { body: { webhook_url: receiver.url }, headers: { access_token: null } });
    for (let n = 0; n < 3; n++) await api.untilEvent((await api.callIn()).body.job_id);
    const page = await fixture.open('/{client}/events');
    await expect.poll(() => page.getByText('1 of 2 delivered').count()).toBe(3);
    expect(await button(page, 'Resend failed').isDisabled()).toBe(true);
    await until('three failed deliveries', async () => {
      // A running attempt would change its delivery again.
      await owner`UPDATE deliveries SET status = 'failed', ready_at = NULL, finished_at = now()
        WHERE locked_until IS NULL AND attempts > 0 AND status = 'pending'`;
      return (await owner`SELECT FROM deliveries WHERE status = 'failed'`).length === 3;
    });
    await owner`UPDATE events SET delivery_status = 'failed'`;
    receiver.respond = respondWith(200);
    await page.reload();
    await expect.poll(() => button(page, 'Resend failed').isDisabled()).toBe(false);
    await button(page, 'Resend failed').click();
    await page.getByText('3 events failed in this period.').waitFor();
    await expectAccessible(page, in_dialog);
    await button(page, 'Resend').click();
    await page.getByText('Resending 3 events.').waitFor();
    await button(page, 'Done').click();
    await expect.poll(() => page.getByRole('cell', { name: 'Delivered' }).count()).toBe(3);
    await receiver.close();
    await healthy.close();
    expectNoErrors(page);
  });

  test('keeps filters in the URL across a reload', async () => {
    const { api } = fixture.product;
    await api.untilEvent((await api.callIn()).body.job_id);
    const page = await fixture.open('/{client}/events');
    await page.getByRole('row', { name: /telephone_encounter\.created/ }).waitFor();
    await page.getByLabel('Delivery').selectOption('failed');
    await page.getByText('No matching events in the last 30 days.').waitFor();
    expect(page.url()).toContain('delivery_status=failed');
    await page.reload();
    await page.getByText('No matching events in the last 30 days.').waitFor();
    await button(page, 'Clear filters').click();
    await page.getByRole('row', { name: /telephone_encounter\.created/ }).waitFor();
    expectNoErrors(page);
  });
});

describe('endpoints', () => {
  test('show why deliveries fail, and send what waits', async () => {
    const receiver = await startReceiver(respondWith(503, { 'content-type': 'text/plain' }, 'down for maintenance'));
    const { api, owner } = fixture.product;
    await api.call('POST', '/v1/webhook', { body: { webhook_url: receiver.url }, headers: { access_token: null } });
    await api.untilEvent((await api.callIn()).body.job_id);
    const page = await fixture.open('/{client}/events/endpoints');
    const row = page.getByRole('row').filter({ hasText: receiver.url });
    await row.getByText('Failing').waitFor();
    await row.getByText('The receiver responded with 503.').waitFor();
    await expectAccessible(page);
    await row.getByText('Failing').click();
    await page.getByRole('alert').getByText('down for maintenance').waitFor();
    await page.getByText(/^0 delivered, \d+ failed attempts?$/).waitFor();
    await page.getByRole('row').filter({ hasText: 'Retrying' }).getByText('Next attempt:').waitFor();
    await expectAccessible(page);

    // The second attempt follows after five seconds; the operator does not wait for a later one.
    await postponeDeliveries(owner);
    receiver.respond = respondWith(200);
    // Nothing has failed for good: what can be recovered is what waits.
    await button(page, 'Recover failed').click();
    const recover = page.getByRole('dialog');
    await recover.getByText('No failed events in this period.').waitFor();
    expect(await recover.getByRole('button', { name: 'Resend', exact: true }).isDisabled()).toBe(true);
    await expectAccessible(page, in_dialog);
    await recover.getByRole('button', { name: 'Send pending now' }).click();
    await recover.getByText('1 delivery waits').waitFor({ state: 'detached' });
    await recover.getByRole('button', { name: 'Cancel' }).click();
    await page.getByText('Delivered', { exact: true }).waitFor();
    await page.getByText('Enabled', { exact: true }).waitFor();

    await owner`UPDATE deliveries SET status = 'failed', ready_at = NULL`;
    await owner`UPDATE events SET delivery_status = 'failed'`;
    await page.reload();
    await expect.poll(() => button(page, 'Recover failed').isDisabled()).toBe(false);
    await button(page, 'Recover failed').click();
    await page.getByText('1 event failed in this period.').waitFor();
    await button(page, 'Resend').click();
    await page.getByText('Resending 1 event.').waitFor();
    await button(page, 'Done').click();
    await expect.poll(() => receiver.received.length).toBeGreaterThanOrEqual(3);

    await tab(page, 'Events');
    await page.getByLabel('Endpoint').selectOption({ label: receiver.url });
    await page
      .getByRole('row', { name: /telephone_encounter\.created/ })
      .getByText('Delivered')
      .waitFor();
    await receiver.close();
    expectNoErrors(page);
  });

  test('can be added, tested, edited, rotated, disabled, enabled and deleted', async () => {
    const receiver = await startReceiver(respondWith(418, { 'content-type': 'text/plain' }, 'short and stout'));
    const page = await fixture.open('/{client}/events/endpoints');
    await page.getByText('No endpoints yet.').waitFor();
    await expectAccessible(page);

    await button(page, 'Add endpoint').click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('URL').fill('http://10.0.0.1/hook');
    await button(page, 'Add').click();
    await dialog.getByRole('alert').getByText('must use https').waitFor();
    await expectAccessible(page, in_dialog);
    await dialog.getByLabel('URL').fill(receiver.url);
    await button(page, 'Add').click();
    const first = await dialog.getByText(/^whsec_/).innerText();
    await expectAccessible(page, in_dialog);
    await button(page, 'Done').click();
    await page.getByRole('cell', { name: receiver.url }).waitFor();
    await expectAccessible(page);
    await page.getByRole('link', { name: receiver.url }).click();
    await page.getByRole('heading', { name: receiver.url }).waitFor();
    await expectAccessible(page);

    await button(page, 'Send test event').click();
    await button(page, 'Send').click();
    await dialog.getByText('short and stout').waitFor();
    await dialog.getByText('The receiver responded with 418.').waitFor();
    await expectAccessible(page, in_dialog);
    await button(page, 'Done').click();

    await button(page, 'Edit').click();
    await dialog.getByRole('switch', { name: 'All events' }).uncheck();
    await button(page, 'Save').click();
    await dialog.getByRole('alert').getByText('Event types').waitFor();
    await dialog.getByRole('checkbox', { name: 'Task note: all' }).check();
    await dialog.getByText('2 of').waitFor();
    await dialog.getByLabel('Search event types').fill('sync comp');
    await dialog.getByText('number of records of each kind').waitFor();
    await dialog.getByRole('checkbox', { name: 'sync.completed' }).check();
    await dialog.getByText('3 of').waitFor();
    await expectAccessible(page, in_dialog);
    await dialog.getByLabel('URL').fill('http://10.0.0.1/hook');
    await button(page, 'Save').click();
    await dialog.getByRole('alert').getByText('must use https').waitFor();
    await dialog.getByLabel('URL').fill(`${receiver.url}/moved`);
    await button(page, 'Save').click();
    await page.getByText('task_note.created, task_note.failed, sync.completed').waitFor();
    await page.getByRole('heading', { name: `${receiver.url}/moved` }).waitFor();

    await chooseFromMenu(page, 'Rotate secret');
    await button(page, 'Rotate').waitFor();
    await expectAccessible(page, in_dialog);
    await button(page, 'Rotate').click();
    await expect.poll(() => dialog.getByText(/^whsec_/).innerText()).not.toBe(first);
    await button(page, 'Done').click();

    await chooseFromMenu(page, 'Disable');
    await dialog.getByRole('button', { name: 'Disable' }).click();
    await page.getByText('Disabled', { exact: true }).waitFor();
    await expectAccessible(page);
    await button(page, 'Enable').click();
    await page.getByText('Enabled').waitFor();
    await chooseFromMenu(page, 'Delete');
    await dialog.getByLabel('Enter delete to confirm').fill('delete');
    await dialog.getByRole('button', { name: 'Delete' }).click();
    await page.getByText('No endpoints yet.').waitFor();
    await receiver.close();

    await tab(page, 'Event catalog');
    await page.getByRole('heading', { name: 'Telephone encounter', exact: true }).waitFor();
    await expectAccessible(page);
    await page.getByLabel('Search').fill('merged');
    await page.getByText('Staff merged the patient’s chart').waitFor();
    await page.getByRole('link', { name: 'Fields and example of patient.merged' }).click();
    await page.getByRole('heading', { name: 'patient.merged' }).waitFor();
    expectNoErrors(page);
  });
});

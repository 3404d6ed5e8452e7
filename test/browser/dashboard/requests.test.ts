import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ApiResponse } from '../../harness/api.ts';
import { keepMessages } from '../../harness/browser.ts';
import { type DashboardFixture, expectAccessible, startDashboard } from './fixture.ts';

let fixture: DashboardFixture;
beforeAll(async () => {
  fixture = await startDashboard();
});
afterAll(() => fixture?.close());

const readId = ({ headers }: ApiResponse) => headers.get('x-request-id') ?? '';

/** Requests are logged after their response. */
const untilLogged = (response: ApiResponse) =>
  expect.poll(() => fixture.product.owner`SELECT FROM requests WHERE id = ${readId(response)}`).toHaveLength(1);

test('filters by endpoint and status, and shows error, field and job of a request', async () => {
  const { api, sandbox } = fixture.product;
  const { patient_mrn } = sandbox.example;
  const refused = await api.call('POST', '/v1/telephone-encounters', { body: { patient_mrn } });
  const accepted = await api.callIn();
  await untilLogged(await api.call('GET', `/v1/patients?mrn=${patient_mrn}`));
  const page = await fixture.open('/requests');
  const row = (text: string) => page.getByRole('row').filter({ hasText: text });
  await row('GET /v1/patients').waitFor();
  // Only errors are tinted.
  expect(await row('GET /v1/patients').locator('.mantine-Badge-root').count()).toBe(0);
  expect(await row(readId(refused)).locator('.mantine-Badge-root').innerText()).toBe('400');
  await expectAccessible(page);

  // Part of the path finds the endpoint. The options do not cover the label, even where there is little room below.
  const endpoint = page.getByRole('combobox', { name: 'Endpoint' });
  await page.setViewportSize({ width: 1280, height: 320 });
  await endpoint.click();
  const distance = async () => {
    const [input, options] = [await endpoint.boundingBox(), await page.getByRole('listbox').boundingBox()];
    return input && options ? options.y - input.y - input.height : undefined;
  };
  // They are positioned one frame after they open.
  await expect.poll(distance).toBeGreaterThanOrEqual(0);
  await page.setViewportSize({ width: 1280, height: 800 });
  await endpoint.fill('telephone');
  await page.getByRole('option', { name: 'POST /v1/telephone-encounters', exact: true }).click();
  await expect.poll(() => row('GET /v1/patients').count()).toBe(0);
  await row(readId(accepted)).waitFor();
  await page.getByLabel('Status').selectOption('4xx');
  await expect.poll(() => row(readId(accepted)).count()).toBe(0);

  await row(readId(refused)).click();
  const drawer = page.getByRole('dialog', { name: 'POST /v1/telephone-encounters' });
  await drawer.getByText(refused.body.message).waitFor();
  await drawer.getByText(refused.body.field, { exact: true }).waitFor();
  await drawer.getByText('missing_field', { exact: true }).waitFor();
  await drawer.getByText(refused.body.remedy).waitFor();
  const about = drawer.getByRole('link', { name: 'About missing_field' });
  expect(await about.getAttribute('href')).toBe('/docs/reference/errors#missing_field');
  await expectAccessible(page, { within: '[role=dialog]' });
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  await keepMessages(page);
  await drawer.getByRole('button', { name: 'Copy as curl' }).click();
  await drawer.getByRole('button', { name: 'Copied' }).waitFor();
  const copied = await page.evaluate<string>('navigator.clipboard.readText()');
  expect(copied).toContain(`curl -X POST '${new URL(page.url()).origin}/v1/telephone-encounters'`);
  expect(copied).toContain('$CLIENT_SECRET');
  expect(copied).not.toContain(patient_mrn);
  expect(copied).not.toContain(sandbox.client_secret);
  await page.keyboard.press('Escape');
  await drawer.waitFor({ state: 'detached' });

  await page.getByLabel('Status').selectOption('2xx');
  await row(readId(accepted)).click();
  await drawer.getByRole('link', { name: `Job ${accepted.body.job_id}` }).click();
  await page.getByText(`Job ${accepted.body.job_id} · `).waitFor();
  expect(fixture.consoleErrors(page)).toStrictEqual([]);
});

test('finds an unknown route and an unauthenticated request by request id or path, and explains them', async () => {
  const { api, sandbox } = fixture.product;
  const { patient_mrn } = sandbox.example;
  const unknown = await api.call('GET', `/v1/patient/${patient_mrn}/chart`);
  const stranger = await api.call('GET', '/v1/staff', { headers: { client_secret: 'wrong' } });
  await untilLogged(stranger);
  // What the message names is what was sent.
  const link = { user_id: 'user-1', org_id: 'org-1', emr_name: 'none', emr_instance_domain: 'emr.example.org' };
  const unsupported = await api.call('POST', '/link/token/create', { body: link, headers: { access_token: null } });
  expect(unsupported.body.code).toBe('emr_name_unknown');
  await untilLogged(unsupported);
  const page = await fixture.open('/requests');
  const rows = page.getByRole('table', { name: 'Requests' }).locator('tbody tr');
  for (const [response, ...texts] of [
    [unknown, '404', `GET /v1/patient/${patient_mrn}/chart`, 'route_not_found'],
    [stranger, '401', 'GET /v1/staff', 'client_credentials_invalid', 'Unauthenticated'],
  ] as const) {
    await page.getByLabel('Path or request ID').fill(readId(response));
    await page.keyboard.press('Enter');
    await rows.filter({ hasText: readId(response) }).waitFor();
    await expect.poll(() => rows.count()).toBe(1);
    for (const text of texts) expect(await rows.innerText()).toContain(text);
  }
  await rows.click();
  await page.getByRole('dialog').getByText(stranger.body.message).waitFor();
  await page.keyboard.press('Escape');

  await page.getByLabel('Path or request ID').fill('v1/patient/');
  await page.keyboard.press('Enter');
  await rows.filter({ hasText: readId(unknown) }).waitFor();
  await expect.poll(() => rows.count()).toBe(1);
  await rows.click();
  const drawer = page.getByRole('dialog');
  // The path that was sent, and its pattern. What is not stored leaves no hole.
  await drawer.getByText('/v1/patient/{…}/{…}', { exact: true }).waitFor();
  await drawer.getByText(unknown.body.remedy).waitFor();
  expect(await drawer.innerText()).not.toMatch(/… |'…'/);
  await expectAccessible(page, { within: '[role=dialog]' });
  await page.keyboard.press('Escape');
  await page.getByLabel('Path or request ID').fill(readId(unsupported));
  await page.keyboard.press('Enter');
  await rows.filter({ hasText: readId(unsupported) }).click();
  // “Correct the request as the message says” needs a message to refer to.
  await drawer.getByText('The message that was sent is not stored').waitFor();
  await drawer.getByText(unsupported.body.remedy).waitFor();
  expect(await drawer.innerText()).not.toContain(unsupported.body.message);
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: 'Clear filters' }).click();
  const endpoint = page.getByRole('combobox', { name: 'Endpoint' });
  await endpoint.fill('unknown');
  await page.getByRole('option', { name: 'Unknown routes' }).click();
  await rows.filter({ hasText: readId(unknown) }).waitFor();
  await expect.poll(() => rows.count()).toBe(1);
  expect(fixture.consoleErrors(page)).toStrictEqual([]);
});

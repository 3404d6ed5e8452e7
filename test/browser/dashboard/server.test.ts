import { afterAll, beforeAll, expect, test } from 'vitest';
import { linkFhir } from '../../harness/fhir/linkFhir.ts';
import { appFor } from '../../harness/fhir/registrations.ts';
import { type FhirServer, startFhirServer } from '../../harness/fhir/startFhirServer.ts';
import { signInOperator } from '../../harness/operator.ts';
import { type DashboardFixture, expectAccessible, startDashboard } from './fixture.ts';

const org_id = 'server-practice';
let fixture: DashboardFixture;
let server: FhirServer;
beforeAll(async () => {
  [fixture, server] = await Promise.all([startDashboard(), startFhirServer({ data: 'small' })]);
  server.faults.withheld = { Appointment: 'all', ServiceRequest: 'all', Slot: 'all', Claim: 'all' };
  const api = await linkFhir(fixture.product, server, { user_id: 'server-user', org_id });
  await api.sync();
});
afterAll(async () => {
  await fixture.close();
  await server.close();
});

async function openAccount() {
  const page = await fixture.open('/{client}/accounts');
  return { page, card: page.getByRole('region', { name: org_id, exact: true }) };
}

test('an account shows which identifier is the MRN and how many writes run in parallel', async () => {
  const { page, card } = await openAccount();
  await card.getByText('Server settings', { exact: true }).click();
  await card.getByText('Type MR, system urn:meadowbrook:mrn (detected from a sample of patients)').waitFor();
  await card.getByText('1 of at most 4. Raised after 20 records were created without a failure').waitFor();
  await expectAccessible(page);
  await card.getByRole('button', { name: 'Show identifiers' }).click();
  await page.getByRole('button', { name: 'Read from the EMR' }).click();
  const row = page.getByRole('row').filter({ hasText: 'urn:meadowbrook:mrn' });
  await expect.poll(() => row.innerText()).toMatch(/•••\d\d/);
  await expect.poll(() => page.getByRole('dialog').innerText()).not.toMatch(/MB\d/);
  await expectAccessible(page, { within: '[role="dialog"]' });
  await page.getByRole('button', { name: 'Done' }).click();
  await card.getByRole('button', { name: 'Edit server settings' }).click();
  await expectAccessible(page, { within: '[role="dialog"]' });
  await page.getByLabel('MRN identifier: type').fill('MR');
  await page.getByLabel('Parallel writes').fill('2');
  await page.getByRole('button', { name: 'Save' }).click();
  await card.getByText('Type MR (set for this organization)').waitFor();
  await card.getByText('1 of at most 2.').waitFor();
  expect(fixture.consoleErrors(page)).toStrictEqual([]);
});

test('the connection report of an account is accessible', async () => {
  const { page, card } = await openAccount();
  await card.getByRole('link', { name: 'Connection report' }).click();
  await page.getByRole('cell', { name: 'GET [base]/.well-known/smart-configuration' }).waitFor();
  await page.getByText(/^MRN: identifiers of type MR/).waitFor();
  await expectAccessible(page);
  expect(fixture.consoleErrors(page)).toStrictEqual([]);
});

test('the notice of held removals is accessible before and after its confirmation', async () => {
  await fixture.product.owner`UPDATE sync_passes SET held_at = now(), held_stored = 40, held_missing = 30
    WHERE kind = 'patients' AND organization_id = (SELECT id FROM organizations WHERE org_id = ${org_id})`;
  const { page, card } = await openAccount();
  await card.getByText('Patients: removals held back').waitFor();
  await expectAccessible(page);
  await card.getByRole('button', { name: 'Apply removals' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText('30 of 40 records').waitFor();
  await expectAccessible(page, { within: '[role="dialog"]' });
  await dialog.getByRole('button', { name: 'Apply removals' }).click();
  // Either the confirmation is shown, or the next sync has already removed the notice.
  await dialog.waitFor({ state: 'detached' });
  expect(fixture.consoleErrors(page)).toStrictEqual([]);
});

test('an EMR app is added before the EMR has issued a client ID, and shows the URL to register', async () => {
  const page = await fixture.open(`/settings/clients/${fixture.product.sandbox.client_id}`);
  await page.getByRole('button', { name: 'Add EMR app' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Sign-in method').selectOption('authorization_code');
  await dialog.locator('input[name="name"]').fill('Hillside');
  await dialog.getByText('One per line, such as emr.example.org').waitFor();
  await dialog.getByLabel('Hosts').fill('https://emr.hillside.example/r4');
  await dialog.getByRole('button', { name: 'Add', exact: true }).click();
  await dialog.getByText('must be names such as').first().waitFor();
  await dialog.getByLabel('Hosts').fill('emr.hillside.example\n*.vendor.example');
  await expectAccessible(page, { within: '[role="dialog"]' });
  await dialog.getByRole('button', { name: 'Add', exact: true }).click();
  await dialog.getByText('/link/v1/oauth/callback/').waitFor();
  await dialog.getByRole('button', { name: 'Copy Redirect URI' }).waitFor();
  await dialog.getByRole('button', { name: 'Done' }).click();
  const apps = page.getByRole('region', { name: 'EMR apps' });
  await apps.getByText('No client ID yet').waitFor();
  await apps.getByText('emr.hillside.example, *.vendor.example').waitFor();
  await fixture.product.owner`DELETE FROM emr_apps`;
});

test('an EMR app starts with what is known about its vendor', async () => {
  const page = await fixture.open(`/settings/clients/${fixture.product.sandbox.client_id}`);
  await page.getByRole('button', { name: 'Add EMR app' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.locator('input[name="name"]').fill('athenaOne practices');
  await dialog.getByLabel('Vendor', { exact: true }).selectOption('athenahealth');
  await dialog.getByText('athenahealth (athenaOne): what to register').waitFor();
  await dialog.getByText('not yet seen on a live system').waitFor();
  expect(await dialog.getByLabel('Hosts').inputValue()).toBe('api.platform.athenahealth.com');
  expect(await dialog.getByLabel('Search parameters').inputValue()).toBe('ah-practice=');
  await dialog.getByLabel('Headers').fill('x-api-key: key-of-the-vendor');
  await expectAccessible(page, { within: '[role="dialog"]' });
  await dialog.getByRole('button', { name: 'Add', exact: true }).click();
  await dialog.getByText('/.well-known/jwks/').waitFor();
  await dialog.getByRole('button', { name: 'Done' }).click();
  const apps = page.getByRole('region', { name: 'EMR apps' });
  await apps.getByText('Nobody has fetched the keys yet').waitFor();
  await apps.getByRole('button', { name: 'Edit' }).click();
  await dialog.getByText('Stored: x-api-key.').waitFor();
  expect(await dialog.getByLabel('Headers').inputValue()).toBe('');
  await dialog.getByRole('button', { name: 'Save' }).click();
  await dialog.waitFor({ state: 'detached' });
  const [stored] = await fixture.product.owner`SELECT headers_sealed IS NOT NULL AS kept, search_params FROM emr_apps`;
  expect(stored).toStrictEqual({ kept: true, search_params: { 'ah-practice': '' } });
  await fixture.product.owner`DELETE FROM emr_apps`;
});

test('the logo of an EMR app can be removed', async () => {
  const square = Buffer.from(
    '<svg xmlns="http://www.w3.org/2000/svg" width="32" height="32"><rect width="32" height="32"/></svg>',
  );
  const operator = await signInOperator(fixture.product);
  const credentials = { way: 'client_secret', ...server.clients.confidential };
  const logo_url = `data:image/svg+xml;base64,${square.toString('base64')}`;
  const body = appFor(server.url, credentials, { name: 'Meadowbrook', logo: logo_url });
  expect((await operator.post('clients/{client}/emr-apps', body)).status).toBe(200);
  const logo = async () => (await operator.get('clients/{client}/emr-apps')).body.emr_apps[0].logo;
  expect(await logo()).toBe(logo_url);
  const page = await fixture.open(`/settings/clients/${fixture.product.sandbox.client_id}`);
  const apps = page.getByRole('region', { name: 'EMR apps' });
  await apps.getByRole('button', { name: 'Edit' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('img', { name: 'Current logo' }).waitFor();
  await expectAccessible(page, { within: '[role="dialog"]' });
  await dialog.getByRole('button', { name: 'Remove logo' }).click();
  await dialog.getByRole('img', { name: 'Current logo' }).waitFor({ state: 'detached' });
  await dialog.getByRole('button', { name: 'Save' }).click();
  await dialog.waitFor({ state: 'detached' });
  await expect.poll(logo).toBeNull();
});

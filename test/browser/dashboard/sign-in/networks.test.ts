import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { signInOperator } from '../../../harness/operator.ts';
import { createAuthority } from '../../../harness/servers/issuer.ts';
import { chooseFromMenu, type DashboardFixture, expectAccessible, startDashboard } from '../fixture.ts';

const authority = createAuthority('Hillside authority');
const certificate = authority.issue({ name: 'chartwire' });

let fixture: DashboardFixture;
beforeAll(async () => {
  const env = { TRUSTED_PROXIES: '127.0.0.1', CLIENT_CERTIFICATE_HEADER: 'x-client-certificate' };
  fixture = await startDashboard({ env });
});
afterAll(() => fixture?.close());

describe('network access of a client', () => {
  test('is changed in a dialog, which shows what is wrong at its field', async () => {
    const page = await fixture.open(`/settings/clients/${fixture.product.sandbox.client_id}`);
    const section = page.getByRole('region', { name: 'Network access' });
    await section.getByText('Anywhere').waitFor();
    await section.getByText('None required').waitFor();
    await section.getByRole('button', { name: 'Change network access' }).click();
    await page.getByLabel('Allowed networks').fill('127.0.0.1\n10.1.2.3/8');
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Save', exact: true }).last().click();
    await page.getByText('Must not have bits after the prefix: write 10.0.0.0/8').first().waitFor();
    await expectAccessible(page);
    await page.getByLabel('Allowed networks').fill('127.0.0.1\n10.0.0.0/8\n2001:db8::/32');
    await page.getByLabel('Client certificates').fill(`${certificate.certificate}\n${authority.certificate}`);
    await page.getByRole('button', { name: 'Save', exact: true }).last().click();
    await section.getByText('2001:db8::/32').waitFor();
    await section.getByText(certificate.fingerprint).waitFor();
    await section.getByText(authority.fingerprint).waitFor();
    await expectAccessible(page);
    const operator = await signInOperator({ sandbox: fixture.product.sandbox });
    const none = { allowed_networks: [], certificate_fingerprints: [] };
    expect((await operator.patch('clients/{client}', none)).status).toBe(200);
    expect(fixture.consoleErrors(page)).toStrictEqual([]);
  });
});

describe('the certificate of a webhook endpoint', () => {
  test('is added, shown, replaced and removed on the page of the endpoint', async () => {
    const hook = { body: { webhook_url: 'https://receiver.example.org/hook' }, headers: { access_token: null } };
    const { webhook_id } = (await fixture.product.api.call('POST', '/v1/webhook', hook)).body;
    const page = await fixture.open(`/{client}/events/endpoints/${webhook_id}`);
    const section = page.getByRole('region', { name: 'Client certificate' });
    await page.getByRole('button', { name: 'Add certificate' }).click();
    await page.getByLabel('Certificate', { exact: true }).fill(certificate.certificate);
    await page.getByLabel('Private key').fill(authority.private_key);
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByText('Must be the key of the certificate CN=chartwire').first().waitFor();
    await page.getByLabel('Private key').fill(certificate.private_key);
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await section.getByText('CN=Hillside authority').waitFor();
    await section.getByText(certificate.fingerprint).waitFor();
    await section.getByRole('button', { name: 'Replace certificate' }).waitFor();
    await expectAccessible(page);
    await section.getByRole('button', { name: 'Remove certificate' }).click();
    await page.getByRole('button', { name: 'Remove', exact: true }).click();
    await page.getByText('No client certificate. Add one if').waitFor();
    expect(fixture.consoleErrors(page)).toStrictEqual([]);
  });
});

describe('the certificate of an EMR app', () => {
  test('is added with the app, shown in its form, kept and removed', async () => {
    const operator = await signInOperator({ sandbox: fixture.product.sandbox });
    const credentials = { way: 'client_secret', client_id: 'c', client_secret: 's' };
    const app = { name: 'Hillside Clinic', emr: 'fhir', hosts: ['emr.example.org'], credentials };
    expect((await operator.post('clients/{client}/emr-apps', app)).status).toBe(200);
    const page = await fixture.open(`/settings/clients/${fixture.product.sandbox.client_id}`);
    const apps = page.getByRole('region', { name: 'EMR apps' });
    const edit = apps.getByRole('button', { name: 'Edit' });
    await edit.click();
    await page.getByText('Client certificate and private authority').click();
    await page.getByLabel('Client certificate (optional)').fill(certificate.certificate);
    await page.getByLabel('Private key', { exact: true }).fill(certificate.private_key);
    await page.getByLabel('Private authority (optional)').fill(authority.certificate);
    await expectAccessible(page);
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
    const stored = async () => (await operator.get('clients/{client}/emr-apps')).body.emr_apps[0];
    await expect.poll(async () => (await stored()).certificate?.fingerprint).toBe(certificate.fingerprint);
    await expect.poll(() => page.getByRole('dialog').count()).toBe(0);
    await edit.click();
    await page.getByText('Authority: CN=Hillside authority').waitFor();
    await page.getByText(certificate.fingerprint).waitFor();
    await expectAccessible(page);
    await page.getByLabel('Remove the certificate and its key').check();
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
    await expect.poll(async () => (await stored()).certificate).toBe(null);
    expect((await stored()).authorities).toHaveLength(1);
    await expect.poll(() => page.getByRole('dialog').count()).toBe(0);
    await chooseFromMenu(apps, 'Delete', 'Hillside Clinic');
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await apps.getByText('No EMR apps yet.').waitFor();
    expect(fixture.consoleErrors(page)).toStrictEqual([]);
  });
});

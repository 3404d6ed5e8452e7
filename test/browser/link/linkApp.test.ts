import { afterAll, beforeAll, expect, test } from 'vitest';
import { accessibilityViolations } from '../../harness/browser.ts';
import { appFor } from '../../harness/fhir/registrations.ts';
import { type FhirServer, startFhirServer } from '../../harness/fhir/startFhirServer.ts';
import { signInOperator } from '../../harness/operator.ts';
import { agree, endings, type LinkFixture, startLink, untilClosed } from './linkFixture.ts';

let fixture: LinkFixture;
let server: FhirServer;
beforeAll(async () => {
  [fixture, server] = await Promise.all([startLink(), startFhirServer({ data: 'small' })]);
});
afterAll(async () => {
  await fixture.close();
  await server.close();
});

const square = `data:image/svg+xml;base64,${Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" width="32" height="32"><rect width="32" height="32" fill="teal"/></svg>').toString('base64')}`;

async function configureApp(name: string, credentials: Record<string, string>): Promise<string> {
  const operator = await signInOperator(fixture.product);
  const body = appFor(server.url, credentials, { name, logo: square });
  const { status, body: added } = await operator.post('clients/{client}/emr-apps', body);
  expect(status, JSON.stringify(added)).toBe(200);
  const redirect_uris = [`${fixture.product.sandbox.base_url}/link/v1/oauth/callback/${added.id}`];
  server.register({ client_id: 'by-page', redirect_uris });
  return fixture.steps.linkToken({ emr_name: 'fhir', emr_instance_domain: server.url });
}

test('shows one button that opens the EMR’s own page', async () => {
  const token = await configureApp('Hillside Clinic', { way: 'authorization_code', client_id: 'by-page' });
  const window = await fixture.open();
  const frame = await window.start(token);
  await frame.waitForSelector('h1:has-text("Sandbox wants access to Hillside Clinic")');
  await expect.poll(() => frame.innerText('.facts')).toContain(`You sign in at\n${new URL(server.issuer).host}`);
  await agree(frame);
  await frame.waitForSelector('h1:has-text("Sign in to Hillside Clinic")');
  await expect.poll(() => frame.locator('button[type="submit"]').innerText()).toBe('Continue to Hillside Clinic');
  await expect.poll(() => frame.locator('input, .facts, .quiet, details').count()).toBe(0);
  await expect.poll(() => frame.locator('img.emr-logo').count()).toBe(1);
  await expect.poll(() => accessibilityViolations(frame)).toEqual([]);
  const opening = window.page.waitForEvent('popup');
  await window.page.keyboard.press('Enter');
  const popup = await opening;
  const [person] = server.people;
  await popup.fill('input[name="username"]', person?.username ?? '');
  await popup.fill('input[name="password"]', person?.password ?? '');
  await popup.click('button[value="allow"]');
  await untilClosed(window);
  expect((await endings(window))[0]?.[0]).toBe('success');
  await window.close();
});

import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { apiAs, expectSchema } from '../api/support.ts';
import type { Api } from '../harness/api.ts';
import { redirectUri } from '../harness/fhir/registrations.ts';
import { type FhirServer, startFhirServer } from '../harness/fhir/startFhirServer.ts';
import { signInOperator, type TestOperator } from '../harness/operator.ts';
import { startSandbox, type TestSandbox } from '../harness/sandbox.ts';
import { type LinkSteps, linkSteps } from './linkSteps.ts';

type Step = { stage: string; request: string; status: number | null; outcome: string; note?: string };

let fixture: TestSandbox;
let server: FhirServer;
let steps: LinkSteps;
let operator: TestOperator;
beforeAll(async () => {
  [fixture, server] = await Promise.all([
    startSandbox({ small: true, sync_after_link: false }),
    startFhirServer({ data: 'small' }),
  ]);
  steps = linkSteps(fixture);
  operator = await signInOperator(fixture);
  const redirect_uris = [await redirectUri(fixture, server.url)];
  server.register({ client_id: 'by-page', redirect_uris });
});
afterEach(() => server.reset());
afterAll(async () => {
  await fixture.close();
  await server.close();
});

const bySecret = () => ({ way: 'client_secret', ...server.clients.confidential });
const createLinkToken = (body = {}) => steps.linkToken({ emr_name: 'fhir', emr_instance_domain: server.url, ...body });
const signIn = (link_token: string, credentials: Record<string, string>) =>
  steps.signIn(link_token, 0, { credentials, one_time_code: undefined });

async function link(body = {}): Promise<Api & { access_token: string }> {
  const { public_token } = (await signIn(await createLinkToken(body), bySecret())).body;
  const { token } = (await steps.exchange(public_token)).body;
  return { ...apiAs(fixture, { ...fixture.sandbox, access_token: token }), access_token: token };
}

async function readReport(api: Api) {
  const response = await api.call('GET', '/v1/account/connection-report');
  expectSchema('account.connection-report', response);
  return response.body.data as { address: string; steps: Step[]; error_code: string | null };
}

type Listed = { id: string; org_id: string; account_id: string | null; error_code: string | null };

/** The reports that the dashboard lists. */
async function listed(org_id?: string): Promise<Listed[]> {
  const { body } = await operator.get('clients/{client}/connection-reports');
  return body.reports.filter((each: Listed) => org_id === undefined || each.org_id === org_id);
}

describe('a connection report', () => {
  test('the connection report of a linked account lists discovery, scopes and probes', async () => {
    const api = await link();
    const report = await readReport(api);
    expect(report).toMatchObject({ address: server.url, error_code: null });
    expect(report.steps.slice(0, 3)).toMatchObject([
      { stage: 'discovery', request: 'GET [base]/metadata', status: 200, outcome: 'ok' },
      { stage: 'discovery', request: 'GET [base]/.well-known/smart-configuration', status: 200 },
      {
        stage: 'sign_in',
        request: `POST ${server.issuer}/token`,
        note: 'client_credentials, client_secret_basic. Scopes requested: system/*.*. Scopes granted: system/*.*',
      },
    ]);
    expect(report.steps.slice(3)).toContainEqual(
      expect.objectContaining({ stage: 'probe', request: 'GET [base]/Patient?_count=1', status: 200 }),
    );
  });

  test('contains no secret, token or id of a patient', async () => {
    server.ledger.length = 0;
    const text = JSON.stringify(await readReport(await link()));
    const [, token = ''] = /Bearer (\S+)/.exec(server.ledger.at(-1)?.headers.authorization ?? '') ?? [];
    expect(token).toMatch(/^at-/);
    const patients = await server.resources('Patient');
    const secrets = [token, server.clients.confidential.client_secret, ...patients.map(({ id = '-' }) => `"${id}"`)];
    for (const each of secrets) expect(text).not.toContain(each);
    expect(text).not.toMatch(/\/Patient\/(?!_search)/);
  });

  test('is that of the latest sign-in, also of one that failed', async () => {
    const person = { user_id: 'again', org_id: 'again' };
    const api = await link(person);
    const again = await createLinkToken({ ...person, access_token: api.access_token });
    server.faults.client_errors = 'described';
    expect((await signIn(again, { ...bySecret(), client_secret: 'x' })).status).toBe(400);
    const failed = await readReport(api);
    expect(failed.error_code).toBe('emr_secret_refused');
    expect(failed.steps.at(-1)).toMatchObject({ outcome: 'refused', status: 400 });
    expect(failed.steps.at(-1)?.note).toContain('invalid_request: Invalid secret');
    expect((await signIn(again, bySecret())).status).toBe(200);
    expect((await readReport(api)).error_code).toBeNull();
  });

  test('the connection report of an EMR without one is null', async () => {
    expect(await readReport(fixture.api)).toBeNull();
  });

  test('the connection report of a failed link is in the dashboard until the link succeeds', async () => {
    const org_id = 'never-linked';
    const token = await createLinkToken({ org_id });
    server.fail({ kind: 'error_503', path: 'smart-configuration' });
    expect((await signIn(token, bySecret())).status).toBe(503);
    const [listed_report] = await listed(org_id);
    expect(listed_report).toMatchObject({ account_id: null, error_code: 'emr_unavailable' });
    const { report } = (await operator.get(`clients/{client}/connection-reports/${listed_report?.id}`)).body;
    expect(report.error_message).toBe('The EMR responded with an error (503).');
    expect(report.report.steps.at(-1)).toMatchObject({ status: 503, outcome: 'failed' });
    expect((await signIn(token, bySecret())).status).toBe(200);
    expect(await listed(org_id)).toMatchObject([{ account_id: expect.any(String), error_code: null }]);
  });

  test('a link that is opened at a wrong address is reported although nobody can sign in, and still is when it has expired', async () => {
    const addresses = {
      nowhere: ['http://nowhere.localhost:9/fhir', 'emr_host_not_found', /nowhere\.localhost could not be found/],
      'other-server': [fixture.sandbox.base_url, 'emr_address_wrong', /no FHIR server at this address/],
    } as const;
    for (const [org_id, [address, code, cause]] of Object.entries(addresses)) {
      const token = await createLinkToken({ org_id, emr_instance_domain: address });
      expect(await listed(org_id)).toEqual([]);
      // Link's page says so and asks for nothing.
      expect((await steps.consent(token)).status).toBe(400);
      const [listed_report] = await listed(org_id);
      expect(listed_report).toMatchObject({ account_id: null, error_code: code });
      const { report } = (await operator.get(`clients/{client}/connection-reports/${listed_report?.id}`)).body;
      expect(report.error_message).toMatch(cause);
      expect(report.report).toMatchObject({ address, steps: [{ stage: 'discovery', request: 'GET [base]/metadata' }] });
      await fixture.owner`UPDATE link_tokens SET expires_at = now() WHERE org_id = ${org_id}`;
      const { links } = (await operator.get('clients/{client}/overview')).body.overview.attention;
      expect(links).toContainEqual(expect.objectContaining({ org_id, address, code }));
    }
  });

  test('is not shown to another client', async () => {
    await link();
    const [report] = await listed();
    const name = 'Another application';
    expect((await operator.post('clients', { name, mode: 'test' })).status).toBe(200);
    const { clients } = (await operator.get('clients')).body;
    const other = clients.find((each: { name: string }) => each.name === name);
    const path = `clients/${other.client_id}/connection-reports`;
    expect((await operator.get(path)).body.reports).toEqual([]);
    expect((await operator.get(`${path}/${report?.id}`)).status).toBe(404);
  });

  test('the connection report of a failed link is deleted with its link token', async () => {
    const org_id = 'purged';
    expect((await signIn(await createLinkToken({ org_id }), { ...bySecret(), client_secret: 'x' })).status).toBe(400);
    await fixture.owner`DELETE FROM link_tokens WHERE org_id = ${org_id}`;
    expect(await listed(org_id)).toEqual([]);
  });

  test('the connection report of a sign-in on the EMR’s page covers all of its parts', async () => {
    const token = await createLinkToken();
    const credentials = { way: 'authorization_code', client_id: 'by-page' };
    const headers = { access_token: null, client_id: null, client_secret: null, 'link-token': token };
    await steps.consent(token);
    const started = await fixture.api.call('POST', '/link/v1/oauth/start', { headers, body: { credentials } });
    const [person] = server.people;
    const form = new URLSearchParams({ username: person?.username ?? '', password: person?.password ?? '' });
    const page = await fetch(started.body.url, { method: 'POST', body: form, redirect: 'manual' });
    const returned = new URL(page.headers.get('location') ?? '');
    const callback_id = returned.pathname.split('/').at(-1);
    const body = { query: returned.search, window: started.body.window, callback_id };
    expect(
      (await fixture.api.call('POST', '/link/v1/oauth/finish', { headers: { access_token: null }, body })).status,
    ).toBe(200);
    const { public_token } = (await signIn(token, credentials)).body;
    const access_token = (await steps.exchange(public_token)).body.token;
    const report = await readReport(apiAs(fixture, { ...fixture.sandbox, access_token }));
    const requests = report.steps.map(({ request }) => request);
    expect(requests.slice(0, 5)).toEqual([
      'GET [base]/metadata',
      'GET [base]/.well-known/smart-configuration',
      `GET ${server.issuer}/authorize`,
      `POST ${server.issuer}/token`,
      'GET [base]/metadata',
    ]);
    expect(report.steps[2]?.note).toContain('Scopes requested: openid fhirUser offline_access user/*.*');
    expect(requests).toContain('GET [base]/Practitioner/[id]');
    expect(JSON.stringify(report)).not.toContain(new URLSearchParams(returned.search).get('code'));
  });
});

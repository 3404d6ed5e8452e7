import { afterAll, beforeAll, expect, test } from 'vitest';
import { apiAs } from '../api/support.ts';
import type { Api } from '../harness/api.ts';
import { type FhirServer, startFhirServer } from '../harness/fhir/startFhirServer.ts';
import type { TestSandbox } from '../harness/sandbox.ts';
import { sharedSandbox } from '../harness/sharedSandbox.ts';
import { type LinkSteps, linkSteps } from '../linking/linkSteps.ts';
import { stopScheduledSyncs, until } from './support.ts';

let fixture: TestSandbox;
let server: FhirServer;
let steps: LinkSteps;
beforeAll(async () => {
  [fixture, server] = await Promise.all([sharedSandbox(), startFhirServer({ data: 'small' })]);
  steps = linkSteps(fixture);
});
afterAll(async () => {
  for (const org_id of ['fhir-expires', 'fhir-renews']) await stopScheduledSyncs(fixture.owner, org_id);
  await server.close();
});

const person = (user_id: string) => ({ user_id, org_id: user_id, emr_name: 'fhir', emr_instance_domain: server.url });

async function linkAndSync(
  user_id: string,
  credentials: Record<string, string>,
): Promise<Api & { access_token: string }> {
  const link_token = await steps.linkToken(person(user_id));
  const { body } = await steps.signIn(link_token, 0, { credentials, one_time_code: undefined });
  const { token: access_token } = (await steps.exchange(body.public_token)).body;
  const api = apiAs(fixture, { ...fixture.sandbox, access_token });
  // A sync that is still running would renew the token as well.
  await until('the first sync', async () => {
    const [row] = await fixture.owner`SELECT FROM organizations WHERE org_id = ${user_id} AND synced_at IS NOT NULL`;
    return row;
  });
  return { ...api, access_token };
}

test('an account with an expired token is reported once, and its job runs after re-linking', async () => {
  const api = await linkAndSync('fhir-expires', { way: 'bearer_token', bearer_token: server.bearerToken() });
  server.expireTokens('access');
  const body = { first_name: 'Parked', last_name: 'Patient', dob: '1990-01-31', sex: 'female' };
  const accepted = await api.call('POST', '/v1/patients', { body });
  expect(accepted.status, JSON.stringify(accepted.body)).toBe(200);
  await until('the link to expire', async () => (await api.call('GET', '/v1/patients')).status === 403);
  const { body: reported } = await api.call('GET', '/v1/webhook-events?event_type=login_required');
  expect(reported.webhook_events).toMatchObject([
    { data: { emr_name: 'fhir', reason: expect.stringMatching(/bearer token/) } },
  ]);
  expect(server.writes('Patient')).toEqual([]);

  const again = await steps.linkToken({ ...person('fhir-expires'), access_token: api.access_token });
  const credentials = { bearer_token: server.bearerToken() };
  const response = await steps.signIn(again, 0, { credentials, one_time_code: undefined });
  expect(response.status, JSON.stringify(response.body)).toBe(200);
  expect((await api.untilEvent(accepted.body.job_id)).event_type).toBe('patient.created');
  expect(server.writes('Patient')).toHaveLength(1);
});

test('an account that can renew its token continues without an event', async () => {
  const api = await linkAndSync('fhir-renews', { way: 'client_secret', ...server.clients.confidential });
  const before = server.ledger.filter(({ path }) => path.endsWith('/token')).length;
  server.expireTokens('access');
  await api.sync();
  expect(server.ledger.filter(({ path }) => path.endsWith('/token')).length).toBe(before + 1);
  const { body } = await api.call('GET', '/v1/webhook-events?event_type=login_required');
  expect(body.webhook_events).toEqual([]);
});

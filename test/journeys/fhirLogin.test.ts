import { afterAll, beforeAll, expect, test } from 'vitest';
import { type LinkSteps, linkSteps } from '../api/linkSteps.ts';
import { apiOf } from '../api/support.ts';
import type { Api } from '../harness/api.ts';
import { type FhirServer, startFhirServer } from '../harness/fhir/startFhirServer.ts';
import { startSandbox, type TestSandbox } from '../harness/sandbox.ts';
import { until } from './journey.ts';

let world: TestSandbox;
let server: FhirServer;
let steps: LinkSteps;
beforeAll(async () => {
  [world, server] = await Promise.all([startSandbox({ small: true }), startFhirServer({ data: 'small' })]);
  steps = linkSteps(world);
});
afterAll(async () => {
  await world.close();
  await server.close();
});

const person = (user_id: string) => ({ user_id, org_id: user_id, emr_name: 'fhir', emr_instance_domain: server.url });

async function linked(user_id: string, credentials: Record<string, string>): Promise<Api & { access_token: string }> {
  const link_token = await steps.linkToken(person(user_id));
  const { body } = await steps.signIn(link_token, 0, { credentials, one_time_code: undefined });
  const { token: access_token } = (await steps.exchange(body.public_token)).body;
  const api = apiOf(world, { ...world.sandbox, access_token });
  // To its end: one that still runs would renew a token of its own.
  await until('the first sync', async () => {
    const [row] = await world.owner`SELECT FROM organizations WHERE org_id = ${user_id} AND synced_at IS NOT NULL`;
    return row;
  });
  return { ...api, access_token };
}

test('an account whose token has ended asks for a person once, and goes on after the next link where it stood', async () => {
  const api = await linked('ended', { way: 'bearer_token', bearer_token: server.bearerToken() });
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

  const again = await steps.linkToken({ ...person('ended'), access_token: api.access_token });
  const credentials = { bearer_token: server.bearerToken() };
  const answer = await steps.signIn(again, 0, { credentials, one_time_code: undefined });
  expect(answer.status, JSON.stringify(answer.body)).toBe(200);
  expect((await api.untilEvent(accepted.body.job_id)).event_type).toBe('patient.created');
  expect(server.writes('Patient')).toHaveLength(1);
});

test('an account that can renew its token goes on without anybody noticing', async () => {
  const api = await linked('renews', { way: 'client_secret', ...server.clients.confidential });
  const before = server.ledger.filter(({ path }) => path.endsWith('/token')).length;
  server.expireTokens('access');
  await api.sync();
  expect(server.ledger.filter(({ path }) => path.endsWith('/token')).length).toBe(before + 1);
  const { body } = await api.call('GET', '/v1/webhook-events?event_type=login_required');
  expect(body.webhook_events).toEqual([]);
});

import { afterAll, beforeAll, expect, test } from 'vitest';
import { apiAs } from '../../api/support.ts';
import type { Api, ApiResponse } from '../../harness/api.ts';
import { row } from '../../harness/row.ts';
import { startSandbox, type TestSandbox } from '../../harness/sandbox.ts';
import { until } from '../../journeys/support.ts';
import { pauseSyncs } from '../support/pauseSyncs.ts';

type Body = ApiResponse['body'];

let fixture: TestSandbox;
/** A second user of the sandbox's organization, and a user of another organization. */
let colleague: Api;
let other_organization: Api;
beforeAll(async () => {
  fixture = await startSandbox({ small: true });
  await pauseSyncs(fixture, 'list_patients');
  colleague = apiAs(fixture, { access_token: await fixture.api.link({ user_id: 'colleague', staff: 1 }) });
  const access_token = await fixture.api.link({ user_id: 'other-user', org_id: 'another-practice', staff: 2 });
  other_organization = apiAs(fixture, { access_token });
  await until('the first sync', async () => (await readProviders(other_organization)).length > 0);
});
afterAll(() => fixture.close());

const readProviders = async (api: Api): Promise<Body[]> => (await api.call('GET', '/v1/providers')).body.providers;
const readProvider = async (api: Api, ehr_id: string): Promise<Body> =>
  (await readProviders(api)).find((each) => each.ehr_id === ehr_id);

test(row('GEN-17'), async () => {
  const rows = await fixture.owner`SELECT user_id, org_id FROM accounts
    JOIN organizations ON organizations.id = organization_id`;
  expect(Object.fromEntries(rows.map(({ user_id, org_id }) => [user_id, org_id]))).toStrictEqual({
    [fixture.sandbox.user_id]: fixture.sandbox.org_id,
    colleague: fixture.sandbox.org_id,
    'other-user': 'another-practice',
  });
  // Users of one organization see the same records; another organization has records of its own.
  const [own, shared, foreign] = await Promise.all(
    [fixture.api, colleague, other_organization].map((api) => readProvider(api, '501')),
  );
  expect(shared.id).toBe(own.id);
  expect(foreign.id).not.toBe(own.id);
});

test(row('GEN-18'), async () => {
  const settings = async (api: Api) => {
    const { access_token_reference_id, ...shared } = (await api.call('GET', '/v1/settings')).body.data;
    return { access_token_reference_id, shared };
  };
  const [own, theirs] = [await settings(fixture.api), await settings(colleague)];
  expect(theirs.shared).toStrictEqual(own.shared);
  expect(theirs.access_token_reference_id).not.toBe(own.access_token_reference_id);
  // A setting applies to all users of the organization, and not to another organization of the same clinic.
  const body = { status: 'inactive', hide_in_availability: 'true' };
  expect((await colleague.call('PATCH', '/v1/providers/ehr/503', { body })).status).toBe(200);
  for (const api of [fixture.api, colleague]) {
    expect(await readProvider(api, '503')).toMatchObject({ status: 'inactive', hide_in_availability: true });
  }
  expect(await readProvider(other_organization, '503')).toMatchObject({
    status: 'active',
    hide_in_availability: false,
  });
});

import { beforeAll, expect, test } from 'vitest';
import { recordLists } from '../../src/surfaces/api/recordLists.ts';
import { type Api, createApi } from '../harness/api.ts';
import type { TestSandbox } from '../harness/sandbox.ts';
import { sharedSandbox } from '../harness/sharedSandbox.ts';
import { until } from '../journeys/support.ts';
import { newPerson, type Row } from '../spec/patients/charts.ts';
import { withJobsPaused } from '../spec/support/pauseJobs.ts';
import { expectApiError, expectSchema } from './support.ts';

let fixture: TestSandbox;
let api: Api;
/** What the API returned before the first sync of a newly linked organization. */
const before: {
  lists: Map<string, Row>;
  availability: Row;
  settings: Row;
  references: [field: string, response: Row][];
} = { lists: new Map(), availability: undefined, settings: undefined, references: [] };

const days = 'start_date=2031-03-03&end_date=2031-03-07';
/** The parameters that lists require. */
const required: Record<string, string> = {
  '/v1/orders': 'patient_mrn=LK100001',
  '/v1/appointments': days,
  '/v1/referrals': days,
};
const query = (path: string) => (path in required ? `?${required[path]}` : '');

beforeAll(async () => {
  fixture = await sharedSandbox();
  await withJobsPaused(fixture, async () => {
    const access_token = await fixture.api.link({
      user_id: 'first-sync',
      org_id: `first-sync-${Date.now()}`,
      staff: 3,
    });
    api = createApi({ ...fixture.sandbox, access_token });
    for (const { id, path, method } of recordLists) {
      const response = await api.call(method, path + query(path), method === 'POST' ? { body: {} } : {});
      expectSchema(id, response);
      before.lists.set(path, response.body);
    }
    before.availability = (await api.call('GET', `/v1/availability?${days}`)).body;
    before.settings = (await api.call('GET', '/v1/settings')).body;
    before.references = await sendReferences();
  });
});

const hours = [{ day: 'Monday', shifts: [{ start: 'T09:00:00', end: 'T10:00:00', facility_id: '11' }] }];
const some_id = '01a1c5f0a4e87b21b3d94c6f7a8e9012';

/** Requests that refer to records of the EMR, one for each kind of reference. */
async function sendReferences(): Promise<[field: string, response: Row][]> {
  const post = (path: string, body: object) => api.call('POST', path, { body });
  const visit = { mrn: 'LK100001', location: '11', provider: '501', type: 'OV', datetime: '2031-03-03T10:00:00-05:00' };
  return [
    ['provider_id', await api.callIn()],
    ['location', await post('/v1/appointments', visit)],
    [
      'insurance_name',
      await post('/v1/patients/LK100001/insurances', { member_id: 'M', insurance_name: 'Mock Mutual' }),
    ],
    ['insurance_provider_id', await post('/v1/patients', newPerson({ insurance_provider_id: some_id }))],
    ['pcp_id', await post('/v1/patients', newPerson({ pcp_id: some_id }))],
    ['pharmacy_id', await post('/v1/patients', newPerson({ pharmacy_id: '9002' }))],
    ['default_facility_id', await post('/v1/patients', newPerson({ default_facility_id: '11' }))],
    ['ehr_id', await api.call('PATCH', '/v1/providers/ehr/501', { body: { hours } })],
    ['provider_ids', await api.call('GET', `/v1/availability?${days}&provider_ids=501`)],
  ];
}

test('until the first sync, every list is empty and says that the sync is pending', () => {
  for (const [path, body] of before.lists) {
    const name = path.replace('/v1/', '').replace('/search', '').replaceAll('-', '_');
    expect(body, path).toMatchObject({ success: true, [name]: [], sync: { state: 'pending' } });
  }
  expect(before.settings).toMatchObject({ data: { visit_types: [] }, sync: { state: 'pending' } });
  expect(before.availability).toMatchObject({ results: { availability: [] }, sync: { state: 'pending' } });
});

test('until the first sync, a reference is rejected with 409 and the time to retry', () => {
  for (const [field, response] of before.references) {
    expectApiError(response, 409, /^The first sync has not finished reading [a-z ]+\. Try again/, field);
    expect(response.body.code).toBe('first_sync_pending');
    expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0);
  }
});

test('after the first sync, lists say nothing of it, and references resolve or are 404', async () => {
  await until('the first sync', async () => {
    const bodies = await Promise.all(
      recordLists
        .filter(({ method }) => method === 'GET')
        .map(async ({ path }) => (await api.call('GET', path + query(path))).body),
    );
    return bodies.every((body) => body.sync === undefined);
  });
  expect((await api.call('GET', '/v1/claims')).body.pagination.total_count).toBeGreaterThan(0);
  expect((await api.call('GET', '/v1/settings')).body.sync).toBeUndefined();
  expect((await api.call('GET', `/v1/availability?${days}`)).body.sync).toBeUndefined();
  expectApiError(await api.callIn({ provider_id: '999' }), 404, "Provider with EMR ID '999' not found.", 'provider_id');
  expect((await api.callIn()).status).toBe(200);
});

test('a full sync that is due again does not make a list pending', async () => {
  await fixture.owner`UPDATE sync_passes SET full_as_of = NULL`;
  expect((await fixture.api.call('GET', '/v1/providers')).body.sync).toBeUndefined();
});

import type { TSchema } from 'typebox';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { endpoints } from '../../src/api/endpoints.ts';
import type { Endpoint } from '../../src/http/endpoint.ts';
import { record_kinds } from '../../src/model/records/kinds.ts';
import { apiOf, expectRefusal, newClient, type OtherClient } from '../api/support.ts';
import type { Answer, Api } from '../harness/api.ts';
import { startSandbox, type TestSandbox } from '../harness/sandbox.ts';
import { until } from '../journeys/journey.ts';
import { leaveRows } from './leaveRows.ts';

const foreign_word = 'FOREIGNBYTES';

let world: TestSandbox;
let other: OtherClient;
let foreign: { access_token: string; api: Api; ids: string[]; secrets: string[]; appointment_id: string };
/** Of this client, in this organization, but another user's. */
let colleague: { access_token: string; ids: string[] };
let revoked_token: string;

beforeAll(async () => {
  world = await startSandbox();
  other = await newClient(world);
  foreign = await layForeign();
  const access_token = await world.api.link({ user_id: 'colleague', staff: 2 });
  const left = await leaveRows(apiOf(world, { access_token }));
  colleague = { access_token, ids: [`${left.job_id}`, left.event_id] };
  revoked_token = await world.api.link({ user_id: 'revoked-user', staff: 3 });
  await world.owner`UPDATE accounts SET status = 'revoked' WHERE user_id = 'revoked-user'`;
  await world.owner`SELECT pg_notify('chartwire_access', '')`;
  const headers = { access_token: revoked_token };
  await until('the token to die', async () => (await world.api.call('GET', '/v1/staff', { headers })).status === 401);
});
afterAll(() => world.close());

/** Tables of the kinds that the API returns. */
const record_tables = record_kinds.filter((kind) => kind.list ?? kind.mrn_column).map((kind) => kind.name);

/** Another client with data of every kind, each of which holds the foreign word. */
async function layForeign(): Promise<typeof foreign> {
  const access_token = await other.api.link({ user_id: foreign_word, org_id: foreign_word, staff: 1 });
  const api = apiOf(world, { client_id: other.client_id, client_secret: other.client_secret, access_token });
  const left = await leaveRows(api, {}, { reason: foreign_word });
  const webhook_url = `http://127.0.0.1:9/${foreign_word}`;
  const hook = (await api.call('POST', '/v1/webhook', { body: { webhook_url } })).body;
  const ids = [`${left.job_id}`, left.event_id, left.webhook_id, hook.webhook_id];
  // What is planted while the first sync still runs would be taken for gone.
  await until('the first sync', async () => {
    const [row] = await world.owner`SELECT FROM organizations WHERE client_id = ${other.id} AND synced_at IS NOT NULL`;
    return row;
  });
  for (const table of record_tables) {
    await world.owner`UPDATE ${world.owner(table)}
      SET ehr_id = ${foreign_word} || ehr_id,
          doc = ((doc::jsonb || jsonb_build_object('name', ${foreign_word}::text, 'last_name', ${foreign_word}::text))
                 - ${table === 'patients' ? 'name' : 'last_name'}::text)::json
      WHERE client_id = ${other.id}`;
    const [row] = await world.owner<
      { id: string; ehr_id: string }[]
    >`SELECT id, ehr_id FROM ${world.owner(table)} WHERE client_id = ${other.id} LIMIT 1`;
    ids.push(row?.id ?? '', row?.ehr_id ?? '');
  }
  await world.owner`UPDATE orders SET patient_mrn = ${foreign_word} WHERE client_id = ${other.id}`;
  const [appointment] = await world.owner<
    { id: string }[]
  >`SELECT id FROM appointments WHERE client_id = ${other.id} LIMIT 1`;
  await world.owner`UPDATE patients SET mrn = ${foreign_word} || mrn, last_folded = ${foreign_word.toLowerCase()}
    WHERE client_id = ${other.id}`;
  // A part of it, for searches by a part of a name; the rest of the word is what is hunted then.
  ids.push('FOREIGN');
  const secrets = [left.webhook_secret, hook.webhook_secret, access_token];
  return { access_token, api, ids, secrets, appointment_id: appointment?.id ?? '' };
}

type Schema = TSchema & {
  type?: string;
  enum?: unknown[];
  const?: unknown;
  anyOf?: Schema[];
  items?: Schema;
  format?: string;
  description?: string;
  minimum?: number;
  required?: string[];
  properties?: Record<string, Schema>;
};

/** Something that fits a schema, with its required fields only. */
function sample(schema: Schema | undefined): unknown {
  if (schema?.const !== undefined) return schema.const;
  if (schema?.enum) return schema.enum[0];
  if (schema?.anyOf) return sample(schema.anyOf[0]);
  if (schema?.type === 'integer' || schema?.type === 'number') return schema.minimum ?? 1;
  if (schema?.type === 'boolean') return true;
  if (schema?.type === 'array') return [sample(schema.items)];
  if (schema?.type === 'object') {
    // A body in which nothing is required must still say something.
    const names = schema.required ?? Object.keys(schema.properties ?? {}).slice(0, 1);
    return Object.fromEntries(names.map((name) => [name, sample(schema.properties?.[name])]));
  }
  if (schema?.description?.startsWith('`active`')) return 'active';
  return schema?.format === 'date' ? '2026-01-31' : 'sample';
}

type Sent = { params?: Record<string, string>; query?: Record<string, unknown>; body?: Record<string, unknown> };

function call(api: Api, endpoint: Endpoint, headers: Record<string, string | null>, sent: Sent = {}): Promise<Answer> {
  const path = endpoint.path.replaceAll(/\{(\w+)\}/g, (_, name) => encodeURIComponent(sent.params?.[name] ?? 'sample'));
  const query = { ...(sample(endpoint.query) as object | undefined), ...sent.query };
  const asked = endpoint.query ? `?${new URLSearchParams(query as Record<string, string>)}` : '';
  const body = endpoint.body && { body: { ...(sample(endpoint.body as Schema) as object), ...sent.body } };
  return api.call(endpoint.method, path + asked, { headers, ...body });
}

/** Nothing of the other client's, except what this client itself sent. */
function expectNothingForeign(answer: Answer, sent: string, where: string): void {
  const text = JSON.stringify(answer.body).replaceAll(sent, '');
  for (const planted of [...foreign.secrets, 'BYTES']) expect(text, where).not.toContain(planted);
  expect(answer.status, where).toBeLessThan(500);
}

/** Fields that may name a record; in the others an id is mere text. */
const refers = /(id|ids|mrn|token|provider|location|type|types|url|domain|key)$/;

const guarded = endpoints.filter((endpoint) => endpoint.auth !== 'none');
const cases = guarded.map((endpoint) => [`${endpoint.method} ${endpoint.path}`, endpoint] as const);

test('the hunt can find: the other client itself is shown the foreign word', async () => {
  const paths = record_tables.map((table) => {
    if (table === 'appointments') return `appointments/${foreign.appointment_id}`;
    return table === 'orders' ? `orders?patient_mrn=${foreign_word}` : table.replaceAll('_', '-');
  });
  for (const path of [...paths, 'settings', 'webhook', 'webhook-events']) {
    const { status, body } = await foreign.api.call('GET', `/v1/${path}`);
    expect(status, path).toBe(200);
    expect(JSON.stringify(body), path).toContain(foreign_word);
  }
});

describe('strangers', () => {
  test.each(cases)('%s: without credentials 401', async (_name, endpoint) => {
    const none = { client_id: null, client_secret: null, access_token: null };
    expectRefusal(await call(world.api, endpoint, none), 401, 'Invalid client credentials.');
    const token_alone = { client_id: null, client_secret: null };
    expectRefusal(await call(world.api, endpoint, token_alone), 401, 'Invalid client credentials.');
    expectRefusal(
      await call(world.api, endpoint, { client_secret: other.client_secret }),
      401,
      'Invalid client credentials.',
    );
  });

  test.each(cases)('%s: without an access token 401 where one is needed', async (_name, endpoint) => {
    const answer = await call(world.api, endpoint, { access_token: null });
    if (endpoint.auth === 'account') expectRefusal(answer, 401, 'Missing access_token header.');
    else expect(answer.status).not.toBe(401);
    expect(answer.status).toBeLessThan(500);
  });

  test.each(cases)("%s: with another client's access token, or a revoked one, 401", async (_name, endpoint) => {
    for (const access_token of [foreign.access_token, revoked_token, 'nonsense']) {
      for (const id of ['sample', ...foreign.ids]) {
        const params = Object.fromEntries(Object.keys(endpoint.params?.properties ?? {}).map((name) => [name, id]));
        expectRefusal(await call(world.api, endpoint, { access_token }, { params }), 401, 'User not found.');
        if (!endpoint.params) break;
      }
    }
  });
});

describe("another client's records are as absent", () => {
  test.each(cases.filter(([, endpoint]) => endpoint.params))(
    '%s: 404 for every foreign id in its path',
    async (name, endpoint) => {
      for (const id of foreign.ids) {
        const params = Object.fromEntries(Object.keys(endpoint.params?.properties ?? {}).map((each) => [each, id]));
        const answer = await call(world.api, endpoint, {}, { params });
        // Whom an MRN means only the EMR can tell, later: here it is as good as any other.
        if (!('patient_mrn' in params)) expect(answer.status, `${name} ${id}`).toBe(404);
        const unknown = await call(
          world.api,
          endpoint,
          {},
          { params: Object.fromEntries(Object.keys(params).map((each) => [each, 'unknown'])) },
        );
        expect(answer.status).toBe(unknown.status);
        expect(answer.body.message.replace(id, '')).toBe(unknown.body.message.replace('unknown', ''));
        expectNothingForeign(answer, id, `${name} ${id}`);
      }
    },
  );

  test.each(cases.filter(([, endpoint]) => endpoint.query))(
    '%s: no foreign bytes for any foreign id in its query',
    async (name, endpoint) => {
      for (const field of Object.keys(endpoint.query?.properties ?? {})) {
        for (const id of foreign.ids) {
          const answer = await call(world.api, endpoint, {}, { query: { [field]: id } });
          expectNothingForeign(answer, id, `${name} ${field}=${id}`);
        }
      }
    },
  );

  test.each(cases.filter(([, endpoint]) => endpoint.body))(
    '%s: no foreign bytes for any foreign id in its body',
    async (name, endpoint) => {
      const fields = Object.keys(endpoint.body?.properties ?? {}).filter((field) => refers.test(field));
      for (const field of fields) {
        for (const id of [...foreign.ids, foreign.access_token]) {
          const answer = await call(world.api, endpoint, {}, { body: { [field]: id } });
          expectNothingForeign(answer, id, `${name} ${field}=${id}`);
        }
      }
    },
  );

  test('a write cannot name them', async () => {
    const { example } = world.sandbox;
    for (const [field, noun] of [
      ['provider_id', 'Provider with EMR ID'],
      ['location_id', 'Location with EMR ID'],
      ['assigned_to_id', 'Staff member with ID'],
    ] as const) {
      const id = `${foreign_word}${example[field]}`;
      expectRefusal(await world.api.callIn({ [field]: id }), 404, `${noun} '${id}' not found.`);
    }
    const pharmacy_ehr_id = `${foreign_word}${example.pharmacy_ehr_id}`;
    const answer = await world.api.callIn({ pharmacy_ehr_id });
    expectRefusal(answer, 404, `Pharmacy with EMR ID '${pharmacy_ehr_id}' not found.`);
  });
});

describe("a colleague's jobs and events", () => {
  test('are seen with the colleague’s access token only', async () => {
    const [job_id = '', event_id = ''] = colleague.ids;
    const own = await world.api.call('GET', `/v1/jobs/${job_id}`);
    expectRefusal(own, 404, `Job with ID '${job_id}' not found.`);
    const events = await world.api.call('GET', `/v1/webhook-events?job_id=${job_id}`);
    expect(events.body.webhook_events).toStrictEqual([]);
    const resent = await world.api.call('POST', `/v1/webhook-events/${event_id}/resend`, { body: {} });
    expectRefusal(resent, 404, `Event with ID '${event_id}' not found.`);
    const theirs = apiOf(world, { access_token: colleague.access_token });
    expect((await theirs.call('GET', `/v1/jobs/${job_id}`)).status).toBe(200);
  });
});

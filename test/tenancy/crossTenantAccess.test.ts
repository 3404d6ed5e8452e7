import type { TSchema } from 'typebox';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Endpoint } from '../../src/http/endpoint.ts';
import { record_kinds } from '../../src/model/records/kinds.ts';
import { endpoints } from '../../src/surfaces/api/endpoints.ts';
import { apiAs, expectApiError, newClient, type OtherClient } from '../api/support.ts';
import type { Api, ApiResponse } from '../harness/api.ts';
import { startSandbox, type TestSandbox } from '../harness/sandbox.ts';
import { until } from '../journeys/support.ts';
import { insertRows } from './insertRows.ts';

const foreign_word = 'FOREIGNBYTES';

let fixture: TestSandbox;
let other: OtherClient;
let foreign: { access_token: string; api: Api; ids: string[]; secrets: string[]; appointment_id: string };
/** Another user of the same client and organization. */
let colleague: { access_token: string; ids: string[] };
let revoked_token: string;

beforeAll(async () => {
  fixture = await startSandbox({ small: true });
  other = await newClient(fixture);
  foreign = await createForeignRecords();
  const access_token = await fixture.api.link({ user_id: 'colleague', staff: 2 });
  const inserted = await insertRows(apiAs(fixture, { access_token }));
  colleague = { access_token, ids: [`${inserted.job_id}`, inserted.event_id] };
  revoked_token = await fixture.api.link({ user_id: 'revoked-user', staff: 3 });
  await fixture.owner`UPDATE accounts SET status = 'revoked' WHERE user_id = 'revoked-user'`;
  await fixture.owner`SELECT pg_notify('chartwire_access', '')`;
  const headers = { access_token: revoked_token };
  await until(
    'the token to be rejected',
    async () => (await fixture.api.call('GET', '/v1/staff', { headers })).status === 401,
  );
});
afterAll(() => fixture.close());

/** Tables of the kinds that the API returns. */
const record_tables = record_kinds.filter((kind) => kind.list ?? kind.mrn_column).map((kind) => kind.name);

/** Creates records of every kind for another client, each containing the foreign word. */
async function createForeignRecords(): Promise<typeof foreign> {
  const access_token = await other.api.link({ user_id: foreign_word, org_id: foreign_word, staff: 1 });
  const api = apiAs(fixture, { client_id: other.client_id, client_secret: other.client_secret, access_token });
  const inserted = await insertRows(api, {}, { reason: foreign_word });
  const webhook_url = `http://127.0.0.1:9/${foreign_word}`;
  const hook = (await api.call('POST', '/v1/webhook', { body: { webhook_url } })).body;
  const ids = [`${inserted.job_id}`, inserted.event_id, inserted.webhook_id, hook.webhook_id];
  // A running first sync would delete the changed records.
  await until('the first sync', async () => {
    const [row] =
      await fixture.owner`SELECT FROM organizations WHERE client_id = ${other.id} AND synced_at IS NOT NULL`;
    return row;
  });
  for (const table of record_tables) {
    await fixture.owner`UPDATE ${fixture.owner(table)}
      SET ehr_id = ${foreign_word} || ehr_id,
          doc = ((doc::jsonb || jsonb_build_object('name', ${foreign_word}::text, 'last_name', ${foreign_word}::text))
                 - ${table === 'patients' ? 'name' : 'last_name'}::text)::json
      WHERE client_id = ${other.id}`;
    const [row] = await fixture.owner<
      { id: string; ehr_id: string }[]
    >`SELECT id, ehr_id FROM ${fixture.owner(table)} WHERE client_id = ${other.id} LIMIT 1`;
    ids.push(row?.id ?? '', row?.ehr_id ?? '');
  }
  await fixture.owner`UPDATE patient_insurances SET patient_ehr_id = ${foreign_word} || patient_ehr_id
    WHERE client_id = ${other.id}`;
  await fixture.owner`UPDATE orders SET patient_mrn = ${foreign_word} WHERE client_id = ${other.id}`;
  const [appointment] = await fixture.owner<
    { id: string }[]
  >`SELECT id FROM appointments WHERE client_id = ${other.id} LIMIT 1`;
  await fixture.owner`UPDATE patients SET mrn = ${foreign_word} || mrn, last_folded = ${foreign_word.toLowerCase()}
    WHERE client_id = ${other.id}`;
  // For searches by a part of a name; responses are then checked for the rest of the word.
  ids.push('FOREIGN');
  const secrets = [inserted.webhook_secret, hook.webhook_secret, access_token];
  return { access_token, api, ids, secrets, appointment_id: appointment?.id ?? '' };
}

type Schema = TSchema & {
  type?: string;
  enum?: unknown[];
  const?: unknown;
  anyOf?: Schema[];
  items?: Schema;
  format?: string;
  examples?: unknown[];
  minimum?: number;
  required?: string[];
  properties?: Record<string, Schema>;
};

/** A value that matches a schema, with required fields only. */
function sample(schema: Schema | undefined): unknown {
  if (schema?.const !== undefined) return schema.const;
  if (schema?.enum) return schema.enum[0];
  if (schema?.anyOf) return sample(schema.anyOf[0]);
  if (schema?.type === 'integer' || schema?.type === 'number') return schema.minimum ?? 1;
  if (schema?.type === 'boolean') return true;
  if (schema?.type === 'array') return [sample(schema.items)];
  if (schema?.type === 'object') {
    // A body without required fields must not be empty.
    const names = schema.required ?? Object.keys(schema.properties ?? {}).slice(0, 1);
    return Object.fromEntries(names.map((name) => [name, sample(schema.properties?.[name])]));
  }
  if (schema?.format === 'date') return '2026-01-31';
  return schema?.examples?.[0] ?? 'sample';
}

type Sent = { params?: Record<string, string>; query?: Record<string, unknown>; body?: Record<string, unknown> };

function call(
  api: Api,
  endpoint: Endpoint,
  headers: Record<string, string | null>,
  sent: Sent = {},
): Promise<ApiResponse> {
  const path = endpoint.path.replaceAll(/\{(\w+)\}/g, (_, name) => encodeURIComponent(sent.params?.[name] ?? 'sample'));
  const { dry_run: _, ...sampled } = (sample(endpoint.query) ?? {}) as Record<string, unknown>;
  const query = { ...sampled, ...sent.query };
  const query_string = endpoint.query ? `?${new URLSearchParams(query as Record<string, string>)}` : '';
  const body = endpoint.body && { body: { ...(sample(endpoint.body as Schema) as object), ...sent.body } };
  return api.call(endpoint.method, path + query_string, { headers, ...body });
}

/** Checks that a response contains nothing of the other client, except what was sent. */
function expectNothingForeign(response: ApiResponse, sent: string, where: string): void {
  const text = JSON.stringify(response.body).replaceAll(sent, '');
  for (const part of [...foreign.secrets, 'BYTES']) expect(text, where).not.toContain(part);
  expect(response.status, where).toBeLessThan(500);
}

/** Fields that may refer to a record. */
const reference_fields = /(id|ids|mrn|token|provider|location|type|types|url|domain|key)$/;

/** The fields that any text fits in. In others an id is invalid, whoever owns it. */
function textFields(schema: TSchema | undefined): string[] {
  const takesText = ({ type, anyOf, enum: choices, format, items }: Schema): boolean => {
    if (anyOf) return anyOf.some(takesText);
    return type === 'array' ? items !== undefined && takesText(items) : type === 'string' && !choices && !format;
  };
  const { properties = {} } = (schema ?? {}) as Schema;
  return Object.keys(properties).filter((name) => takesText(properties[name] as Schema));
}

// A stream has no end: test/webhooks/eventStream.test.ts checks its tenancy.
const authenticated = endpoints.filter((endpoint) => endpoint.auth !== 'none' && !endpoint.stream);
const cases = authenticated.map((endpoint) => [`${endpoint.method} ${endpoint.path}`, endpoint] as const);

test('the other client itself can read the foreign word', async () => {
  const paths = record_tables.map((table) => {
    if (table === 'appointments') return `appointments/${foreign.appointment_id}`;
    if (table === 'patient_insurances')
      return `patients/${foreign_word}${fixture.sandbox.example.patient_mrn}/insurances`;
    if (table === 'referrals') return 'referrals?start_date=2020-01-01&end_date=2099-12-31';
    return table === 'orders' ? `orders?patient_mrn=${foreign_word}` : table.replaceAll('_', '-');
  });
  for (const path of [...paths, 'settings', 'webhook', 'webhook-events']) {
    const { status, body } = await foreign.api.call('GET', `/v1/${path}`);
    expect(status, path).toBe(200);
    expect(JSON.stringify(body), path).toContain(foreign_word);
  }
});

describe('authentication', () => {
  test.each(cases)('%s returns 401 without credentials', async (_name, endpoint) => {
    const none = { client_id: null, client_secret: null, access_token: null };
    expectApiError(await call(fixture.api, endpoint, none), 401, 'Invalid client credentials.');
    const token_alone = { client_id: null, client_secret: null };
    expectApiError(await call(fixture.api, endpoint, token_alone), 401, 'Invalid client credentials.');
    expectApiError(
      await call(fixture.api, endpoint, { client_secret: other.client_secret }),
      401,
      'Invalid client credentials.',
    );
  });

  test.each(cases)('%s returns 401 without an access token if it requires one', async (_name, endpoint) => {
    const response = await call(fixture.api, endpoint, { access_token: null });
    if (endpoint.auth === 'account') expectApiError(response, 401, 'Missing access_token header.');
    else expect(response.status).not.toBe(401);
    expect(response.status).toBeLessThan(500);
  });

  test.each(cases)("%s returns 401 with another client's access token or a revoked one", async (_name, endpoint) => {
    for (const access_token of [foreign.access_token, revoked_token, 'nonsense']) {
      for (const id of ['sample', ...foreign.ids]) {
        const params = Object.fromEntries(Object.keys(endpoint.params?.properties ?? {}).map((name) => [name, id]));
        expectApiError(await call(fixture.api, endpoint, { access_token }, { params }), 401, 'User not found.');
        if (!endpoint.params) break;
      }
    }
  });
});

describe("another client's records", () => {
  test.each(cases.filter(([, endpoint]) => endpoint.params))(
    '%s returns 404 for every foreign id in the path',
    async (name, endpoint) => {
      const withId = (id: string) => {
        const params = Object.fromEntries(Object.keys(endpoint.params?.properties ?? {}).map((each) => [each, id]));
        return call(fixture.api, endpoint, {}, { params });
      };
      const unknown = await withId('unknown');
      for (const id of foreign.ids) {
        const response = await withId(id);
        // An unknown MRN is accepted here and rejected by the EMR later.
        if (!('patient_mrn' in (endpoint.params?.properties ?? {}))) expect(response.status, `${name} ${id}`).toBe(404);
        expect(response.status).toBe(unknown.status);
        expect(response.body.message.replace(id, '')).toBe(unknown.body.message.replace('unknown', ''));
        expectNothingForeign(response, id, `${name} ${id}`);
      }
    },
  );

  test.each(cases.filter(([, endpoint]) => endpoint.query))(
    '%s returns no foreign data for any foreign id in the query',
    async (name, endpoint) => {
      for (const field of textFields(endpoint.query)) {
        for (const id of foreign.ids) {
          const response = await call(fixture.api, endpoint, {}, { query: { [field]: id } });
          expectNothingForeign(response, id, `${name} ${field}=${id}`);
        }
      }
    },
  );

  test.each(cases.filter(([, endpoint]) => endpoint.body))(
    '%s returns no foreign data for any foreign id in the body',
    async (name, endpoint) => {
      for (const field of textFields(endpoint.body).filter((name) => reference_fields.test(name))) {
        for (const id of [...foreign.ids, foreign.access_token]) {
          const response = await call(fixture.api, endpoint, {}, { body: { [field]: id } });
          expectNothingForeign(response, id, `${name} ${field}=${id}`);
        }
      }
    },
  );

  test('cannot be referred to by a write', async () => {
    const { example } = fixture.sandbox;
    for (const [field, noun] of [
      ['provider_id', 'Provider with EMR ID'],
      ['location_id', 'Location with EMR ID'],
      ['assigned_to_id', 'Staff member with ID'],
    ] as const) {
      const id = `${foreign_word}${example[field]}`;
      expectApiError(await fixture.api.callIn({ [field]: id }), 404, `${noun} '${id}' not found.`);
    }
    const pharmacy_ehr_id = `${foreign_word}${example.pharmacy_ehr_id}`;
    const response = await fixture.api.callIn({ pharmacy_ehr_id });
    expectApiError(response, 404, `Pharmacy with EMR ID '${pharmacy_ehr_id}' not found.`);
  });
});

describe("a colleague's jobs and events", () => {
  test('are visible only with the colleague’s access token', async () => {
    const [job_id = '', event_id = ''] = colleague.ids;
    const own = await fixture.api.call('GET', `/v1/jobs/${job_id}`);
    expectApiError(own, 404, `Job with ID '${job_id}' not found.`);
    const events = await fixture.api.call('GET', `/v1/webhook-events?job_id=${job_id}`);
    expect(events.body.webhook_events).toStrictEqual([]);
    const resent = await fixture.api.call('POST', `/v1/webhook-events/${event_id}/resend`, { body: {} });
    expectApiError(resent, 404, `Event with ID '${event_id}' not found.`);
    const colleague_api = apiAs(fixture, { access_token: colleague.access_token });
    expect((await colleague_api.call('GET', `/v1/jobs/${job_id}`)).status).toBe(200);
  });
});

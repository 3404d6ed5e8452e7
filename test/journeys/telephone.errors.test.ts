import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { endpoints } from '../../src/api/endpoints.ts';
import type { Connector } from '../../src/connectors/connector.ts';
import { larkspur } from '../../src/connectors/larkspur/larkspur.ts';
import { openLookups } from '../../src/db/lookups.ts';
import { buildServer } from '../../src/http/server.ts';
import { openApi } from '../harness/api.ts';
import { startSandbox, type TestSandbox } from '../harness/sandbox.ts';
import { countRows } from './journey.ts';

let world: TestSandbox;
beforeAll(async () => {
  world = await startSandbox();
});
afterAll(() => world.close());

type Refused = { status: number; message: string; code: string; field?: string };

/** Sends it with a key, so that also the key would be found if it were kept. */
async function expectRefusal(fields: Record<string, unknown>, refused: Refused, headers = {}) {
  const before = await countRows(world.owner);
  const answer = await world.api.callIn(fields, { 'idempotency-key': randomUUID(), ...headers });
  expect(answer.status, JSON.stringify(answer.body)).toBe(refused.status);
  const { status: _status, ...told } = refused;
  expect(answer.body).toStrictEqual({ success: false, ...told, request_id: answer.headers.get('x-request-id') });
  expect(await countRows(world.owner)).toStrictEqual(before);
}

const required = ['patient_mrn', 'provider_id', 'location_id', 'assigned_to_id'];
const invalid = (field: string, message: string): Refused => ({ status: 400, message, code: 'invalid_field', field });
const missing = (field: string): Refused => ({
  status: 400,
  message: `Missing required field: ${field}`,
  code: 'missing_field',
  field,
});
const rows: [string, Record<string, unknown>, Refused][] = [
  ...required.flatMap((field): [string, Record<string, unknown>, Refused][] => [
    [`${field} is missing`, { [field]: undefined }, missing(field)],
    [`${field} is null`, { [field]: null }, missing(field)],
    [`${field} is empty`, { [field]: '' }, missing(field)],
  ]),
  [
    'the reason is longer than 50 characters',
    { reason: 'r'.repeat(51) },
    invalid('reason', 'Reason exceeds maximum length of 50 characters'),
  ],
  [
    'the medication is shorter than 2',
    { refill_medication_name: 'L' },
    invalid('refill_medication_name', 'refill_medication_name must be at least 2 characters'),
  ],
  [
    'the medication is longer than 50',
    { refill_medication_name: 'L'.repeat(51) },
    invalid('refill_medication_name', 'refill_medication_name exceeds maximum length of 50 characters'),
  ],
  [
    'the caller is longer than 100 characters',
    { caller: 'c'.repeat(101) },
    invalid('caller', 'caller exceeds maximum length of 100 characters'),
  ],
  ...['patient_mrn', 'message', 'template_name'].map((field): [string, Record<string, unknown>, Refused] => [
    `${field} is longer than 2,000 characters`,
    { [field]: 'x'.repeat(2001) },
    invalid(field, `${field} exceeds maximum length of 2000 characters`),
  ]),
  [
    'the provider is unknown',
    { provider_id: '599' },
    { status: 404, message: "Provider with EMR ID '599' not found.", code: 'provider_not_found', field: 'provider_id' },
  ],
  [
    'the staff member is unknown',
    { assigned_to_id: '799' },
    {
      status: 404,
      message: "Staff member with ID '799' not found.",
      code: 'staff_not_found',
      field: 'assigned_to_id',
    },
  ],
  [
    'the location is unknown',
    { location_id: '99' },
    { status: 404, message: "Location with EMR ID '99' not found.", code: 'location_not_found', field: 'location_id' },
  ],
  [
    'the pharmacy is unknown',
    { pharmacy_ehr_id: '9999' },
    {
      status: 404,
      message: "Pharmacy with EMR ID '9999' not found.",
      code: 'pharmacy_not_found',
      field: 'pharmacy_ehr_id',
    },
  ],
  [
    'a field is unknown',
    { refil_medication_name: 'Lisinopril' },
    {
      status: 400,
      message: 'Unexpected fields in request body: refil_medication_name',
      code: 'unexpected_fields',
      field: 'refil_medication_name',
    },
  ],
];

describe('a telephone encounter is refused, and nothing of it is stored, when', () => {
  test.each(rows)('%s', async (_title, fields, refused) => {
    await expectRefusal(fields, refused);
  });

  test.each([
    ['TRUE', 'is_high_priority must be one of: true, false'],
    ['yes', 'is_high_priority must be one of: true, false'],
    [true, undefined],
    [1, undefined],
  ])('is_high_priority is %j', async (is_high_priority, message) => {
    const before = await countRows(world.owner);
    const answer = await world.api.callIn({ is_high_priority });
    expect(answer.status).toBe(400);
    expect(answer.body).toMatchObject({ code: 'invalid_field', field: 'is_high_priority' });
    if (message !== undefined) expect(answer.body.message).toBe(message);
    expect(await countRows(world.owner)).toStrictEqual(before);
  });

  test('the access token is unknown', async () => {
    const refused = { status: 401, message: 'User not found.', code: 'access_token_invalid' };
    await expectRefusal({}, refused, { access_token: 'no-such-token' });
  });

  test('the account is of an EMR without telephone encounters, which is told before unknown references', async () => {
    // An EMR that can be linked but offers nothing, until a second real one is there to show it.
    const plain: Connector = { ...larkspur, name: 'plain', display_name: 'Plain', capabilities: [], open: () => ({}) };
    const connectors = new Map([...world.ctx.connectors, ['plain', plain]]);
    const server = buildServer({ ...world.ctx, connectors, lookups: openLookups() }, endpoints);
    const base_url = await server.listen({ host: '127.0.0.1', port: 0 });
    await world.owner`UPDATE organizations SET connector = 'plain'`;
    try {
      const api = openApi({ ...world.sandbox, base_url });
      const before = await countRows(world.owner);
      const told = { success: false, code: 'restricted_operation', request_id: expect.any(String) };
      const message = 'Telephone encounters are only supported for Larkspur EMR.';
      for (const fields of [{}, { provider_id: '599' }]) {
        const answer = await api.callIn(fields);
        expect(answer.status).toBe(400);
        expect(answer.body).toStrictEqual({ ...told, message });
      }
      expect((await api.callIn({ reason: 'r'.repeat(51) })).body.code).toBe('invalid_field');
      expect(await countRows(world.owner)).toStrictEqual(before);
    } finally {
      await world.owner`UPDATE organizations SET connector = 'larkspur'`;
      await server.close();
    }
  });
});

describe('of several faults', () => {
  test('the first in the documented order is told, each after the one before it is mended', async () => {
    const wrong: Record<string, unknown> = {
      patient_mrn: undefined,
      provider_id: undefined,
      location_id: undefined,
      assigned_to_id: undefined,
      reason: 'r'.repeat(51),
      refill_medication_name: 'L',
      caller: 'c'.repeat(101),
      is_high_priority: 'maybe',
      pharmacy_ehr_id: '9999',
    };
    const mended = [
      ['patient_mrn', world.sandbox.example.patient_mrn],
      ['provider_id', '599'],
      ['location_id', '99'],
      ['assigned_to_id', '799'],
      ['reason', 'Cough'],
      ['refill_medication_name', 'Lisinopril'],
      ['caller', 'A caller'],
      ['is_high_priority', 'false'],
      ['provider_id', '501'],
      ['assigned_to_id', '703'],
      ['location_id', '11'],
      ['pharmacy_ehr_id', '9002'],
    ] as const;
    for (const [field, value] of mended) {
      const answer = await world.api.callIn(wrong);
      expect(answer.body.field, JSON.stringify(answer.body)).toBe(field);
      wrong[field] = value;
    }
    expect((await world.api.callIn(wrong)).status).toBe(200);
  });
});

describe('limits are of characters', () => {
  test.each([
    ['reason', 0],
    ['reason', 50],
    ['refill_medication_name', 2],
    ['refill_medication_name', 50],
    ['caller', 100],
    ['message', 2000],
    ['template_name', 2000],
  ])('%s may have %i, of any alphabet', async (field, length) => {
    for (const character of ['x', 'é', '語', '💊']) {
      const answer = await world.api.callIn({ [field]: character.repeat(length) });
      expect(answer.status, `${character}: ${JSON.stringify(answer.body)}`).toBe(200);
      const event = await world.api.untilEvent(answer.body.job_id);
      // An unknown medication is for the EMR to tell; the length of its name was accepted.
      const expected = field.startsWith('refill') ? 'Available medications' : '"emr_encounter_id"';
      expect(JSON.stringify(event.data)).toContain(expected);
    }
  });

  test.each([
    ['reason', 51],
    ['refill_medication_name', 51],
    ['refill_medication_name', 1],
    ['caller', 101],
    ['message', 2001],
    ['template_name', 2001],
  ])('%s may not have %i, of any alphabet', async (field, length) => {
    for (const character of ['x', 'é', '語', '💊']) {
      const answer = await world.api.callIn({ [field]: character.repeat(length) });
      expect(answer.status, `${character}: ${JSON.stringify(answer.body)}`).toBe(400);
      expect(answer.body.field).toBe(field);
    }
  });
});

describe('a provider that the EMR has gained', () => {
  test('is refused before a sync and accepted after it', async () => {
    const { api } = world;
    const added = await api.control('POST', '/control/providers', { displayName: 'Nova Newcomer, MD' });
    const provider_id = added.body.providerId;
    expect((await api.callIn({ provider_id })).body.message).toBe(`Provider with EMR ID '${provider_id}' not found.`);
    const sync = await api.call('POST', '/v1/sync');
    expect((await api.untilEvent(sync.body.job_id)).event_type).toBe('sync.completed');
    const accepted = await api.callIn({ provider_id });
    expect(accepted.status).toBe(200);
    expect((await api.untilEvent(accepted.body.job_id)).data.provider_id).toBe(provider_id);
  });
});

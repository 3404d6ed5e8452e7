import { afterAll, beforeAll, expect, test } from 'vitest';
import { expectRefusal } from '../../api/support.ts';
import type { Api } from '../../harness/api.ts';
import { linkPlainEmr } from '../../harness/plainEmr.ts';
import { row } from '../../harness/row.ts';
import { startSandbox, type TestSandbox } from '../../harness/sandbox.ts';
import { acceptedWork } from '../support/databaseState.ts';
import { quietSyncs } from '../support/pauseSyncs.ts';

let world: TestSandbox;
/** An account of an EMR that has no telephone encounters. */
let plain: Api;
beforeAll(async () => {
  world = await startSandbox();
  await quietSyncs(world);
  plain = await linkPlainEmr(world, { synced: false });
});
afterAll(() => world.close());

const restricted = 'Telephone encounters are only supported for Larkspur EMR.';
/** Every reference wrong, and whatever else is said. */
const unknown = { provider_id: '599', assigned_to_id: '799', location_id: '99', pharmacy_ehr_id: '9999' };

test(row('DEC-047'), async () => {
  const before = await acceptedWork(world);
  const entries = (await world.api.ledger()).length;
  expectRefusal(await plain.callIn(), 400, restricted);
  const body = { emr_appointment_id: '30001', text: 'Called back.' };
  const action = await plain.call('POST', '/v1/telephone-encounters/actions', { body });
  expectRefusal(action, 400, /^Telephone encounter actions are only supported for Larkspur EMR\.$/);
  const path = `/v1/patients/${world.sandbox.example.patient_mrn}/insurances/85001`;
  const change = await plain.call('PATCH', path, { body: { member_id: 'M1' } });
  expectRefusal(change, 400, 'Insurance updates are only supported for Larkspur EMR.');
  expect(await acceptedWork(world)).toStrictEqual(before);
  expect(await world.api.ledger()).toHaveLength(entries);
  expect((await world.api.callIn()).status).toBe(200);
  expect((await world.api.call('POST', '/v1/telephone-encounters/actions', { body })).status).toBe(200);
});

test(row('DEC-063'), async () => {
  const { patient_mrn, provider_id, location_id, assigned_to_id } = world.sandbox.example;
  const wrong = { reason: 'r'.repeat(51), caller: 5, is_high_priority: 'maybe', pharmacy_ehr_id: '9999', nonsense: 1 };
  for (const api of [world.api, plain]) {
    const given: Record<string, unknown> = { ...wrong };
    for (const [field, value] of Object.entries({ patient_mrn, provider_id, location_id, assigned_to_id })) {
      const answer = await api.call('POST', '/v1/telephone-encounters', { body: given });
      expectRefusal(answer, 400, `Missing required field: ${field}`, field);
      given[field] = value;
    }
    const complete = await api.call('POST', '/v1/telephone-encounters', { body: given });
    expect(complete.body.message).not.toMatch(/^Missing/);
  }
});

test(row('DEC-064'), async () => {
  for (const [field, value, message] of [
    ['reason', 'r'.repeat(51), 'Reason exceeds maximum length of 50 characters'],
    ['refill_medication_name', 'x', 'refill_medication_name must be at least 2 characters'],
    ['refill_medication_name', 'x'.repeat(51), 'refill_medication_name exceeds maximum length of 50 characters'],
    ['caller', 'c'.repeat(101), 'caller exceeds maximum length of 100 characters'],
    ['is_high_priority', 'maybe', 'is_high_priority must be one of: true, false'],
  ] as const) {
    const missing = 'Missing required field: assigned_to_id';
    expectRefusal(await plain.callIn({ [field]: value, assigned_to_id: undefined }), 400, missing, 'assigned_to_id');
    expectRefusal(await plain.callIn({ [field]: value }), 400, message, field);
    expectRefusal(await world.api.callIn({ ...unknown, [field]: value }), 400, message, field);
  }
});

test(row('DEC-065'), async () => {
  for (const [field, value] of Object.entries(unknown)) {
    expectRefusal(await plain.callIn({ [field]: value }), 400, restricted);
  }
  expectRefusal(await plain.callIn(unknown), 400, restricted);
  expect((await world.api.callIn(unknown)).status).toBe(404);
});

test(row('DEC-066'), async () => {
  const before = await acceptedWork(world);
  const wrong: Partial<typeof unknown> = { ...unknown };
  for (const [field, message] of [
    ['provider_id', "Provider with EMR ID '599' not found."],
    ['assigned_to_id', "Staff member with ID '799' not found."],
    ['location_id', "Location with EMR ID '99' not found."],
    ['pharmacy_ehr_id', "Pharmacy with EMR ID '9999' not found."],
  ] as const) {
    expectRefusal(await world.api.callIn(wrong), 404, message, field);
    delete wrong[field];
  }
  expect(await acceptedWork(world)).toStrictEqual(before);
  expect((await world.api.callIn(wrong)).status).toBe(200);
});

test(row('DEC-067'), async () => {
  for (const [fields, reason] of [
    [{ patient_mrn: 'NOBODY' }, /NOBODY/],
    [{ refill_medication_name: 'Unobtainium' }, /Unobtainium/],
  ] as const) {
    const accepted = await world.api.callIn(fields);
    expect([accepted.status, accepted.body.success]).toStrictEqual([200, true]);
    const event = await world.api.untilEvent(accepted.body.job_id);
    expect(event.event_type).toBe('telephone_encounter.failed');
    expect(event.data.failure_reason).toMatch(reason);
    const { telephone_encounter_id } = accepted.body;
    const written = (await world.api.ledger()).filter(({ marker }) => marker.startsWith(telephone_encounter_id));
    expect(written).toStrictEqual([]);
  }
});

test(row('DEC-068'), async () => {
  const { job_id } = (await world.api.callIn({ refill_medication_name: 'Unobtainium' })).body;
  const { failure_reason } = (await world.api.untilEvent(job_id)).data;
  const job = await world.api.job(job_id);
  expect(job.status).toBe('failed');
  for (const text of [failure_reason, job.error.message]) {
    // What the patient takes; not what was stopped.
    for (const name of ['Unobtainium', 'Lisinopril 10 mg', 'Atorvastatin 20 mg']) expect(text).toContain(name);
    expect(text).not.toContain('Amoxicillin');
  }
});

import { beforeAll, expect, test } from 'vitest';
import { expectApiError } from '../../api/support.ts';
import type { Api } from '../../harness/api.ts';
import { fhirAccount } from '../../harness/fhirAccount.ts';
import { row } from '../../harness/row.ts';
import type { TestSandbox } from '../../harness/sandbox.ts';
import { sharedSandbox } from '../../harness/sharedSandbox.ts';
import { countAcceptedWork } from '../support/databaseState.ts';

let fixture: TestSandbox;
/** An account of an EMR without telephone encounters. */
let fhir: Api;
beforeAll(async () => {
  fixture = await sharedSandbox();
  fhir = (await fhirAccount(fixture)).api;
});

const restricted = 'Telephone encounters are only supported for Larkspur EMR.';
/** Unknown ids for every reference. */
const unknown = { provider_id: '599', assigned_to_id: '799', location_id: '99', pharmacy_ehr_id: '9999' };

test(row('DEC-047'), async () => {
  const before = await countAcceptedWork(fixture);
  const entries = (await fixture.api.ledger()).length;
  expectApiError(await fhir.callIn(), 400, restricted);
  const body = { emr_appointment_id: '30001', text: 'Called back.' };
  const action = await fhir.call('POST', '/v1/telephone-encounters/actions', { body });
  expectApiError(action, 400, /^Telephone encounter actions are only supported for Larkspur EMR\.$/);
  expect(await countAcceptedWork(fixture)).toStrictEqual(before);
  expect(await fixture.api.ledger()).toHaveLength(entries);
  expect((await fixture.api.callIn()).status).toBe(200);
  expect((await fixture.api.call('POST', '/v1/telephone-encounters/actions', { body })).status).toBe(200);
});

test(row('DEC-063'), async () => {
  const { patient_mrn, provider_id, location_id, assigned_to_id } = fixture.sandbox.example;
  const wrong = { reason: 'r'.repeat(51), caller: 5, is_high_priority: 'maybe', pharmacy_ehr_id: '9999', nonsense: 1 };
  for (const api of [fixture.api, fhir]) {
    const body: Record<string, unknown> = { ...wrong };
    for (const [field, value] of Object.entries({ patient_mrn, provider_id, location_id, assigned_to_id })) {
      const response = await api.call('POST', '/v1/telephone-encounters', { body: body });
      expectApiError(response, 400, `Missing required field: ${field}`, field);
      body[field] = value;
    }
    const complete = await api.call('POST', '/v1/telephone-encounters', { body: body });
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
    expectApiError(await fhir.callIn({ [field]: value, assigned_to_id: undefined }), 400, missing, 'assigned_to_id');
    expectApiError(await fhir.callIn({ [field]: value }), 400, message, field);
    expectApiError(await fixture.api.callIn({ ...unknown, [field]: value }), 400, message, field);
  }
});

test(row('DEC-065'), async () => {
  for (const [field, value] of Object.entries(unknown)) {
    expectApiError(await fhir.callIn({ [field]: value }), 400, restricted);
  }
  expectApiError(await fhir.callIn(unknown), 400, restricted);
  expect((await fixture.api.callIn(unknown)).status).toBe(404);
});

test(row('DEC-066'), async () => {
  const before = await countAcceptedWork(fixture);
  const wrong: Partial<typeof unknown> = { ...unknown };
  for (const [field, message] of [
    ['provider_id', "Provider with EMR ID '599' not found."],
    ['assigned_to_id', "Staff member with ID '799' not found."],
    ['location_id', "Location with EMR ID '99' not found."],
    ['pharmacy_ehr_id', "Pharmacy with EMR ID '9999' not found."],
  ] as const) {
    expectApiError(await fixture.api.callIn(wrong), 404, message, field);
    delete wrong[field];
  }
  expect(await countAcceptedWork(fixture)).toStrictEqual(before);
  expect((await fixture.api.callIn(wrong)).status).toBe(200);
});

test(row('DEC-067'), async () => {
  for (const [fields, reason] of [
    [{ patient_mrn: 'NOBODY' }, /NOBODY/],
    [{ refill_medication_name: 'Unobtainium' }, /Unobtainium/],
  ] as const) {
    const accepted = await fixture.api.callIn(fields);
    expect([accepted.status, accepted.body.success]).toStrictEqual([200, true]);
    const event = await fixture.api.untilEvent(accepted.body.job_id);
    expect(event.event_type).toBe('telephone_encounter.failed');
    expect(event.data.failure_reason).toMatch(reason);
    const { telephone_encounter_id } = accepted.body;
    const written = (await fixture.api.ledger()).filter(({ marker }) => marker.startsWith(telephone_encounter_id));
    expect(written).toStrictEqual([]);
  }
});

test(row('DEC-068'), async () => {
  const { job_id } = (await fixture.api.callIn({ refill_medication_name: 'Unobtainium' })).body;
  const { failure_reason } = (await fixture.api.untilEvent(job_id)).data;
  const job = await fixture.api.job(job_id);
  expect(job.status).toBe('failed');
  for (const text of [failure_reason, job.error.message]) {
    // Active medications only, not stopped ones.
    for (const name of ['Unobtainium', 'Lisinopril 10 mg', 'Atorvastatin 20 mg']) expect(text).toContain(name);
    expect(text).not.toContain('Amoxicillin');
  }
});

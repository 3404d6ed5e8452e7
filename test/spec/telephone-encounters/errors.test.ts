import { beforeAll, expect, test } from 'vitest';
import { expectApiError } from '../../api/support.ts';
import { fhirAccount } from '../../harness/fhirAccount.ts';
import { row } from '../../harness/row.ts';
import type { TestSandbox } from '../../harness/sandbox.ts';
import { sharedSandbox } from '../../harness/sharedSandbox.ts';
import { type Chart, patient, signInToLarkspur } from '../../journeys/support.ts';
import {
  complete,
  completeCall,
  failedFetch,
  failedSync,
  rejectedWrites,
  rejection_reason,
} from '../support/completedJobs.ts';
import { expectCallRejected, expectRejected } from '../support/expectErrors.ts';

let fixture: TestSandbox;
let chart: Chart;
beforeAll(async () => {
  fixture = await sharedSandbox();
  chart = await signInToLarkspur(fixture.sandbox, fixture.api);
});

async function expectMissing(field: string): Promise<void> {
  for (const absent of [undefined, null, '']) {
    await expectCallRejected(
      fixture,
      { [field]: absent },
      {
        message: `Missing required field: ${field}`,
        field,
        code: 'missing_field',
      },
    );
  }
}

/** Lengths count characters: the last one is two UTF-16 units and four bytes. */
const letters = ['x', 'é', '語', '💊'];

const refill_field = 'refill_medication_name';

test(row('ERR-03'), () => expectMissing('patient_mrn'));

test(row('ERR-04'), () => expectMissing('provider_id'));

test(row('ERR-05'), () => expectMissing('location_id'));

test(row('ERR-06'), () => expectMissing('assigned_to_id'));

test(row('ERR-07'), async () => {
  const message = 'Reason exceeds maximum length of 50 characters';
  for (const length of [51, 500]) {
    await expectCallRejected(
      fixture,
      { reason: 'r'.repeat(length) },
      { message, field: 'reason', code: 'invalid_field' },
    );
  }
});

test(row('ERR-08'), async () => {
  const message = 'refill_medication_name must be at least 2 characters';
  for (const name of ['L', ' l '])
    await expectCallRejected(
      fixture,
      { [refill_field]: name },
      { message, field: refill_field, code: 'invalid_field' },
    );
});

test(row('ERR-09'), async () => {
  const message = 'refill_medication_name exceeds maximum length of 50 characters';
  for (const length of [51, 500]) {
    await expectCallRejected(
      fixture,
      { [refill_field]: 'L'.repeat(length) },
      { message, field: refill_field, code: 'invalid_field' },
    );
  }
});

test(row('ERR-10'), async () => {
  for (const provider_id of ['599', 'dr <b>“who”</b>']) {
    const message = `Provider with EMR ID '${provider_id}' not found.`;
    await expectCallRejected(
      fixture,
      { provider_id },
      { status: 404, message, field: 'provider_id', code: 'provider_not_found' },
    );
  }
});

/** A new provider and location in the EMR, with the responses before and after the sync that adds them. */
let newcomers: ReturnType<typeof syncNewcomers> | undefined;
async function syncNewcomers() {
  const { api } = fixture;
  const provider_id: string = (await api.control('POST', '/control/providers', { displayName: 'Nova, MD' })).body
    .providerId;
  const location_id: string = (await api.control('POST', '/control/facilities', { name: 'North' })).body.facilityId;
  const listed = async (list: string): Promise<string[]> =>
    (await api.call('GET', `/v1/${list}`)).body[list].map(({ ehr_id }: { ehr_id: string }) => ehr_id);
  const look = async () => ({ providers: await listed('providers'), locations: await listed('locations') });
  const before = await look();
  const refused = { provider: await api.callIn({ provider_id }), location: await api.callIn({ location_id }) };
  await complete(fixture, '/v1/sync', {});
  return { provider_id, location_id, before, refused, after: await look() };
}

test(row('ERR-11'), async () => {
  newcomers ??= syncNewcomers();
  const { provider_id, before, refused, after } = await newcomers;
  expect(before.providers).not.toContain(provider_id);
  expectApiError(refused.provider, 404, `Provider with EMR ID '${provider_id}' not found.`, 'provider_id');
  expect(after.providers).toContain(provider_id);
  const { event } = await completeCall(fixture, { provider_id });
  expect((await chart.encounter(event.data.emr_encounter_id)).providerId).toBe(provider_id);
});

test(row('ERR-12'), async () => {
  const message = "Staff member with ID '799' not found.";
  await expectCallRejected(
    fixture,
    { assigned_to_id: '799' },
    { status: 404, message, field: 'assigned_to_id', code: 'staff_not_found' },
  );
});

test(row('ERR-13'), async () => {
  const message = "Location with EMR ID '99' not found.";
  await expectCallRejected(
    fixture,
    { location_id: '99' },
    { status: 404, message, field: 'location_id', code: 'location_not_found' },
  );
});

test(row('ERR-14'), async () => {
  newcomers ??= syncNewcomers();
  const { location_id, before, refused, after } = await newcomers;
  expect(before.locations).not.toContain(location_id);
  expectApiError(refused.location, 404, `Location with EMR ID '${location_id}' not found.`, 'location_id');
  expect(after.locations).toContain(location_id);
  const { event } = await completeCall(fixture, { location_id });
  expect((await chart.encounter(event.data.emr_encounter_id)).facilityId).toBe(location_id);
});

test(row('ERR-15'), async () => {
  const message = "Pharmacy with EMR ID '9999' not found.";
  const refused = { status: 404, message, field: 'pharmacy_ehr_id', code: 'pharmacy_not_found' };
  await expectCallRejected(fixture, { pharmacy_ehr_id: '9999' }, refused);
  await expectCallRejected(fixture, { pharmacy_ehr_id: '9999', [refill_field]: 'Lisinopril' }, refused);
});

test(row('ERR-16'), async () => {
  for (const access_token of ['no-such-token', fixture.sandbox.access_token.slice(0, -1)]) {
    const send = () => fixture.api.callIn({}, { access_token });
    await expectRejected(fixture, send, { status: 401, message: 'User not found.', code: 'access_token_invalid' });
  }
});

test(row('ERR-17'), async () => {
  const { api } = await fhirAccount(fixture);
  const message = 'Telephone encounters are only supported for Larkspur EMR.';
  await expectRejected(fixture, () => api.callIn(), { message, code: 'restricted_operation' });
});

test(row('ERR-18'), async () => {
  const { ehr_id } = patient(1);
  const before = await chart.list(ehr_id, 'encounters');
  const response = await fixture.api.callIn({ [refill_field]: 'Warfarin' });
  expect([response.status, response.body.success]).toStrictEqual([200, true]);
  const event = await fixture.api.untilEvent(response.body.job_id);
  const job = await fixture.api.job(response.body.job_id);
  expect(await chart.list(ehr_id, 'encounters')).toStrictEqual(before);
  const available = (await chart.list(ehr_id, 'medications')).filter(({ activeFlag }) => activeFlag === 'Y');
  expect(available).toHaveLength(2);
  for (const { name } of available) {
    expect(event.data.failure_reason).toContain(name);
    expect(job.error.message).toContain(name);
  }
});

test(row('ERR-22'), async () => {
  for (const [type, refuse] of Object.entries(rejectedWrites)) {
    const { accepted, event } = await refuse(fixture);
    expect(accepted.success).toBe(true);
    expect(event.event_type).toBe(type);
    expect(event.data.failure_reason ?? event.data.error).toBe(rejection_reason);
  }
  expect((await failedFetch(fixture)).event.event_type).toBe('patient.live_fetch_failed');
  expect((await failedSync(fixture)).event.event_type).toBe('sync.failed');
});

test(row('LIM-01'), async () => {
  for (const letter of letters) {
    for (const length of [49, 50]) {
      const reason = letter.repeat(length);
      const { event } = await completeCall(fixture, { reason });
      expect((await chart.encounter(event.data.emr_encounter_id)).reason).toBe(reason);
    }
    const message = 'Reason exceeds maximum length of 50 characters';
    await expectCallRejected(fixture, { reason: letter.repeat(51) }, { message, field: 'reason' });
  }
});

test(row('LIM-02'), async () => {
  for (const letter of letters) {
    for (const length of [2, 3, 49, 50]) {
      // No such medication exists; only the length must be accepted.
      const { accepted } = await completeCall(fixture, { [refill_field]: letter.repeat(length) });
      expect(accepted.success).toBe(true);
    }
    const short = 'refill_medication_name must be at least 2 characters';
    await expectCallRejected(fixture, { [refill_field]: letter }, { message: short, field: refill_field });
    const long = 'refill_medication_name exceeds maximum length of 50 characters';
    await expectCallRejected(fixture, { [refill_field]: letter.repeat(51) }, { message: long, field: refill_field });
  }
});

test(row('LIM-03'), async () => {
  for (const letter of letters) {
    for (const length of [99, 100]) {
      const caller = letter.repeat(length);
      const { event } = await completeCall(fixture, { caller });
      expect((await chart.encounter(event.data.emr_encounter_id)).caller).toBe(caller);
    }
    const message = 'caller exceeds maximum length of 100 characters';
    await expectCallRejected(fixture, { caller: letter.repeat(101) }, { message, field: 'caller' });
  }
});

test('rejects an unknown field by name', async () => {
  const message = 'Unexpected fields in request body: refil_medication_name';
  const rejection = { message, field: 'refil_medication_name', code: 'unexpected_fields' };
  await expectCallRejected(fixture, { refil_medication_name: 'Lisinopril' }, rejection);
});

test('accepts an empty reason', async () => {
  const { event } = await completeCall(fixture, { reason: '' });
  expect(event.event_type).toBe('telephone_encounter.created');
});

test('limits patient_mrn, message and template_name to 32,000 characters', async () => {
  for (const letter of letters) {
    for (const field of ['message', 'template_name']) {
      const { event } = await completeCall(fixture, { [field]: letter.repeat(32_000) });
      expect(event.event_type).toBe('telephone_encounter.created');
    }
    for (const field of ['patient_mrn', 'message', 'template_name']) {
      const message = `${field} exceeds maximum length of 32000 characters`;
      const rejection = { message, field, code: 'invalid_field' };
      await expectCallRejected(fixture, { [field]: letter.repeat(32_001) }, rejection);
    }
  }
});

test('reports one error at a time, in the documented order', async () => {
  const body: Record<string, unknown> = {
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
  const corrections = [
    ['patient_mrn', fixture.sandbox.example.patient_mrn],
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
  for (const [field, value] of corrections) {
    const response = await fixture.api.callIn(body);
    expect(response.body.field, JSON.stringify(response.body)).toBe(field);
    body[field] = value;
  }
  expect((await fixture.api.callIn(body)).status).toBe(200);
});

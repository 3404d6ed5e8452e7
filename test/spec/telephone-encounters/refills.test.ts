import { beforeAll, describe, expect, test } from 'vitest';
import { matchMedication } from '../../../src/product/writes/telephone-encounters/matchMedication.ts';
import type { ApiResponse } from '../../harness/api.ts';
import { row } from '../../harness/row.ts';
import type { TestSandbox } from '../../harness/sandbox.ts';
import { sharedSandbox } from '../../harness/sharedSandbox.ts';
import { type Chart, createMarker, patient, setFault, signInToLarkspur } from '../../journeys/support.ts';

let fixture: TestSandbox;
let chart: Chart;
beforeAll(async () => {
  fixture = await sharedSandbox();
  chart = await signInToLarkspur(fixture.sandbox, fixture.api);
});

// From docs/larkspur.md: the first patient takes Lisinopril and Atorvastatin and stopped Amoxicillin, the second takes
// two kinds of Metformin and Amlodipine, the third Aspirin and Aspirin EC, the fourth nothing.
const [first, second, third, fourth] = [patient(1), patient(2), patient(3), patient(4)];

type Completed = { accepted: ApiResponse['body']; event: ApiResponse['body']; job: ApiResponse['body'] };

async function requestRefill(
  mrn: string,
  name: string | undefined,
  more: Record<string, unknown> = {},
): Promise<Completed> {
  const accepted = await fixture.api.callIn({ patient_mrn: mrn, refill_medication_name: name, ...more });
  expect(accepted.status, JSON.stringify(accepted.body)).toBe(200);
  const event = await fixture.api.untilEvent(accepted.body.job_id);
  return { accepted: accepted.body, event, job: await fixture.api.job(accepted.body.job_id) };
}

/** Creates an encounter whose refill the EMR rejects. */
async function askInPart(name: string, reason = 'No refills left: call the office.'): Promise<Completed> {
  await setFault(fixture.api, 'add_refill', 'refill_fails', { reason });
  return requestRefill(first.mrn, name, { reason: 'Refill' });
}

async function readMedications(ehr_id: string, active: 'Y' | 'N'): Promise<string[]> {
  const rows = await chart.list(ehr_id, 'medications');
  return rows.filter(({ activeFlag }) => activeFlag === active).map(({ name }) => name);
}

async function readRefills({ event }: Completed): Promise<string[]> {
  expect(event.event_type).toBe('telephone_encounter.created');
  const { refills } = await chart.encounter(event.data.emr_encounter_id);
  return refills.map(({ medicationName }: { medicationName: string }) => medicationName);
}

/** Requests a refill that must fail without any write to the EMR, and returns the reason. */
async function requestRefused({ mrn, ehr_id }: { mrn: string; ehr_id: string }, name: string): Promise<string> {
  const before = [await fixture.api.ledger(), await chart.list(ehr_id, 'encounters')];
  const { event } = await requestRefill(mrn, name);
  expect(event.event_type).toBe('telephone_encounter.failed');
  expect([await fixture.api.ledger(), await chart.list(ehr_id, 'encounters')]).toStrictEqual(before);
  return event.data.failure_reason;
}

test(row('TXT-12'), async () => {
  const before = await fixture.api.ledger();
  for (const name of ['a', ' a', 'a ', '\u200ba\u200b', '\u00a0a\n']) {
    const response = await fixture.api.callIn({ patient_mrn: first.mrn, refill_medication_name: name });
    expect(response.status, JSON.stringify(name)).toBe(400);
    expect(response.body.message).toBe('refill_medication_name must be at least 2 characters');
  }
  const only = { ehr_id: '1', name: 'Lisinopril 10 mg', strength: null, frequency: null, active: true } as const;
  const list = [{ ...only, start_date: null, refills: null, notes: null }];
  for (const name of ['', ' ', ' l', '\u0301\u0301']) expect(() => matchMedication(name, list)).toThrow(/not found/);
  expect(matchMedication(' lisin ', list).ehr_id).toBe('1');
  expect(await fixture.api.ledger()).toStrictEqual(before);
});

test(row('TEL-16'), async () => {
  for (const name of ['lisinopril 10 mg', 'LISINOPRIL 10 MG', 'LiSiNoPrIl 10 Mg']) {
    expect(await readRefills(await requestRefill(first.mrn, name))).toStrictEqual(['Lisinopril 10 mg']);
  }
});

test(row('TEL-17'), async () => {
  for (const part of ['Lisino', 'pril 10', 'torvasta', 'li']) {
    const expected = part === 'torvasta' ? 'Atorvastatin 20 mg' : 'Lisinopril 10 mg';
    expect(await readRefills(await requestRefill(first.mrn, part)), part).toStrictEqual([expected]);
  }
  const reason = await requestRefused(second, 'Metformin');
  for (const listed of ['Metformin 500 mg', 'Metformin ER 750 mg']) expect(reason).toContain(listed);
  expect(reason).not.toContain('Amlodipine');
});

test(row('TEL-18'), async () => {
  expect(await readMedications(first.ehr_id, 'N')).toStrictEqual(['Amoxicillin 500 mg']);
  expect(await readMedications(first.ehr_id, 'Y')).not.toContain('Amlodipine 5 mg');
  expect(await readMedications(second.ehr_id, 'Y')).toContain('Amlodipine 5 mg');
  for (const name of ['Amoxicillin 500 mg', 'Amlodipine 5 mg']) {
    expect(await requestRefused(first, name)).toContain(`'${name}' not found`);
  }
  expect(await readRefills(await requestRefill(second.mrn, 'Amlodipine 5 mg'))).toStrictEqual(['Amlodipine 5 mg']);
});

test(row('TEL-19'), async () => {
  for (const [{ mrn }, name, expected] of [
    [first, 'atorva', 'Atorvastatin 20 mg'],
    [third, 'Aspirin', 'Aspirin'],
  ] as const) {
    const completed = await requestRefill(mrn, name);
    expect(await readRefills(completed)).toStrictEqual([expected]);
    expect((await chart.encounter(completed.event.data.emr_encounter_id)).mrn).toBe(mrn);
  }
});

test(row('TEL-20'), async () => {
  const calls = async () =>
    (await chart.list(first.ehr_id, 'encounters')).filter(({ visitType }) => visitType === 'TEL');
  const before = await calls();
  const { accepted } = await requestRefill(first.mrn, 'Warfarin', { pharmacy_ehr_id: '9010' });
  expect(await calls()).toStrictEqual(before);
  const sent = (await fixture.api.ledger()).filter(({ marker }) => marker.startsWith(accepted.telephone_encounter_id));
  expect(sent).toStrictEqual([]);
});

test(row('TEL-21'), async () => {
  const { event, job } = await requestRefill(first.mrn, 'Warfarin');
  expect(event.event_type).toBe('telephone_encounter.failed');
  // The reason lists the available medications, as the job's error does.
  for (const name of await readMedications(first.ehr_id, 'Y')) expect(event.data.failure_reason).toContain(name);
  expect(event.data.failure_reason).toBe(job.error.message);
});

test(row('TEL-22'), async () => {
  const { event } = await requestRefill(first.mrn, 'Lisinopril', { pharmacy_ehr_id: '9001' });
  const encounter = await chart.encounter(event.data.emr_encounter_id);
  expect(encounter).toMatchObject({ pharmacyId: '9001', refills: [{ pharmacyId: '9001' }] });
});

test(row('TEL-23'), async () => {
  expect(await chart.pharmacies(first.ehr_id)).not.toContain('9005');
  for (let round = 0; round < 2; round += 1) {
    const { event } = await requestRefill(first.mrn, 'Lisinopril', { pharmacy_ehr_id: '9005' });
    expect(event.event_type).toBe('telephone_encounter.created');
    const listed = await chart.pharmacies(first.ehr_id);
    expect(listed.filter((id) => id === '9005')).toHaveLength(1);
  }
});

test(row('TEL-24'), async () => {
  const { event, accepted } = await askInPart('Lisinopril');
  expect(event.event_type).toBe('telephone_encounter.created_partial');
  expect(event.data.telephone_encounter_id).toBe(accepted.telephone_encounter_id);
  expect(await chart.encounter(event.data.emr_encounter_id)).toMatchObject({ mrn: first.mrn, refills: [] });
});

test(row('TEL-25'), async () => {
  const { event } = await askInPart('Lisinopril');
  const { emr_encounter_id: emr_appointment_id } = event.data;
  const body = { emr_appointment_id, text: 'Refill added by hand.' };
  const action = await fixture.api.call('POST', '/v1/telephone-encounters/actions', { body });
  expect((await fixture.api.untilEvent(action.body.job_id)).event_type).toBe('telephone_encounter_action.created');
  expect(await chart.encounter(emr_appointment_id)).toMatchObject({
    mrn: first.mrn,
    reason: 'Refill',
    actions: [{ text: expect.stringContaining('Refill added by hand.') }],
  });
});

test(row('EVT-11'), async () => {
  expect((await requestRefill(first.mrn, 'Lisinopril 10 mg')).event.data.refill_medication_name).toBe(
    'Lisinopril 10 mg',
  );
  const { event } = await requestRefill(first.mrn, undefined, { pharmacy_ehr_id: '9001' });
  expect(event.event_type).toBe('telephone_encounter.created');
  expect(event.data).not.toHaveProperty('refill_medication_name');
});

test(row('EVT-12'), async () => {
  const { event } = await askInPart('Lisinopril');
  expect(event.event_type).toBe('telephone_encounter.created_partial');
  const encounter = await chart.encounter(event.data.emr_encounter_id);
  expect([encounter.mrn, encounter.refills]).toStrictEqual([first.mrn, []]);
});

test(row('EVT-13'), async () => {
  const { accepted, event } = await askInPart('Lisinopril', 'No refills left.');
  const { provider_id, location_id, assigned_to_id } = fixture.sandbox.example;
  expect(event.data).toStrictEqual({
    telephone_encounter_id: accepted.telephone_encounter_id,
    emr_encounter_id: expect.stringMatching(/^\d+$/),
    patient_mrn: first.mrn,
    provider_id,
    location_id,
    assigned_to_id,
    reason: 'Refill',
    refill_medication_name: 'Lisinopril',
    refill_failure_reason: 'No refills left.',
  });
});

test(row('EVT-17'), async () => {
  const reason = await requestRefused(first, 'Warfarin');
  expect(reason).toContain("'Warfarin'");
  const available = await readMedications(first.ehr_id, 'Y');
  expect(available).toHaveLength(2);
  for (const name of available) expect(reason).toContain(name);
  expect(reason).not.toContain('Amoxicillin');
  expect(await requestRefused(fourth, 'Aspirin')).toMatch(/'Aspirin'.*none/);
});

test(row('DEC-295'), async () => {
  for (const { mrn, ehr_id } of [first, second, third]) {
    const active = await readMedications(ehr_id, 'Y');
    expect(active.length).toBeGreaterThan(1);
    for (const name of active) expect(await readRefills(await requestRefill(mrn, name))).toStrictEqual([name]);
  }
});

test(row('DEC-296'), async () => {
  expect(await readMedications(third.ehr_id, 'Y')).toStrictEqual(['Aspirin', 'Aspirin EC 81 mg']);
  for (const name of ['Aspirin', 'aspirin']) {
    expect(await readRefills(await requestRefill(third.mrn, name))).toStrictEqual(['Aspirin']);
  }
  expect(await requestRefused(third, 'aspir')).toContain('several');
});

test(row('DEC-297'), async () => {
  const reason = await requestRefused(second, 'metformin');
  expect(reason).toContain("'metformin'");
  for (const name of ['Metformin 500 mg', 'Metformin ER 750 mg']) expect(reason).toContain(name);
  expect(reason).not.toContain('Amlodipine');
  expect(await readRefills(await requestRefill(second.mrn, 'Metformin ER'))).toStrictEqual(['Metformin ER 750 mg']);
});

test(row('DEC-298'), async () => {
  const { event } = await requestRefill(first.mrn, 'aTORVa');
  expect(event.data.refill_medication_name).toBe('Atorvastatin 20 mg');
});

test(row('DEC-302'), async () => {
  expect((await askInPart('lisino')).event.data.refill_medication_name).toBe('lisino');
});

test(row('DEC-303'), async () => {
  const { event } = await requestRefill(first.mrn, undefined, { pharmacy_ehr_id: '9007' });
  expect((await chart.encounter(event.data.emr_encounter_id)).pharmacyId).toBe('9007');
  expect(await chart.pharmacies(first.ehr_id)).not.toContain('9007');
});

describe('saves the refill under the name in the EMR if the requested name', () => {
  test.each([
    ['is the full name', first, 'Lisinopril 10 mg', 'Lisinopril 10 mg'],
    ['differs in case', first, 'LISINOPRIL 10 MG', 'Lisinopril 10 mg'],
    ['is a part of the name', first, 'torvasta', 'Atorvastatin 20 mg'],
    ['has spaces around it', first, '  lisinopril  ', 'Lisinopril 10 mg'],
    ['is one medication and a part of another', third, 'aspirin', 'Aspirin'],
    ['is a part of one of two similar names', second, 'metformin er', 'Metformin ER 750 mg'],
  ])('%s', async (_title, { mrn }, name, refill_medication_name) => {
    const { accepted, event } = await requestRefill(mrn, name);
    const { provider_id, location_id, assigned_to_id } = fixture.sandbox.example;
    expect(event.event_type).toBe('telephone_encounter.created');
    expect(event.data).toStrictEqual({
      telephone_encounter_id: accepted.telephone_encounter_id,
      emr_encounter_id: expect.any(String),
      patient_mrn: mrn,
      provider_id,
      location_id,
      assigned_to_id,
      reason: null,
      refill_medication_name,
    });
    const { refills } = await chart.encounter(event.data.emr_encounter_id);
    expect(refills).toMatchObject([{ medicationName: refill_medication_name, pharmacyId: null }]);
  });
});

describe('fails without a write and lists the medications if the requested name', () => {
  const of_first = 'Available medications: Lisinopril 10 mg, Atorvastatin 20 mg.';
  const of_second = 'Available medications: Metformin 500 mg, Metformin ER 750 mg, Amlodipine 5 mg.';
  test.each([
    ['is unknown', first, 'Warfarin', `Medication 'Warfarin' not found. ${of_first}`],
    ['is a stopped medication', first, 'Amoxicillin', `Medication 'Amoxicillin' not found. ${of_first}`],
    ["is another patient's medication", second, 'Lisinopril', `Medication 'Lisinopril' not found. ${of_second}`],
    [
      'is for a patient without medications',
      fourth,
      'Aspirin',
      "Medication 'Aspirin' not found. Available medications: none.",
    ],
    [
      'matches several medications',
      second,
      'metformin',
      "Medication 'metformin' matches several medications: Metformin 500 mg, Metformin ER 750 mg. Name one exactly.",
    ],
  ])('%s', async (_title, { mrn }, name, failure_reason) => {
    const { accepted, event, job } = await requestRefill(mrn, name, { pharmacy_ehr_id: '9010' });
    expect(event.event_type).toBe('telephone_encounter.failed');
    expect(event.data).toStrictEqual({
      telephone_encounter_id: accepted.telephone_encounter_id,
      patient_mrn: mrn,
      refill_medication_name: name,
      failure_reason,
    });
    const marker = createMarker(accepted.telephone_encounter_id);
    expect((await fixture.api.ledger()).filter((entry) => entry.marker === marker)).toStrictEqual([]);
    const code = /matches several/.test(failure_reason) ? 'medication_ambiguous' : 'medication_not_found';
    expect(job).toMatchObject({ status: 'failed', attempts: 1, error: { code, message: failure_reason } });
  });
});

test('adds the pharmacy of a refill to the encounter, the refill and the patient, but not twice', async () => {
  const additions = async () =>
    (await fixture.api.ledger()).filter(({ operation }) => operation === 'add_patient_pharmacy').length;
  const listed = await chart.pharmacies(first.ehr_id);
  expect(listed).not.toContain('9006');
  const before = await additions();
  for (let n = 0; n < 2; n += 1) {
    const { event } = await requestRefill(first.mrn, 'Lisinopril', { pharmacy_ehr_id: '9006' });
    const encounter = await chart.encounter(event.data.emr_encounter_id);
    expect(encounter).toMatchObject({ pharmacyId: '9006', refills: [{ pharmacyId: '9006' }] });
    expect((await chart.pharmacies(first.ehr_id)).toSorted()).toStrictEqual([...listed, '9006'].toSorted());
    expect(await additions()).toBe(before + 1);
  }
});

test.each([
  ['the refill', 'add_refill', 'refill_fails', '9009', 'No refills left: call the office.'],
  ['the pharmacy', 'add_patient_pharmacy', 'refuse', '9011', 'This pharmacy is closed today.'],
])(
  'sends created_partial if the EMR rejects %s; the encounter remains usable',
  async (_title, operation, kind, pharmacy_ehr_id, reason) => {
    await setFault(fixture.api, operation, kind, { reason });
    const { accepted, event, job } = await requestRefill(first.mrn, 'lisino', { pharmacy_ehr_id, reason: 'Refill' });
    const { provider_id, location_id, assigned_to_id } = fixture.sandbox.example;
    expect(event.event_type).toBe('telephone_encounter.created_partial');
    expect(event.data).toStrictEqual({
      telephone_encounter_id: accepted.telephone_encounter_id,
      emr_encounter_id: expect.any(String),
      patient_mrn: first.mrn,
      provider_id,
      location_id,
      assigned_to_id,
      reason: 'Refill',
      refill_medication_name: 'lisino',
      refill_failure_reason: reason,
    });
    const marker = createMarker(accepted.telephone_encounter_id);
    const sent = (await fixture.api.ledger()).filter((entry) => entry.marker === marker);
    expect(sent.map(({ applied }) => applied)).toStrictEqual([true]);
    expect(job).toMatchObject({ status: 'partial', error: { code: 'emr_refused', message: reason } });
    expect(await chart.addAction(event.data.emr_encounter_id, 'Called back')).toBe(201);
    const encounter = await chart.encounter(event.data.emr_encounter_id);
    expect(encounter).toMatchObject({ refills: [], actions: [{ text: 'Called back' }] });
  },
);

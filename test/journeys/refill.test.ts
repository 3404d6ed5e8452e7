import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startSandbox, type TestSandbox } from '../harness/sandbox.ts';
import { type Chart, createMarker, openChart, patient, setFault } from './journey.ts';

let world: TestSandbox;
let chart: Chart;
beforeAll(async () => {
  world = await startSandbox();
  chart = await openChart(world.sandbox, world.api);
});
afterAll(() => world.close());

// As docs/larkspur.md has it: the first takes Lisinopril and Atorvastatin and took Amoxicillin, the second takes two
// kinds of Metformin, the third Aspirin and Aspirin EC, the fourth nothing.
const [first, second, third, fourth] = [patient(1), patient(2), patient(3), patient(4)];

async function ask(mrn: string, name: string | undefined, more: Record<string, unknown> = {}) {
  const accepted = await world.api.callIn({ patient_mrn: mrn, refill_medication_name: name, ...more });
  expect(accepted.status, JSON.stringify(accepted.body)).toBe(200);
  const event = await world.api.untilEvent(accepted.body.job_id);
  const marker = createMarker(accepted.body.telephone_encounter_id);
  const sent = (await world.api.ledger()).filter((entry) => entry.marker === marker);
  return { accepted: accepted.body, event, sent, job: await world.api.job(accepted.body.job_id) };
}

describe('a refill is added to the encounter, under the EMR’s name of the medication, when the name', () => {
  test.each([
    ['is the whole name', first, 'Lisinopril 10 mg', 'Lisinopril 10 mg'],
    ['is in another case', first, 'LISINOPRIL 10 MG', 'Lisinopril 10 mg'],
    ['is a part of the name', first, 'torvasta', 'Atorvastatin 20 mg'],
    ['has spaces around it', first, '  lisinopril  ', 'Lisinopril 10 mg'],
    ['is exactly one medication and a part of another', third, 'aspirin', 'Aspirin'],
    ['is a part of one of two similar ones', second, 'metformin er', 'Metformin ER 750 mg'],
  ])('%s', async (_title, { mrn }, name, known_as) => {
    const { accepted, event } = await ask(mrn, name);
    const { provider_id, location_id, assigned_to_id } = world.sandbox.example;
    expect(event.event_type).toBe('telephone_encounter.created');
    expect(event.data).toStrictEqual({
      telephone_encounter_id: accepted.telephone_encounter_id,
      emr_encounter_id: expect.any(String),
      patient_mrn: mrn,
      provider_id,
      location_id,
      assigned_to_id,
      reason: null,
      refill_medication_name: known_as,
    });
    const encounter = await chart.encounter(event.data.emr_encounter_id);
    expect(encounter.refills).toMatchObject([{ medicationName: known_as, pharmacyId: null }]);
  });
});

describe('the encounter is not created, and the event and the job list the medications, when the name', () => {
  test.each([
    [
      'is of no medication',
      first,
      'Warfarin',
      "Medication 'Warfarin' not found. Available medications: Lisinopril 10 mg, Atorvastatin 20 mg.",
    ],
    [
      'is of a medication that was stopped',
      first,
      'Amoxicillin',
      "Medication 'Amoxicillin' not found. Available medications: Lisinopril 10 mg, Atorvastatin 20 mg.",
    ],
    [
      'is of another patient’s medication',
      second,
      'Lisinopril',
      "Medication 'Lisinopril' not found. Available medications: Metformin 500 mg, Metformin ER 750 mg, Amlodipine 5 mg.",
    ],
    [
      'is asked for a patient who takes none',
      fourth,
      'Aspirin',
      "Medication 'Aspirin' not found. Available medications: none.",
    ],
    [
      'is a part of several different ones',
      second,
      'metformin',
      "Medication 'metformin' matches several medications: Metformin 500 mg, Metformin ER 750 mg. Name one exactly.",
    ],
  ])('%s', async (_title, { mrn }, name, failure_reason) => {
    const { accepted, event, sent, job } = await ask(mrn, name, { pharmacy_ehr_id: '9010' });
    expect(event.event_type).toBe('telephone_encounter.failed');
    expect(event.data).toStrictEqual({
      telephone_encounter_id: accepted.telephone_encounter_id,
      patient_mrn: mrn,
      refill_medication_name: name,
      failure_reason,
    });
    expect(sent).toStrictEqual([]);
    expect(job).toMatchObject({ status: 'failed', attempts: 1, error: { code: 'refused', message: failure_reason } });
  });
});

describe('a pharmacy', () => {
  test('with a refill stands on the encounter and its refill, and joins the patient’s list', async () => {
    expect(await chart.pharmacies(first.ehr_id)).toStrictEqual(['9001']);
    const { event } = await ask(first.mrn, 'Lisinopril', { pharmacy_ehr_id: '9005' });
    const encounter = await chart.encounter(event.data.emr_encounter_id);
    expect(encounter).toMatchObject({ pharmacyId: '9005', refills: [{ pharmacyId: '9005' }] });
    expect(await chart.pharmacies(first.ehr_id)).toStrictEqual(['9001', '9005']);
  });

  test('that is on the patient’s list already is not added again', async () => {
    const added = async () =>
      (await world.api.ledger()).filter(({ operation }) => operation === 'add_patient_pharmacy');
    const before = await added();
    const { event } = await ask(first.mrn, 'Lisinopril', { pharmacy_ehr_id: '9001' });
    expect(event.event_type).toBe('telephone_encounter.created');
    expect(await added()).toStrictEqual(before);
  });

  test('without a refill stands on the encounter and not on the patient’s list', async () => {
    const { event } = await ask(first.mrn, undefined, { pharmacy_ehr_id: '9007' });
    expect((await chart.encounter(event.data.emr_encounter_id)).pharmacyId).toBe('9007');
    expect(await chart.pharmacies(first.ehr_id)).not.toContain('9007');
  });
});

describe('when the encounter is created and the refill is not', () => {
  test.each([
    ['the EMR refuses the refill', 'add_refill', 'refill_fails', '9009', 'No refills left: call the office.'],
    ['the EMR refuses the pharmacy', 'add_patient_pharmacy', 'refuse', '9011', 'This pharmacy is closed today.'],
  ])(
    '%s: created_partial says so, and the encounter can be worked with',
    async (_title, operation, kind, pharmacy_ehr_id, reason) => {
      await setFault(world.api, operation, kind, { reason });
      const name = 'lisino';
      const { accepted, event, sent, job } = await ask(first.mrn, name, { pharmacy_ehr_id, reason: 'Refill' });
      const { provider_id, location_id, assigned_to_id } = world.sandbox.example;
      expect(event.event_type).toBe('telephone_encounter.created_partial');
      expect(event.data).toStrictEqual({
        telephone_encounter_id: accepted.telephone_encounter_id,
        emr_encounter_id: expect.any(String),
        patient_mrn: first.mrn,
        provider_id,
        location_id,
        assigned_to_id,
        reason: 'Refill',
        refill_medication_name: name,
        refill_failure_reason: reason,
      });
      expect(sent.map((entry) => entry.applied)).toStrictEqual([true]);
      expect(job).toMatchObject({ status: 'partial', error: { code: 'refused', message: reason } });
      expect(await chart.addAction(event.data.emr_encounter_id, 'Called back')).toBe(201);
      const encounter = await chart.encounter(event.data.emr_encounter_id);
      expect(encounter).toMatchObject({ refills: [], actions: [{ text: 'Called back' }] });
    },
  );
});

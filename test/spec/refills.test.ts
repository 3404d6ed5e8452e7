import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Answer } from '../harness/api.ts';
import { startSandbox, type TestSandbox } from '../harness/sandbox.ts';
import { type Chart, openChart, patient, setFault } from '../journeys/journey.ts';

let world: TestSandbox;
let chart: Chart;
beforeAll(async () => {
  world = await startSandbox();
  chart = await openChart(world.sandbox, world.api);
});
afterAll(() => world.close());

// As docs/larkspur.md has it: the first takes Lisinopril and Atorvastatin and took Amoxicillin, the second takes two
// kinds of Metformin and Amlodipine, the third Aspirin and Aspirin EC, the fourth nothing.
const [first, second, third, fourth] = [patient(1), patient(2), patient(3), patient(4)];

type Ended = { accepted: Answer['body']; event: Answer['body']; job: Answer['body'] };

async function ask(mrn: string, name: string | undefined, more: Record<string, unknown> = {}): Promise<Ended> {
  const accepted = await world.api.callIn({ patient_mrn: mrn, refill_medication_name: name, ...more });
  expect(accepted.status, JSON.stringify(accepted.body)).toBe(200);
  const event = await world.api.untilEvent(accepted.body.job_id);
  return { accepted: accepted.body, event, job: await world.api.job(accepted.body.job_id) };
}

/** Encounter made with a refill the EMR refuses. */
async function askInPart(name: string, reason = 'No refills left: call the office.'): Promise<Ended> {
  await setFault(world.api, 'add_refill', 'refill_fails', { reason });
  return ask(first.mrn, name, { reason: 'Refill' });
}

async function medicationsOf(ehr_id: string, active: 'Y' | 'N'): Promise<string[]> {
  const rows = await chart.list(ehr_id, 'medications');
  return rows.filter(({ activeFlag }) => activeFlag === active).map(({ name }) => name);
}

async function refillsOf({ event }: Ended): Promise<string[]> {
  expect(event.event_type).toBe('telephone_encounter.created');
  const { refills } = await chart.encounter(event.data.emr_encounter_id);
  return refills.map(({ medicationName }: { medicationName: string }) => medicationName);
}

/** Asks, and gives the reason of a failure that left no call in the chart and sent no write to the EMR. */
async function failureOf({ mrn, ehr_id }: { mrn: string; ehr_id: string }, name: string): Promise<string> {
  const before = [await world.api.ledger(), await chart.list(ehr_id, 'encounters')];
  const { event } = await ask(mrn, name);
  expect(event.event_type).toBe('telephone_encounter.failed');
  expect([await world.api.ledger(), await chart.list(ehr_id, 'encounters')]).toStrictEqual(before);
  return event.data.failure_reason;
}

test("TEL-16 Refill rule 1: the medication name is matched against the patient's available refillable medications case-insensitively.", async () => {
  for (const name of ['lisinopril 10 mg', 'LISINOPRIL 10 MG', 'LiSiNoPrIl 10 Mg']) {
    expect(await refillsOf(await ask(first.mrn, name))).toStrictEqual(['Lisinopril 10 mg']);
  }
});

test('TEL-17 Refill rule 1: a partial medication name matches (when it fits several different medications and none exactly, the job fails and lists them).', async () => {
  for (const part of ['Lisino', 'pril 10', 'torvasta', 'li']) {
    const wanted = part === 'torvasta' ? 'Atorvastatin 20 mg' : 'Lisinopril 10 mg';
    expect(await refillsOf(await ask(first.mrn, part)), part).toStrictEqual([wanted]);
  }
  const reason = await failureOf(second, 'Metformin');
  for (const listed of ['Metformin 500 mg', 'Metformin ER 750 mg']) expect(reason).toContain(listed);
  expect(reason).not.toContain('Amlodipine');
});

test("TEL-18 Refill rule 1: only that patient's available refillable medications are searched, which are the active ones (one that is not active, or of another patient, does not match).", async () => {
  expect(await medicationsOf(first.ehr_id, 'N')).toStrictEqual(['Amoxicillin 500 mg']);
  expect(await medicationsOf(first.ehr_id, 'Y')).not.toContain('Amlodipine 5 mg');
  expect(await medicationsOf(second.ehr_id, 'Y')).toContain('Amlodipine 5 mg');
  for (const name of ['Amoxicillin 500 mg', 'Amlodipine 5 mg']) {
    expect(await failureOf(first, name)).toContain(`'${name}' not found`);
  }
  expect(await refillsOf(await ask(second.mrn, 'Amlodipine 5 mg'))).toStrictEqual(['Amlodipine 5 mg']);
});

test('TEL-19 Refill rule 2: when the medication is found (one match, or the exact name), the encounter is created and the refill is added to it in the EMR.', async () => {
  for (const [{ mrn }, name, wanted] of [
    [first, 'atorva', 'Atorvastatin 20 mg'],
    [third, 'Aspirin', 'Aspirin'],
  ] as const) {
    const ended = await ask(mrn, name);
    expect(await refillsOf(ended)).toStrictEqual([wanted]);
    expect((await chart.encounter(ended.event.data.emr_encounter_id)).mrn).toBe(mrn);
  }
});

test('TEL-20 Refill rule 3: when the medication is not found, the encounter is NOT created in the EMR.', async () => {
  const calls = async () =>
    (await chart.list(first.ehr_id, 'encounters')).filter(({ visitType }) => visitType === 'TEL');
  const before = await calls();
  const { accepted } = await ask(first.mrn, 'Warfarin', { pharmacy_ehr_id: '9010' });
  expect(await calls()).toStrictEqual(before);
  const sent = (await world.api.ledger()).filter(({ marker }) => marker.startsWith(accepted.telephone_encounter_id));
  expect(sent).toStrictEqual([]);
});

test('TEL-21 Refill rule 3: a medication not found sends `telephone_encounter.failed` with the same information in failure_reason.', async () => {
  const { event, job } = await ask(first.mrn, 'Warfarin');
  expect(event.event_type).toBe('telephone_encounter.failed');
  // The information of rule 3 is the list of available medications, which the job's error carries too.
  for (const name of await medicationsOf(first.ehr_id, 'Y')) expect(event.data.failure_reason).toContain(name);
  expect(event.data.failure_reason).toBe(job.error.message);
});

test('TEL-22 Refill rule 4: with a refill and `pharmacy_ehr_id`, the pharmacy is associated with the encounter.', async () => {
  const { event } = await ask(first.mrn, 'Lisinopril', { pharmacy_ehr_id: '9001' });
  const encounter = await chart.encounter(event.data.emr_encounter_id);
  expect(encounter).toMatchObject({ pharmacyId: '9001', refills: [{ pharmacyId: '9001' }] });
});

test("TEL-23 Refill rule 4: with a refill, a pharmacy not yet in the patient's pharmacy list is added to that list automatically.", async () => {
  expect(await chart.pharmacies(first.ehr_id)).not.toContain('9005');
  for (let round = 0; round < 2; round += 1) {
    const { event } = await ask(first.mrn, 'Lisinopril', { pharmacy_ehr_id: '9005' });
    expect(event.event_type).toBe('telephone_encounter.created');
    const listed = await chart.pharmacies(first.ehr_id);
    expect(listed.filter((id) => id === '9005')).toHaveLength(1);
  }
});

test('TEL-24 Refill rule 5: when the encounter is created but adding the refill fails, `telephone_encounter.created_partial` is sent.', async () => {
  const { event, accepted } = await askInPart('Lisinopril');
  expect(event.event_type).toBe('telephone_encounter.created_partial');
  expect(event.data.telephone_encounter_id).toBe(accepted.telephone_encounter_id);
  expect(await chart.encounter(event.data.emr_encounter_id)).toMatchObject({ mrn: first.mrn, refills: [] });
});

test('TEL-25 Refill rule 5: after a partial result the encounter exists in the EMR and is usable (an action can be added to it).', async () => {
  const { event } = await askInPart('Lisinopril');
  const { emr_encounter_id: emr_appointment_id } = event.data;
  const body = { emr_appointment_id, text: 'Refill added by hand.' };
  const action = await world.api.call('POST', '/v1/telephone-encounters/actions', { body });
  expect((await world.api.untilEvent(action.body.job_id)).event_type).toBe('telephone_encounter_action.created');
  expect(await chart.encounter(emr_appointment_id)).toMatchObject({
    mrn: first.mrn,
    reason: 'Refill',
    actions: [{ text: expect.stringContaining('Refill added by hand.') }],
  });
});

test('EVT-11 `telephone_encounter.created` data carries refill_medication_name only when a refill was requested and added.', async () => {
  expect((await ask(first.mrn, 'Lisinopril 10 mg')).event.data.refill_medication_name).toBe('Lisinopril 10 mg');
  const { event } = await ask(first.mrn, undefined, { pharmacy_ehr_id: '9001' });
  expect(event.event_type).toBe('telephone_encounter.created');
  expect(event.data).not.toHaveProperty('refill_medication_name');
});

test('EVT-12 `telephone_encounter.created_partial` is sent when the encounter was created but the refill was not added.', async () => {
  const { event } = await askInPart('Lisinopril');
  expect(event.event_type).toBe('telephone_encounter.created_partial');
  const encounter = await chart.encounter(event.data.emr_encounter_id);
  expect([encounter.mrn, encounter.refills]).toStrictEqual([first.mrn, []]);
});

test('EVT-13 `telephone_encounter.created_partial` data: the fields of `telephone_encounter.created` plus refill_failure_reason (string).', async () => {
  const { accepted, event } = await askInPart('Lisinopril', 'No refills left.');
  const { provider_id, location_id, assigned_to_id } = world.sandbox.example;
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

test('EVT-17 `telephone_encounter.failed` for a missing medication: failure_reason names the medication and lists the available ones.', async () => {
  const reason = await failureOf(first, 'Warfarin');
  expect(reason).toContain("'Warfarin'");
  const available = await medicationsOf(first.ehr_id, 'Y');
  expect(available).toHaveLength(2);
  for (const name of available) expect(reason).toContain(name);
  expect(reason).not.toContain('Amoxicillin');
  expect(await failureOf(fourth, 'Aspirin')).toMatch(/'Aspirin'.*none/);
});

test('DEC-295 Every active medication of the patient counts as refillable.', async () => {
  for (const { mrn, ehr_id } of [first, second, third]) {
    const active = await medicationsOf(ehr_id, 'Y');
    expect(active.length).toBeGreaterThan(1);
    for (const name of active) expect(await refillsOf(await ask(mrn, name))).toStrictEqual([name]);
  }
});

test('DEC-296 An exact medication name wins over partial matches.', async () => {
  expect(await medicationsOf(third.ehr_id, 'Y')).toStrictEqual(['Aspirin', 'Aspirin EC 81 mg']);
  for (const name of ['Aspirin', 'aspirin']) {
    expect(await refillsOf(await ask(third.mrn, name))).toStrictEqual(['Aspirin']);
  }
  expect(await failureOf(third, 'aspir')).toContain('several');
});

test('DEC-297 When a refill name matches several different medications in part and none exactly, the job fails and lists them.', async () => {
  const reason = await failureOf(second, 'metformin');
  expect(reason).toContain("'metformin'");
  for (const name of ['Metformin 500 mg', 'Metformin ER 750 mg']) expect(reason).toContain(name);
  expect(reason).not.toContain('Amlodipine');
  expect(await refillsOf(await ask(second.mrn, 'Metformin ER'))).toStrictEqual(['Metformin ER 750 mg']);
});

test("DEC-298 The event of an added refill carries the EMR's name of the medication.", async () => {
  const { event } = await ask(first.mrn, 'aTORVa');
  expect(event.data.refill_medication_name).toBe('Atorvastatin 20 mg');
});

test('DEC-302 `telephone_encounter.created_partial` carries the requested refill_medication_name.', async () => {
  expect((await askInPart('lisino')).event.data.refill_medication_name).toBe('lisino');
});

test("DEC-303 A pharmacy given without a refill is put on the encounter and not on the patient's pharmacy list.", async () => {
  const { event } = await ask(first.mrn, undefined, { pharmacy_ehr_id: '9007' });
  expect((await chart.encounter(event.data.emr_encounter_id)).pharmacyId).toBe('9007');
  expect(await chart.pharmacies(first.ehr_id)).not.toContain('9007');
});

import type * as fhir from 'fhir/r4.js';
import { beforeAll, describe, expect, test } from 'vitest';
import { fhir as connector } from '../../../../src/emr/fhir/fhir.ts';
import type { FaultSwitches } from '../../../harness/fhir/faults.ts';
import { sharedFhirServer } from '../../../harness/fhir/sharedFhirServer.ts';
import { awaitFailure, createEndpoint, required } from '../../larkspur/fixture.ts';
import { bySecret, signedIn } from '../fixture.ts';
import { call } from '../inputs.ts';
import { type Charts, linkCharts, markedBy, performWrite, timezone } from './charts.ts';

const server = sharedFhirServer({ data: 'small' });
let charts: Charts;
beforeAll(async () => {
  charts = await linkCharts(server);
});

let count = 0;
const newMarker = () => `call-${++count}-`;
const lacking = (types: Record<string, FaultSwitches['withheld'][string]>) => {
  server.faults.withheld = types;
  return linkCharts(server);
};
const offered = async () => (await signedIn(createEndpoint(server.url), bySecret(server))).capabilities ?? [];
const encounters = (marker: string) => markedBy<fhir.Encounter>(server, 'Encounter', marker);
const tasks = (marker: string) => markedBy<fhir.Task>(server, 'Task', marker);
const communications = (marker: string) => markedBy<fhir.Communication>(server, 'Communication', marker);
const proposals = (marker: string) => markedBy<fhir.MedicationRequest>(server, 'MedicationRequest', marker);
/** The call as the chart shows it. */
const shown = async ({ emr }: Charts, id: string) =>
  required((await emr.listEncounters('pat-1')).find((each) => each.id === id));
/** A call to write to, and what it was created with. */
const newCall = async ({ emr }: Charts = charts) => (await emr.createTelephoneEncounter.send(call, newMarker())).ehr_id;
const anyMedication = async () => required((await charts.emr.listMedications('pat-1')).find(({ active }) => active));

/** Interrupts every request of a write, before it arrives and after it was performed. */
async function interruptEverywhere(write: () => Promise<{ marker: string }>, check: (marker: string) => Promise<void>) {
  // The first write shows that the server keeps markers.
  await write();
  charts.requests();
  await write();
  const requests = charts.requests();
  expect(requests).toBeGreaterThan(2);
  for (let n = 1; n <= requests; n++) {
    for (const when of ['before', 'after'] as const) {
      charts.lose(n, when);
      const { marker } = await write();
      await check(marker);
    }
  }
  charts.lose(0, 'before');
}

describe('a telephone encounter', () => {
  test('is stored as a virtual encounter, with the message as a task of the assignee', async () => {
    const marker = newMarker();
    const input = { ...call, pharmacy_ehr_id: 'pharm-1' };
    const { ehr_id } = await charts.emr.createTelephoneEncounter.send(input, marker);
    expect(await encounters(marker)).toMatchObject([
      {
        id: ehr_id,
        status: 'in-progress',
        class: { system: 'http://terminology.hl7.org/CodeSystem/v3-ActCode', code: 'VR' },
        type: [{ coding: [{ system: 'http://snomed.info/sct', code: '185317003' }] }],
        priority: { coding: [{ code: 'UR' }] },
        subject: { reference: 'Patient/pat-1' },
        participant: [{ individual: { reference: 'Practitioner/prac-1' } }],
        location: [{ location: { reference: 'Location/loc-1' } }],
        reasonCode: [{ text: call.reason }],
        period: { start: expect.any(String) },
      },
    ]);
    expect(await tasks(marker)).toMatchObject([
      {
        status: 'requested',
        priority: 'urgent',
        description: call.message,
        focus: { reference: `Encounter/${ehr_id}` },
        for: { reference: 'Patient/pat-1' },
        owner: { reference: 'Practitioner/staff-1' },
        input: [{ valueString: call.caller }, { valueReference: { reference: 'Organization/pharm-1' } }],
      },
    ]);
    expect(await communications(marker)).toEqual([]);
  });

  test('is stored with a communication if the server takes no tasks', async () => {
    const opened = await lacking({ Task: ['create'] });
    const marker = newMarker();
    const { ehr_id } = await opened.emr.createTelephoneEncounter.send({ ...call, pharmacy_ehr_id: 'pharm-1' }, marker);
    expect(await communications(marker)).toMatchObject([
      {
        priority: 'urgent',
        encounter: { reference: `Encounter/${ehr_id}` },
        subject: { reference: 'Patient/pat-1' },
        recipient: [{ reference: 'Practitioner/staff-1' }],
        sender: { display: call.caller },
        about: [{ reference: 'Organization/pharm-1' }],
        payload: [{ contentString: call.message }],
      },
    ]);
    const { caller, message, priority } = await shown(opened, ehr_id);
    expect({ caller, message, priority }).toEqual({ caller: call.caller, message: call.message, priority: 'urgent' });
  });

  test('is in the chart with its message, assignee and actions', async () => {
    const ehr_id = await newCall();
    for (const text of ['Called back.', 'Left a message.']) {
      await charts.emr.addTelephoneAction.send({ encounter_ehr_id: ehr_id, text, high_priority: false }, newMarker());
    }
    expect(await shown(charts, ehr_id)).toMatchObject({
      visit_type: 'TEL',
      reason: call.reason,
      provider_ehr_id: 'prac-1',
      facility_id: 'loc-1',
      caller: call.caller,
      message: call.message,
      assigned_to: expect.stringMatching(/\w/),
      priority: 'urgent',
      actions: [{ text: 'Called back.' }, { text: 'Left a message.' }],
      locked: 'false',
    });
    // Other visits have no fields of a call.
    const visits = (await charts.emr.listEncounters('pat-1')).filter(({ visit_type }) => visit_type !== 'TEL');
    expect(visits.length).toBeGreaterThan(0);
    expect(visits.every((each) => !('actions' in each))).toBe(true);
  });

  test('exists once, complete, wherever its requests are interrupted', async () => {
    const write = async () => {
      const marker = newMarker();
      await performWrite(charts.emr.createTelephoneEncounter, call, marker);
      return { marker };
    };
    await interruptEverywhere(write, async (marker) => {
      expect(await encounters(marker)).toHaveLength(1);
      expect(await tasks(marker)).toHaveLength(1);
    });
  });

  test('is completed by the next attempt after a kill between the encounter and its message', async () => {
    const marker = newMarker();
    server.fail({ kind: 'error_503', method: 'POST', path: '/Task' });
    expect((await awaitFailure(charts.emr.createTelephoneEncounter.send(call, marker))).kind).toBe('unknown_outcome');
    expect([await encounters(marker), await tasks(marker)]).toMatchObject([[{}], []]);
    // Another process, which knows only what is stored.
    const access = { credentials: bySecret(server), grant: charts.grant(), saveGrant: async () => {}, timezone };
    const { createTelephoneEncounter } = connector.open(createEndpoint(server.url), access);
    const { ehr_id } = await performWrite(required(createTelephoneEncounter), call, marker);
    expect(await encounters(marker)).toMatchObject([{ id: ehr_id }]);
    expect(await tasks(marker)).toMatchObject([{ focus: { reference: `Encounter/${ehr_id}` } }]);
  });

  test('is stored once if the server refuses tasks in use', async () => {
    server.faults.refused_writes = { Task: { create: 403 } };
    const opened = await linkCharts(server);
    const marker = newMarker();
    await opened.emr.createTelephoneEncounter.send(call, marker);
    expect([await encounters(marker), await communications(marker)]).toMatchObject([[{}], [{}]]);
  });

  test('is no longer offered once the server refuses every form of its message', async () => {
    server.faults.refused_writes = { Task: { create: 403 }, Communication: { create: 405 } };
    const { emr } = await linkCharts(server);
    const failure = await awaitFailure(emr.createTelephoneEncounter.send(call, newMarker()));
    expect(failure).toMatchObject({ kind: 'refused', not_offered: true });
    expect(failure.message).toMatch(/^The telephone encounter was stored, but its message was not\. /);
    const marker = newMarker();
    expect((await awaitFailure(emr.createTelephoneEncounter.send(call, marker))).not_offered).toBe(true);
    expect(await encounters(marker)).toEqual([]);
  });

  test.each([
    ['provider_ehr_id', 'provider'],
    ['location_ehr_id', 'location'],
    ['assigned_to_ehr_id', 'staff member'],
    ['pharmacy_ehr_id', 'pharmacy'],
  ])('is refused before anything is written if %s does not exist', async (field, name) => {
    const marker = newMarker();
    const failure = await awaitFailure(
      charts.emr.createTelephoneEncounter.send({ ...call, [field]: 'nobody' }, marker),
    );
    expect(failure).toMatchObject({ kind: 'not_found', message: `The EMR has no ${name} with ID 'nobody'.` });
    expect(await encounters(marker)).toEqual([]);
  });

  test('is refused by name if it has a field that FHIR has no place for', async () => {
    const marker = newMarker();
    const input = { ...call, template_name: 'Synthetic template' };
    expect((await awaitFailure(charts.emr.createTelephoneEncounter.send(input, marker))).message).toBe(
      "Field 'template_name' is not supported by this EMR.",
    );
    expect(await encounters(marker)).toEqual([]);
  });
});

describe('an action', () => {
  const text = 'Synthetic action';

  test.each([
    ['a communication', {}, 'Communication'],
    ['a task if the server takes no communications', { Communication: 'all' as const }, 'Task'],
  ] as const)('is stored as %s', async (_what, withheld, type) => {
    const opened = await lacking(withheld);
    const encounter_ehr_id = await newCall(opened);
    const marker = newMarker();
    const { ehr_id } = await opened.emr.addTelephoneAction.send(
      { encounter_ehr_id, text, high_priority: true },
      marker,
    );
    expect(await markedBy(server, type, marker)).toMatchObject([
      {
        id: ehr_id,
        status: 'completed',
        priority: 'urgent',
        encounter: { reference: `Encounter/${encounter_ehr_id}` },
      },
    ]);
    expect((await shown(opened, encounter_ehr_id)).actions).toMatchObject([{ text }]);
  });

  test('exists once wherever its requests are interrupted', async () => {
    const encounter_ehr_id = await newCall();
    const write = async () => {
      const marker = newMarker();
      await performWrite(charts.emr.addTelephoneAction, { encounter_ehr_id, text, high_priority: false }, marker);
      return { marker };
    };
    await interruptEverywhere(write, async (marker) => expect(await communications(marker)).toHaveLength(1));
  });

  test.each([['enc-1-1'], ['no-such-encounter']])('is refused for %s, which is no call', async (encounter_ehr_id) => {
    const marker = newMarker();
    const send = charts.emr.addTelephoneAction.send({ encounter_ehr_id, text, high_priority: false }, marker);
    expect(await awaitFailure(send)).toMatchObject({
      kind: 'not_found',
      message: `The EMR has no telephone encounter with ID '${encounter_ehr_id}'.`,
    });
    expect(await communications(marker)).toEqual([]);
  });
});

describe('a refill', () => {
  test('is a proposal that names the original prescription and the pharmacy', async () => {
    const [encounter_ehr_id, medication] = [await newCall(), await anyMedication()];
    const marker = newMarker();
    const refill = { encounter_ehr_id, medication_ehr_id: medication.ehr_id, pharmacy_ehr_id: 'pharm-1' };
    const { ehr_id } = await charts.emr.addRefill.send(refill, marker);
    expect(await proposals(marker)).toMatchObject([
      {
        id: ehr_id,
        intent: 'proposal',
        subject: { reference: 'Patient/pat-1' },
        encounter: { reference: `Encounter/${encounter_ehr_id}` },
        priorPrescription: { reference: `MedicationRequest/${medication.ehr_id}` },
        dispenseRequest: { performer: { reference: 'Organization/pharm-1' } },
      },
    ]);
    // A proposal is not a medication that could be refilled itself.
    expect((await charts.emr.listMedications('pat-1')).map((each) => each.ehr_id)).not.toContain(ehr_id);
  });

  test('is a task about the prescription if the server takes no prescriptions', async () => {
    const medication = await anyMedication();
    const opened = await lacking({ MedicationRequest: ['create'] });
    const encounter_ehr_id = await newCall(opened);
    const marker = newMarker();
    const refill = { encounter_ehr_id, medication_ehr_id: medication.ehr_id, pharmacy_ehr_id: 'pharm-1' };
    await opened.emr.addRefill.send(refill, marker);
    expect(await tasks(marker)).toMatchObject([
      {
        intent: 'proposal',
        focus: { reference: `MedicationRequest/${medication.ehr_id}` },
        for: { reference: 'Patient/pat-1' },
        input: [{ valueReference: { reference: 'Organization/pharm-1' } }],
      },
    ]);
    // It is not mistaken for a message or an action of the call.
    expect(await shown(opened, encounter_ehr_id)).toMatchObject({ message: call.message, actions: [] });
  });

  test('exists once wherever its requests are interrupted', async () => {
    const [encounter_ehr_id, medication] = [await newCall(), await anyMedication()];
    const refill = { encounter_ehr_id, medication_ehr_id: medication.ehr_id, pharmacy_ehr_id: null };
    const write = async () => {
      const marker = newMarker();
      await performWrite(charts.emr.addRefill, refill, marker);
      return { marker };
    };
    await interruptEverywhere(write, async (marker) => expect(await proposals(marker)).toHaveLength(1));
  });

  test('a refill of another patient’s medication is refused', async () => {
    await server.storeUnchecked({
      resourceType: 'MedicationRequest',
      id: 'rx-other',
      status: 'active',
      intent: 'order',
      subject: { reference: 'Patient/pat-2' },
      medicationCodeableConcept: { text: 'Synthetic tablet' },
    });
    const marker = newMarker();
    const refill = { encounter_ehr_id: await newCall(), medication_ehr_id: 'rx-other', pharmacy_ehr_id: null };
    expect(await awaitFailure(charts.emr.addRefill.send(refill, marker))).toMatchObject({
      kind: 'refused',
      message: 'The medication and the telephone encounter belong to different patients.',
    });
    expect(await proposals(marker)).toEqual([]);
  });
});

test.each([
  ['no new encounters', { Encounter: ['create'] as const }, ['addRefill', 'addTelephoneAction']],
  ['neither tasks nor communications', { Task: 'all', Communication: 'all' } as const, ['addRefill']],
  [
    'no tasks and no new prescriptions',
    { Task: 'all', MedicationRequest: ['create'] } as const,
    ['createTelephoneEncounter', 'addTelephoneAction'],
  ],
])('a server with %s offers the rest', async (_what, withheld, rest) => {
  server.faults.withheld = withheld;
  const names = ['createTelephoneEncounter', 'addTelephoneAction', 'addRefill'];
  expect((await offered()).filter((name) => names.includes(name))).toEqual(rest);
});

test('nothing is offered that could not be found after a lost response', async () => {
  server.faults.search_by_identifier = false;
  const names = ['createTelephoneEncounter', 'addTelephoneAction', 'addRefill'];
  expect((await offered()).filter((name) => names.includes(name))).toEqual([]);
});

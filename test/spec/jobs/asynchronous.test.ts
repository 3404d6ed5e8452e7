import { beforeAll, expect, test } from 'vitest';
import type { ApiResponse } from '../../harness/api.ts';
import { row } from '../../harness/row.ts';
import type { TestSandbox } from '../../harness/sandbox.ts';
import { sharedSandbox } from '../../harness/sharedSandbox.ts';
import { endPauses, setFault, until } from '../../journeys/support.ts';
import { sendDocument } from '../support/sendDocument.ts';

type Body = ApiResponse['body'];

const kinds = [
  'encounter',
  'action',
  'document',
  'appointment',
  'fetch',
  'patient',
  'update',
  'insurance',
  'change',
] as const;
type Kind = (typeof kinds)[number];
const ids: Record<Kind, string | undefined> = {
  encounter: 'telephone_encounter_id',
  action: 'action_id',
  document: 'document_id',
  appointment: 'appointment_id',
  fetch: undefined,
  patient: 'patient_id',
  update: undefined,
  insurance: 'patient_insurance_id',
  change: 'patient_insurance_id',
};

let fixture: TestSandbox;
/** The responses while the EMR was unavailable, and the events that existed by then. */
let responses: Record<Kind, ApiResponse>;
let early: Record<Kind, Body[]>;
let untouched: boolean;
/** The events after the EMR was available again. */
let events: Record<Kind, Body>;

const readEvents = async (kind: Kind): Promise<Body[]> => {
  const { job_id, document_id } = responses[kind].body;
  if (kind !== 'document')
    return (await fixture.api.call('GET', `/v1/webhook-events?job_id=${job_id}`)).body.webhook_events;
  const { webhook_events } = (await fixture.api.call('GET', '/v1/webhook-events?page_size=100')).body;
  return webhook_events.filter(({ data }: Body) => data.document_id === document_id);
};
const ofEach = async <T>(work: (kind: Kind) => Promise<T>): Promise<Record<Kind, T>> =>
  Object.fromEntries(await Promise.all(kinds.map(async (kind) => [kind, await work(kind)]))) as Record<Kind, T>;

beforeAll(async () => {
  fixture = await sharedSandbox();
  const { api, sandbox, owner } = fixture;
  const done = await api.untilEvent((await api.callIn()).body.job_id);
  const emr_appointment_id = done.data.emr_encounter_id;
  const { patient_mrn: mrn, location_id: location, provider_id: provider } = sandbox.example;
  const datetime = `${new Date().getUTCFullYear() + 2}-07-09T09:30:00-04:00`;
  for (const operation of [
    'list_patients',
    'add_telephone_action',
    'create_patient',
    'update_patient',
    'update_patient_insurance',
  ]) {
    await setFault(api, operation, 'error_500', { times: 100_000 });
  }
  const { id } = (await api.call('GET', `/v1/patients?mrn=${mrn}`)).body.patients[0];
  const before = (await api.ledger()).filter(({ applied }) => applied).length;
  const post = (path: string, body: object) => api.call('POST', path, { body });
  responses = {
    encounter: await api.callIn(),
    action: await post('/v1/telephone-encounters/actions', { emr_appointment_id, text: 'Called back.' }),
    document: await sendDocument(fixture),
    appointment: await post('/v1/appointments', { mrn, location, provider, type: 'FU', datetime }),
    fetch: await post('/v1/patients/fetch', { search_by: 'mrn', mrn }),
    patient: await post('/v1/patients', { first_name: 'Nova', last_name: 'Async', dob: '1990-01-31', sex: 'female' }),
    update: await api.call('PATCH', `/v1/patients/${id}`, { body: { email: 'later@example.org' } }),
    insurance: await post(`/v1/patients/${mrn}/insurances`, { member_id: 'M1', insurance_name: 'Mock Mutual' }),
    change: await api.call('PATCH', `/v1/patients/${mrn}/insurances/85001`, { body: { group_id: 'G1' } }),
  };
  early = await ofEach(readEvents);
  untouched = (await api.ledger()).filter(({ applied }) => applied).length === before;
  await api.control('DELETE', '/control/faults');
  events = await ofEach((kind) =>
    until(`the event of the ${kind}`, async () => {
      await endPauses(owner);
      return (await readEvents(kind))[0];
    }),
  );
});

/** The request was accepted while the EMR was unavailable and completed later. */
function expectAsynchronous(kind: Kind, type: string): void {
  const { status, body } = responses[kind];
  expect([status, body.success]).toStrictEqual([200, true]);
  expect(early[kind]).toStrictEqual([]);
  expect(untouched).toBe(true);
  expect(events[kind].event_type).toBe(type);
}

test(row('GEN-03'), () => {
  expectAsynchronous('patient', 'patient.created');
});

test(row('GEN-04'), () => {
  expectAsynchronous('encounter', 'telephone_encounter.created');
});

test(row('GEN-05'), () => {
  expectAsynchronous('action', 'telephone_encounter_action.created');
});

test(row('GEN-06'), () => {
  expectAsynchronous('insurance', 'patient.insurance.added');
});

test(row('GEN-07'), () => {
  expectAsynchronous('change', 'patient.insurance.updated');
});

test(row('GEN-08'), () => {
  expectAsynchronous('document', 'document.uploaded');
});

test(row('GEN-09'), () => {
  expectAsynchronous('appointment', 'appointment.created');
});

test(row('GEN-10'), () => {
  expectAsynchronous('update', 'patient.updated');
});

test(row('GEN-11'), () => {
  expectAsynchronous('fetch', 'patient.live_fetch_completed');
});

test(row('GEN-12'), () => {
  for (const kind of kinds) {
    const { body } = responses[kind];
    expect(body.success, kind).toBe(true);
    const id = ids[kind];
    if (id !== undefined) expect(body[id], kind).toMatch(/^[0-9a-f]{32}$/);
    if (kind === 'document') expect(body).not.toHaveProperty('job_id');
    else expect(Number.isSafeInteger(body.job_id), kind).toBe(true);
  }
  const { appointment_id, job_id, data } = responses.appointment.body;
  expect(data).toStrictEqual({ appointment_id, job_id });
});

test(row('GEN-13'), () => {
  for (const kind of kinds) {
    if (kind === 'document') {
      expect(responses.document.body).not.toHaveProperty('job_id');
      expect(events.document).not.toHaveProperty('job_id');
    } else {
      expect(events[kind].job_id, kind).toBe(`${responses[kind].body.job_id}`);
    }
    const id = ids[kind];
    if (id !== undefined) expect(events[kind].data[id], kind).toBe(responses[kind].body[id]);
  }
});

test(row('GEN-14'), async () => {
  const { webhook_urls } = (await fixture.api.call('GET', '/v1/webhook')).body;
  expect(webhook_urls).toStrictEqual([]);
  for (const kind of kinds.filter((each) => each !== 'document')) {
    expect(early[kind], kind).toStrictEqual([]);
    const { status, body } = await fixture.api.call('GET', `/v1/webhook-events?job_id=${responses[kind].body.job_id}`);
    expect(status).toBe(200);
    expect(body.webhook_events, kind).toHaveLength(1);
    expect(body.webhook_events[0]).toMatchObject({ event_type: events[kind].event_type, data: events[kind].data });
  }
});

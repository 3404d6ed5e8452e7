import { beforeAll, expect, test } from 'vitest';
import { expectApiError } from '../../api/support.ts';
import type { Api } from '../../harness/api.ts';
import { fhirAccount } from '../../harness/fhirAccount.ts';
import { row } from '../../harness/row.ts';
import type { TestSandbox } from '../../harness/sandbox.ts';
import { sharedSandbox } from '../../harness/sharedSandbox.ts';
import { type Chart, patient, setFault, signInToLarkspur } from '../../journeys/support.ts';
import { complete } from '../support/completedJobs.ts';
import { expectRejected, not_strings } from '../support/expectErrors.ts';
import { fetchLive } from '../support/fetchLive.ts';

let fixture: TestSandbox;
let chart: Chart;
beforeAll(async () => {
  fixture = await sharedSandbox();
  chart = await signInToLarkspur(fixture.sandbox, fixture.api);
});

const task = (more: object = {}) => ({
  description: 'Call back about the laboratory results.',
  patient_mrn: patient(7).mrn,
  subject: 'Laboratory results',
  assignee_user_id: '703',
  phone_call_type_id: '5',
  ...more,
});
const send = (body: object, api: Api = fixture.api) => api.call('POST', '/v1/tasks', { body });
const annotate = (body: object) => fixture.api.call('POST', '/v1/tasks/notes', { body });
const createTask = (more: object = {}) => complete(fixture, '/v1/tasks', task(more));
const addNote = (emr_task_id: string, note: string) => complete(fixture, '/v1/tasks/notes', { emr_task_id, note });
const listed = async (emr_task_id: string) =>
  (await chart.list(patient(7).ehr_id, 'tasks')).find(({ taskId }) => taskId === emr_task_id);

test(row('TSK-01'), async () => {
  for (const field of ['description', 'patient_mrn']) {
    for (const absent of [undefined, null, '  ']) {
      const rejection = { message: `Missing required field: ${field}`, field };
      await expectRejected(fixture, () => send(task({ [field]: absent })), rejection);
    }
    for (const value of not_strings) {
      await expectRejected(fixture, () => send(task({ [field]: value })), { message: new RegExp(`^${field} `), field });
    }
  }
  const unknown = { message: 'Unexpected fields in request body: priority', field: 'priority' };
  await expectRejected(fixture, () => send(task({ priority: 'high' })), unknown);
});

test(row('TSK-02'), async () => {
  for (const field of ['subject', 'assignee_user_id', 'phone_call_type_id']) {
    for (const absent of [undefined, null, '']) {
      const rejection = { message: `Missing required field: ${field}`, field };
      await expectRejected(fixture, () => send(task({ [field]: absent })), rejection);
    }
  }
  const { api, server, mrn } = await fhirAccount(fixture);
  const { status, body } = await send({ description: 'No subject, nobody assigned', patient_mrn: mrn }, api);
  expect(status, JSON.stringify(body)).toBe(200);
  const event = await api.untilEvent(body.job_id);
  expect(event.data).toMatchObject({ subject: null, assignee_user_id: null });
  const stored = (await server.resources('Task')).find(({ id }) => id === event.data.emr_task_id);
  expect(stored).toMatchObject({ description: 'No subject, nobody assigned' });
});

test(row('TSK-03'), async () => {
  const { accepted, event } = await createTask();
  expect(accepted).toStrictEqual({
    success: true,
    message: expect.stringContaining('webhook event'),
    task_id: expect.stringMatching(/^[0-9a-f]{32}$/),
    job_id: expect.any(Number),
  });
  expect([event.event_type, event.job_id]).toStrictEqual(['task.created', String(accepted.job_id)]);
  expect(event.data).toStrictEqual({
    task_id: accepted.task_id,
    emr_task_id: expect.any(String),
    subject: 'Laboratory results',
    description: 'Call back about the laboratory results.',
    assignee_user_id: '703',
  });
});

test(row('TSK-04'), async () => {
  const { event } = await createTask({ notify_list: ['704', '705', '704'] });
  expect(await listed(event.data.emr_task_id)).toMatchObject({
    subject: 'Laboratory results',
    assignedTo: '703',
    phoneCallTypeId: '5',
    notifyList: ['704', '705'],
    statusCode: 'OPN',
  });
  for (const [fields, id] of [
    [{ assignee_user_id: '9999' }, '9999'],
    [{ notify_list: ['704', '9998'] }, '9998'],
  ] as const) {
    const rejection = { status: 404, message: `Staff member with ID '${id}' not found.` };
    await expectRejected(fixture, () => send(task(fields)), rejection);
  }
  const type = { status: 404, message: "Phone call type with ID '77' not found.", field: 'phone_call_type_id' };
  await expectRejected(fixture, () => send(task({ phone_call_type_id: '77' })), type);
  for (const notify_list of ['704', [5], Array.from({ length: 51 }, () => '704')])
    await expectRejected(fixture, () => send(task({ notify_list })), { message: /^notify_list/ });
});

test(row('TSK-05'), async () => {
  const missing = await createTask({ patient_mrn: 'NOBODY' });
  await setFault(fixture.api, 'create_task', 'refuse', { reason: 'The task list is closed.' });
  const refused = await createTask();
  for (const [{ accepted, event }, patient_mrn, code] of [
    [missing, 'NOBODY', 'patient_not_found'],
    [refused, patient(7).mrn, 'emr_refused'],
  ] as const) {
    expect(event.event_type).toBe('task.failed');
    expect(event.data).toStrictEqual({
      task_id: accepted.task_id,
      patient_mrn,
      failure_reason: expect.stringMatching(/\S/),
      reasons: [{ code, description: event.data.failure_reason }],
    });
  }
  expect(refused.event.data.failure_reason).toBe('The task list is closed.');
});

test(row('TSK-06'), async () => {
  const { emr_task_id } = (await createTask()).event.data;
  for (const field of ['emr_task_id', 'note']) {
    for (const absent of [undefined, null, '']) {
      const rejection = { message: `Missing required field: ${field}`, field };
      await expectRejected(fixture, () => annotate({ emr_task_id, note: 'x', [field]: absent }), rejection);
    }
  }
  const unknown = { message: 'Unexpected fields in request body: patient_mrn', field: 'patient_mrn' };
  await expectRejected(fixture, () => annotate({ emr_task_id, note: 'x', patient_mrn: patient(7).mrn }), unknown);
  const first = await addNote(emr_task_id, 'Left a message.\nWill call again.');
  expect(first.accepted).toStrictEqual({
    success: true,
    message: expect.stringContaining('webhook event'),
    task_note_id: expect.stringMatching(/^[0-9a-f]{32}$/),
    job_id: expect.any(Number),
  });
  expect([first.event.event_type, first.event.data]).toStrictEqual([
    'task_note.created',
    { task_note_id: first.accepted.task_note_id, emr_task_id, note: 'Left a message.\nWill call again.' },
  ]);
  await addNote(emr_task_id, 'Reached the patient.');
  const { notes } = await listed(emr_task_id);
  const texts = notes.map(({ text }: { text: string }) => text);
  expect(texts).toStrictEqual(['Left a message.\nWill call again.', 'Reached the patient.']);
  const screen = await chart.screen(patient(7).ehr_id);
  for (const text of ['Laboratory results', 'Test results', 'Reached the patient.']) expect(screen).toContain(text);
});

test(row('TSK-07'), async () => {
  const { accepted, event } = await addNote('999999', 'Into the void');
  expect(event.event_type).toBe('task_note.failed');
  expect(event.data).toStrictEqual({
    task_note_id: accepted.task_note_id,
    emr_task_id: '999999',
    failure_reason: expect.stringMatching(/\S/),
    reasons: [{ code: 'record_not_found', description: event.data.failure_reason }],
  });
});

test(row('TSK-08'), async () => {
  const { emr_task_id } = (await createTask({ notify_list: ['704'] })).event.data;
  await addNote(emr_task_id, 'Shown live.');
  const search = { search_by: 'mrn', mrn: patient(7).mrn };
  for (const include of ['tasks', 'insurances,tasks', ['tasks']]) {
    const { data } = await fetchLive(fixture.api, { ...search, include });
    const shown = data.tasks.find((each: { emr_task_id: string }) => each.emr_task_id === emr_task_id);
    expect(shown).toStrictEqual({
      emr_task_id,
      subject: 'Laboratory results',
      description: 'Call back about the laboratory results.',
      status: 'OPN',
      assignee_user_id: '703',
      assignee_name: expect.any(String),
      phone_call_type_id: '5',
      phone_call_type: 'Test results',
      notify_list: ['704'],
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
      notes: [{ at: expect.any(String), by: expect.any(String), text: 'Shown live.' }],
    });
    expect('insurances' in data).toBe(include === 'insurances,tasks');
  }
  expect((await fetchLive(fixture.api, search)).data).not.toHaveProperty('tasks');
  const body = { ...search, include: 'tasks,claims' };
  const refused = await fixture.api.call('POST', '/v1/patients/fetch', { body });
  expectApiError(refused, 400, 'include takes only: insurances, tasks', 'include');
});

test('a task and its note are written once if their responses are lost', async () => {
  await setFault(fixture.api, 'create_task', 'lose_answer');
  const created = await createTask({ description: 'Once only' });
  expect(created.event.event_type).toBe('task.created');
  await setFault(fixture.api, 'add_task_note', 'lose_answer');
  const noted = await addNote(created.event.data.emr_task_id, 'Once only');
  expect(noted.event.event_type).toBe('task_note.created');
  const entries = await fixture.api.ledger();
  for (const id of [created.accepted.task_id, noted.accepted.task_note_id])
    expect(entries.filter(({ marker, applied }) => applied && marker?.startsWith(id))).toHaveLength(1);
});

test('fields that a FHIR server has no place for are rejected by name', async () => {
  const { api, mrn } = await fhirAccount(fixture);
  for (const [field, value] of [
    ['phone_call_type_id', '5'],
    ['notify_list', ['staff-1']],
  ] as const) {
    const response = await send({ description: 'x', patient_mrn: mrn, [field]: value }, api);
    expectApiError(response, 400, `Field '${field}' is not supported by this EMR.`, field);
  }
});

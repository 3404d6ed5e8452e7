import type * as fhir from 'fhir/r4.js';
import { beforeAll, expect, test } from 'vitest';
import type { NewTask } from '../../../../src/emr/operations/tasks.ts';
import { sharedFhirServer } from '../../../harness/fhir/sharedFhirServer.ts';
import { awaitFailure, createEndpoint } from '../../larkspur/fixture.ts';
import { bySecret, signedIn } from '../fixture.ts';
import { type Charts, linkCharts, markedBy, performWrite } from './charts.ts';

const server = sharedFhirServer({ data: 'small' });
let charts: Charts;
beforeAll(async () => {
  charts = await linkCharts(server);
});

let count = 0;
const newMarker = () => `task-${++count}-`;
const task: NewTask = {
  patient_ehr_id: 'pat-1',
  subject: 'Synthetic subject',
  description: 'Synthetic description',
  assigned_to_ehr_id: 'staff-1',
  phone_call_type_ehr_id: null,
  notified_ehr_ids: [],
};
const newTask = async () => (await charts.emr.createTask.send(task, newMarker())).ehr_id;
const tasks = (marker: string) => markedBy<fhir.Task>(server, 'Task', marker);
const shown = async (id: string) => (await charts.emr.listTasks('pat-1')).find((each) => each.emr_task_id === id);

test('a task is stored for its assignee and shown in the chart', async () => {
  const marker = newMarker();
  const { ehr_id } = await charts.emr.createTask.send(task, marker);
  expect(await tasks(marker)).toMatchObject([
    {
      id: ehr_id,
      status: 'requested',
      intent: 'order',
      code: { text: 'Synthetic subject' },
      description: 'Synthetic description',
      for: { reference: 'Patient/pat-1' },
      owner: { reference: 'Practitioner/staff-1' },
      authoredOn: expect.any(String),
    },
  ]);
  expect(await shown(ehr_id)).toMatchObject({ subject: 'Synthetic subject', assignee_user_id: 'staff-1', notes: [] });
  expect((await charts.emr.listTasks('pat-2')).map(({ emr_task_id }) => emr_task_id)).not.toContain(ehr_id);
});

test('notes are added to those that the task has', async () => {
  const task_ehr_id = await newTask();
  await charts.emr.addTaskNote.send({ task_ehr_id, text: 'First' }, newMarker());
  await charts.emr.addTaskNote.send({ task_ehr_id, text: 'Second' }, newMarker());
  expect((await shown(task_ehr_id))?.notes.map(({ text }) => text)).toEqual(['First', 'Second']);
});

test('a note on a task that does not exist fails, and nothing is written', async () => {
  const failure = await awaitFailure(charts.emr.addTaskNote.send({ task_ehr_id: 'none', text: 'x' }, newMarker()));
  expect(failure.kind).toBe('not_found');
});

test('a task and a note are written once, wherever the write is interrupted', async () => {
  // The first write shows that the server keeps markers.
  const task_ehr_id = await newTask();
  for (const when of ['before', 'after'] as const) {
    for (let n = 1; n <= 4; n++) {
      charts.lose(n, when);
      const marker = newMarker();
      await performWrite(charts.emr.createTask, task, marker);
      expect(await tasks(marker)).toHaveLength(1);
      charts.lose(n, when);
      const text = `Note ${when} ${n}`;
      await performWrite(charts.emr.addTaskNote, { task_ehr_id, text }, newMarker());
      expect((await shown(task_ehr_id))?.notes.filter((note) => note.text === text)).toHaveLength(1);
    }
  }
  charts.lose(0, 'before');
});

test('a server without updates offers tasks, but no notes on them', async () => {
  server.faults.withheld = { Task: ['update'] };
  const { capabilities = [] } = await signedIn(createEndpoint(server.url), bySecret(server));
  expect(capabilities).toContain('createTask');
  expect(capabilities).not.toContain('addTaskNote');
});

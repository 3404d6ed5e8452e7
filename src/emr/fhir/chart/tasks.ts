import type * as fhir from 'fhir/r4.js';
import type { LiveTask } from '../../../model/liveChart.ts';
import { EmrFailure } from '../../emrFailure.ts';
import type { Operations } from '../../operations/operations.ts';
import type { NewTask } from '../../operations/tasks.ts';
import { toCallNote } from '../encounters/callNotes.ts';
import { type FhirOperation, reading } from '../operation.ts';
import { createResolver, type Emr, refId, refIds, searchChart } from '../references.ts';
import { can, searches, stores } from '../transport/capabilities.ts';
import { readMarkers } from '../transport/creates.ts';
import { list, readLabel, readName, text } from '../values.ts';
import { findOrCreate, rejectUnsupported, requireId, requireRecords } from '../writeSteps.ts';

/** The tasks of a chart, without the messages of telephone encounters, which are shown with their encounter. */
async function listTasks({ client }: Emr, patient_ehr_id: string): Promise<LiveTask[]> {
  const all = await searchChart<fhir.Task>(client, 'Task', patient_ehr_id, (task) => [task.for]);
  const tasks = all.filter((task) => task.status !== 'entered-in-error' && toCallNote(task) === undefined);
  const owners = refIds(
    tasks.map(({ owner }) => owner),
    'Practitioner',
  );
  const people = await createResolver(client).load<fhir.Practitioner>('Practitioner', owners);
  return tasks.map((task) => {
    const assignee_user_id = refId(task.owner, 'Practitioner');
    const assignee = people.get(assignee_user_id ?? '');
    return {
      emr_task_id: task.id ?? '',
      subject: readLabel(task.code),
      description: text(task.description),
      status: text(task.status),
      assignee_user_id,
      assignee_name: readName(assignee?.name).full ?? text(task.owner?.display),
      phone_call_type_id: null,
      phone_call_type: null,
      notify_list: [],
      created_at: text(task.authoredOn),
      notes: list(task.note).map((note) => ({
        at: text(note.time),
        by: text(note.authorString) ?? text(note.authorReference?.display),
        text: text(note.text) ?? '',
      })),
    };
  });
}

function createTask({ client }: Emr): Operations['createTask'] {
  return {
    send: async (input, marker) => {
      rejectUnsupported({
        phone_call_type_id: input.phone_call_type_ehr_id,
        notify_list: input.notified_ehr_ids.join(),
      });
      await requireRecords(client, input.patient_ehr_id, { 'staff member': input.assigned_to_ehr_id });
      const { resource } = await findOrCreate(client, toTask(input), marker);
      return { ehr_id: requireId(resource) };
    },
    ...(client.canFind('Task') && {
      find: async (marker) => {
        const created = await client.findCreated<fhir.Task>('Task', marker);
        return created && { ehr_id: requireId(created) };
      },
    }),
  };
}

/** A note is an annotation of the Task. The Task has the note's marker too, by which a lost update is found. */
function addTaskNote({ client }: Emr): Operations['addTaskNote'] {
  return {
    send: async ({ task_ehr_id, text: note }, marker) => {
      const present = await client.read<fhir.Task>('Task', task_ehr_id);
      if (!present || present.status === 'entered-in-error') throw noSuchTask(task_ehr_id);
      const patient_ehr_id = refId(present.for, 'Patient');
      if (patient_ehr_id !== null) await requireRecords(client, patient_ehr_id);
      const annotation: fhir.Annotation = { time: new Date().toISOString(), text: note };
      // An earlier attempt may have added it.
      const add = (task: fhir.Task): fhir.Task =>
        readMarkers(task).includes(marker) ? task : { ...task, note: [...list(task.note), annotation] };
      const { after } = await client.update<fhir.Task>('Task', task_ehr_id, add, marker);
      return { ehr_id: requireId(after) };
    },
    ...(client.canFind('Task') && {
      find: async (marker) => {
        const task = await client.findByMarker<fhir.Task>('Task', marker);
        return task && { ehr_id: requireId(task) };
      },
    }),
  };
}

function noSuchTask(ehr_id: string): EmrFailure {
  return new EmrFailure('not_found', `The EMR has no task with ID '${ehr_id}'.`);
}

function toTask(input: NewTask): fhir.Task {
  const { subject, assigned_to_ehr_id } = input;
  return {
    resourceType: 'Task',
    status: 'requested',
    intent: 'order',
    ...(subject !== null && { code: { text: subject } }),
    description: input.description,
    for: { reference: `Patient/${input.patient_ehr_id}` },
    authoredOn: new Date().toISOString(),
    ...(assigned_to_ehr_id !== null && { owner: { reference: `Practitioner/${assigned_to_ehr_id}` } }),
  };
}

export const task_operations: readonly FhirOperation[] = [
  { operation: 'listTasks', requires: [searches('Task', 'patient')], open: reading(listTasks) },
  {
    operation: 'createTask',
    requires: [stores('Task')],
    unsupported_fields: ['phone_call_type_id', 'notify_list'],
    open: createTask,
  },
  {
    operation: 'addTaskNote',
    requires: [can('Task', 'read', 'update'), searches('Task', 'identifier')],
    open: addTaskNote,
  },
];

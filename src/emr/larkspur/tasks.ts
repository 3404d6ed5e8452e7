import { Type } from 'typebox';
import { Compile } from 'typebox/compile';
import type { LiveTask } from '../../model/liveChart.ts';
import { collect } from '../operations/operation.ts';
import type { Operations } from '../operations/operations.ts';
import { path } from './call.ts';
import { defineList, readPages } from './lists.ts';
import { defineWrite, type LarkspurOperation, reading, toWritten } from './operation.ts';
import type { SendRequest } from './session.ts';
import { id, isoInstant, text, textOrNull } from './values.ts';

async function listTasks(request: SendRequest, patient_ehr_id: string): Promise<LiveTask[]> {
  const rows = await collect(readPages(request, { ...tasks, path: path`/api/patients/${patient_ehr_id}/tasks` }));
  return rows.map(({ ehr_id: emr_task_id, ...fields }) => ({ emr_task_id, ...fields }));
}

const tasks = defineList({
  path: '',
  row: Compile(
    Type.Object({
      taskId: id,
      subject: text,
      description: text,
      statusCode: text,
      assignedTo: text,
      assignedToName: textOrNull,
      phoneCallTypeId: text,
      phoneCallType: textOrNull,
      notifyList: Type.Array(text),
      createdAt: text,
      notes: Type.Array(Type.Object({ at: text, by: text, text })),
    }),
  ),
  toSource: (row) => ({
    ehr_id: row.taskId,
    subject: row.subject,
    description: row.description,
    status: row.statusCode,
    assignee_user_id: row.assignedTo,
    assignee_name: row.assignedToName,
    phone_call_type_id: row.phoneCallTypeId,
    phone_call_type: row.phoneCallType,
    notify_list: row.notifyList,
    created_at: isoInstant(row.createdAt),
    notes: row.notes.map(({ at, by, text }) => ({ at: isoInstant(at), by, text })),
  }),
});

const createTask = defineWrite<Operations['createTask']>(
  'create_task',
  (input) => ({
    path: path`/api/patients/${input.patient_ehr_id}/tasks`,
    body: {
      subject: input.subject,
      description: input.description,
      assignedTo: input.assigned_to_ehr_id,
      phoneCallTypeId: input.phone_call_type_ehr_id,
      notifyList: input.notified_ehr_ids,
    },
  }),
  toWritten,
);

const addTaskNote = defineWrite<Operations['addTaskNote']>(
  'add_task_note',
  (input) => ({ path: path`/api/tasks/${input.task_ehr_id}/notes`, body: { text: input.text } }),
  toWritten,
);

export const task_operations: readonly LarkspurOperation[] = [
  { operation: 'listTasks', open: reading(listTasks) },
  {
    operation: 'createTask',
    required_fields: ['subject', 'assignee_user_id', 'phone_call_type_id'],
    open: createTask,
  },
  { operation: 'addTaskNote', open: addTaskNote },
];

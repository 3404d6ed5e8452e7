import { Type } from 'typebox';
import { findMrn, patients } from '../charts/patients.ts';
import { addTask, addTaskNote, findMrnOfTask, listTasks, requireTask } from '../charts/tasks.ts';
import { write } from '../http/operation.ts';
import { requireCode } from '../practice/practice.ts';
import { staff } from '../practice/staff.ts';
import { getRecord, requireActive } from '../records/recordKind.ts';
import { listOfPatient } from './charts.ts';
import { recordId, requiredText, writeBody } from './schemas.ts';

const NOTIFIED_MAX = 100;

export const taskOperations = [
  listOfPatient('list_tasks', 'tasks', listTasks),
  write({
    name: 'create_task',
    path: '/api/patients/:patientId/tasks',
    body: writeBody({
      subject: requiredText(32_000),
      description: requiredText(32_000),
      assignedTo: recordId,
      phoneCallTypeId: recordId,
      notifyList: Type.Optional(Type.Array(recordId, { maxItems: NOTIFIED_MAX })),
    }),
    patientMrn: (sql, params) => findMrn(sql, params.patientId),
    write: async ({ sql, context, session, params: { patientId }, body }) => {
      await getRecord(sql, patients, patientId);
      await requireCode(sql, 'phone_call_type', body.phoneCallTypeId);
      for (const id of [body.assignedTo, ...(body.notifyList ?? [])]) await requireActive(sql, staff, id);
      const task = {
        subject: body.subject,
        description: body.description,
        assignedTo: body.assignedTo,
        phoneCallTypeId: body.phoneCallTypeId,
        notifyList: body.notifyList ?? [],
      };
      const record_id = await addTask(sql, {
        ...task,
        patientId,
        createdAt: context.now(),
        createdBy: session.displayName,
      });
      const after = { ...task, notifyList: task.notifyList.join(', ') };
      return { record_id, changes: [{ record: 'task', record_id, patient_id: patientId, after }] };
    },
  }),
  write({
    name: 'add_task_note',
    path: '/api/tasks/:taskId/notes',
    body: writeBody({ text: requiredText(32_000) }),
    patientMrn: (sql, params) => findMrnOfTask(sql, params.taskId),
    write: async ({ sql, context, session, params, body: { text } }) => {
      const { taskId, patientId } = await requireTask(sql, params.taskId);
      const record_id = await addTaskNote(sql, taskId, { text, at: context.now(), by: session.displayName });
      return { record_id, changes: [{ record: 'task note', record_id, patient_id: patientId, after: { text } }] };
    },
  }),
];

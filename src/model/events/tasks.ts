import { Type } from 'typebox';
import { nullable } from '../fields.ts';
import { type EventKinds, reasons, refusal } from './event.ts';

const task_note = {
  task_note_id: Type.String(),
  emr_task_id: Type.String(),
};

export const task_events = {
  'task.created': {
    summary: 'The task was created in the EMR.',
    has_job_id: true,
    has_account_reference: true,
    trigger: { request: 'task' },
    data: Type.Object(
      {
        task_id: Type.String(),
        emr_task_id: Type.String(),
        subject: nullable(Type.String({ description: 'Short title', examples: ['Laboratory results'] })),
        description: Type.String({
          description: 'What has to be done',
          examples: ['Call back about the laboratory results.'],
        }),
        assignee_user_id: nullable(Type.String()),
      },
      { schema_name: 'Task', description: 'A task in the EMR' },
    ),
  },
  'task.failed': {
    summary: 'The task was not created, or its outcome is unknown.',
    has_job_id: true,
    has_account_reference: true,
    trigger: { request: 'task', fault: refusal('create_task') },
    data: Type.Object({
      task_id: Type.String(),
      patient_mrn: Type.String(),
      failure_reason: Type.String(),
      reasons,
    }),
  },
  'task_note.created': {
    summary: 'The note was added to the task.',
    has_job_id: true,
    has_account_reference: true,
    trigger: { request: 'task_note' },
    data: Type.Object(
      {
        ...task_note,
        note: Type.String({
          description: 'Text of the note',
          examples: ['Left a message on the answering machine.'],
        }),
      },
      { schema_name: 'TaskNote', description: 'A note on a task in the EMR' },
    ),
  },
  'task_note.failed': {
    summary: 'The note was not added to the task.',
    has_job_id: true,
    has_account_reference: true,
    trigger: { request: 'task_note', fault: refusal('add_task_note') },
    data: Type.Object({ ...task_note, failure_reason: Type.String(), reasons }),
  },
} as const satisfies EventKinds;

import { Type } from 'typebox';
import { success } from '../../../model/fields.ts';
import { createTask } from '../../../product/writes/tasks/task.create.ts';
import { createTaskNote } from '../../../product/writes/tasks/taskNote.create.ts';
import { writeEndpoint } from '../writeEndpoint.ts';

export const tasksCreate = writeEndpoint(createTask, {
  id: 'tasks.create',
  group: 'Tasks',
  method: 'POST',
  path: '/v1/tasks',
  summary: 'Create a task',
  description:
    'Creates a task about a patient for the staff of the practice. Depending on the EMR, `subject`, `assignee_user_id` and `phone_call_type_id` are required; a missing one is 400.',
  response: Type.Object({ success, message: Type.String(), task_id: Type.String(), job_id: Type.Integer() }),
  errors: ['operation_not_offered', 'unsupported_field', 'staff_not_found', 'record_not_found', 'first_sync_pending'],
  events: ['task.created', 'task.failed'],
});

export const tasksNotesCreate = writeEndpoint(createTaskNote, {
  id: 'tasks.notes.create',
  group: 'Tasks',
  method: 'POST',
  path: '/v1/tasks/notes',
  summary: 'Add a note to a task',
  description: 'Adds the text to the notes of a task, whoever created the task.',
  response: Type.Object({ success, message: Type.String(), task_note_id: Type.String(), job_id: Type.Integer() }),
  errors: ['operation_not_offered'],
  events: ['task_note.created', 'task_note.failed'],
});

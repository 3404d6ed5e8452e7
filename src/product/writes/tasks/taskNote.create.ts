import type { EventOf } from '../../../model/events.ts';
import { TaskNoteRequest } from '../../../model/requests/tasks.ts';
import { defineWrite, failureFields } from '../defineWrite.ts';
import { laneKey } from '../patients/patientLane.ts';

const step = 'add_note';

/** Adds a note to a task. */
export const createTaskNote = defineWrite({
  type: 'task_note.create',
  label: 'Task note',
  plural_label: 'Task notes',
  body: TaskNoteRequest,
  sample: { emr_task_id: '700001', note: 'Left a message on the answering machine.' },
  needs: ['addTaskNote'],
  restricted: false,
  stored_by: 'addTaskNote',
  // Only the EMR knows the task's patient, so order is kept among the notes of the task.
  check: async ({ body }) => ({ lane: { key: laneKey('task', body.emr_task_id) }, lookups: {} }),
  acceptedResponse: ({ id, job_id }) => ({
    success: true,
    message: 'Task note queued. A webhook event follows on completion.',
    task_note_id: id,
    job_id,
  }),
  run: async ({ id, input, emr, steps }) => {
    await steps.write(step, emr.addTaskNote, { task_ehr_id: input.emr_task_id, text: input.note });
    return { event: created(id, input) };
  },
  onFailure: ({ id, input, outcomes, failure }) => {
    if (outcomes.has(step)) return { state: 'succeeded', event: created(id, input) };
    const data = { task_note_id: id, emr_task_id: input.emr_task_id, ...failureFields(failure) };
    return { state: 'failed', event: { type: 'task_note.failed', data } };
  },
});

function created(id: string, { emr_task_id, note }: TaskNoteRequest): EventOf {
  return { type: 'task_note.created', data: { task_note_id: id, emr_task_id, note } };
}

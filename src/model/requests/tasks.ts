import { type Static, Type } from 'typebox';
import { refersTo, text } from '../fields.ts';

const notified_max = 50;

/** What an EMR requires beyond these is declared by its connector (`required_fields`). */
export const TaskRequest = Type.Object(
  {
    description: text({ description: 'What has to be done', examples: ['Call back about the laboratory results.'] }),
    patient_mrn: text({ description: 'Medical Record Number of the patient' }),
    subject: Type.Optional(
      text({
        maxLength: 200,
        description: 'Short title. Some EMRs require it',
        examples: ['Laboratory results'],
      }),
    ),
    assignee_user_id: Type.Optional(
      text({
        ...refersTo('staff.ehr_id'),
        description: 'EMR ID of the staff member, from GET /v1/staff (ehr_id). Some EMRs require it',
      }),
    ),
    phone_call_type_id: Type.Optional(
      text({
        ...refersTo('settings.phone_call_types.id'),
        description: 'ID of a type of phone call, from GET /v1/settings. Some EMRs require it',
        examples: ['5'],
      }),
    ),
    notify_list: Type.Optional(
      Type.Array(text(), {
        maxItems: notified_max,
        description: 'EMR IDs of staff members who are notified of the task, from GET /v1/staff (ehr_id)',
        examples: [['704']],
      }),
    ),
  },
  { schema_name: 'TaskCreate', description: 'A task for the staff of the practice, about a patient' },
);
export type TaskRequest = Static<typeof TaskRequest>;

export const TaskNoteRequest = Type.Object(
  {
    emr_task_id: text({ maxLength: 200, description: 'EMR ID of the task (emr_task_id of its event)' }),
    note: text({ description: 'Text of the note', examples: ['Left a message on the answering machine.'] }),
  },
  { schema_name: 'TaskNoteCreate', description: 'A note to add to a task' },
);
export type TaskNoteRequest = Static<typeof TaskNoteRequest>;

import { Type } from 'typebox';
import { failure_code } from '../catalog/failures.ts';
import { choices, nullable, text } from './fields.ts';

/** The client's own reference of a write. */
export const reference = text({
  minLength: 1,
  maxLength: 100,
  description: 'Your own reference for the request, returned with its job and its event; not necessarily unique',
  examples: ['intake-4711'],
  // In examples it would look like a part of every request.
  not_in_examples: true,
});

export const Job = Type.Object(
  {
    job_id: Type.Integer({ description: 'ID of the job' }),
    type: Type.String({ description: 'The write that the job performs', examples: ['telephone_encounter.create'] }),
    reference: nullable(Type.String({ description: 'The `reference` of the request; null if it had none' })),
    status: choices(
      {
        queued: 'Waiting to run, or to be retried',
        running: 'Being performed',
        succeeded: 'Everything is saved in the EMR',
        partial: 'Saved in the EMR except for a part that the event names',
        failed: 'Nothing is saved in the EMR',
        cancelled: 'Canceled before anything was sent to the EMR',
        needs_review: 'It is unknown whether it was saved: check in the EMR',
      },
      { description: 'State of the job', examples: ['succeeded'] },
    ),
    attempts: Type.Integer({ description: 'How many times the job was started' }),
    created_at: Type.String({ format: 'date-time', description: 'When the request was accepted' }),
    started_at: nullable(Type.String({ format: 'date-time', description: 'When the first attempt started' })),
    finished_at: nullable(Type.String({ format: 'date-time', description: 'When the job finished; null until then' })),
    edited_from_job_id: nullable(
      Type.Integer({
        description: 'The failed job whose request an operator has edited and sent again with this one; null otherwise',
      }),
    ),
    edited_copy_job_id: nullable(
      Type.Integer({
        description: 'The job with which an operator has edited and sent this request again; null if there is none',
      }),
    ),
    error: Type.Union(
      [
        Type.Object(
          { code: failure_code, message: Type.String({ description: 'Human-readable reason for the failure' }) },
          { schema_name: 'JobError', description: 'Why a job failed' },
        ),
        Type.Null(),
      ],
      { description: 'Why the job failed; null if it did not', examples: [null] },
    ),
    event_id: nullable(
      Type.String({ description: 'ID of the event that reports the outcome; null until the job has finished' }),
    ),
    timeline: Type.Array(
      Type.Object(
        {
          step: Type.String({ description: 'Name of the step', examples: ['create_encounter'] }),
          kind: choices(
            {
              note: 'Something worth knowing, such as a failed attempt',
              intent: 'A request to the EMR is about to be sent',
              outcome: 'The result of a request to the EMR',
            },
            { description: 'What the entry records', examples: ['outcome'] },
          ),
          attempt: Type.Integer({ description: 'Number of the attempt, starting at 1' }),
          at: Type.String({ format: 'date-time', description: 'When it happened' }),
          detail: nullable(
            Type.Object(
              {},
              {
                description: 'Details of the step, without health data',
                additionalProperties: true,
                examples: [{ ehr_id: '30041' }],
              },
            ),
          ),
        },
        { schema_name: 'JobTimelineEntry', description: 'A step of a job' },
      ),
      { description: 'What the job has done so far' },
    ),
  },
  { schema_name: 'Job', description: 'A write or a sync that Chartwire performs in the background' },
);

/** The body of every error, except that of an expired link. */
export const ErrorBody = Type.Object(
  {
    success: Type.Literal(false, { description: 'Always false' }),
    message: Type.String({ description: 'Human-readable message; its wording may change' }),
    code: Type.String({ description: 'Stable, machine-readable error code; new codes may be added' }),
    request_id: Type.String({ description: 'ID of the request; include it when you ask for help' }),
    field: Type.Optional(Type.String({ description: 'The field that caused the error, if there is one' })),
    errors: Type.Optional(
      Type.Array(
        Type.Object(
          {
            field: nullable(Type.String({ description: 'The field; null if the request as a whole is meant' })),
            code: Type.String({ description: 'Stable, machine-readable error code of the field' }),
            message: Type.String({ description: 'What is wrong with the field; its wording may change' }),
          },
          { schema_name: 'FieldError', description: 'An invalid field of a request' },
        ),
        { description: 'All invalid fields, if the request is not valid; the first is that of the message' },
      ),
    ),
    remedy: Type.String({ description: 'What to do about it; its wording may change' }),
    doc_url: Type.String({ description: 'The section about the code in the documentation of this installation' }),
    claim_id: Type.Optional(
      Type.String({ description: 'With `claim_exists`: Chartwire’s ID of the claim that the appointment has' }),
    ),
  },
  { schema_name: 'Error', description: 'The body of an error response' },
);

/** The body of an error if the link of the account has expired. Its fields are prescribed. */
export const LoginRequiredBody = Type.Object(
  {
    success: Type.Literal(false, { description: 'Always false' }),
    message: Type.String({ description: 'Human-readable instructions; their wording may change' }),
    error: Type.Literal('login_required', { description: 'Always `login_required`' }),
  },
  { schema_name: 'LoginRequiredError', description: 'The account link has expired: run Link in update mode' },
);

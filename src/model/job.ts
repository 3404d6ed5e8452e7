import { Type } from 'typebox';
import { failure_code } from '../failures.ts';
import { date_time, nullable } from './fields.ts';

export const Job = Type.Object({
  job_id: Type.Integer(),
  type: Type.String({ examples: ['telephone_encounter.create'] }),
  status: Type.Enum(['queued', 'running', 'succeeded', 'partial', 'failed', 'needs_review'], {
    examples: ['succeeded'],
  }),
  attempts: Type.Integer(),
  created_at: date_time,
  started_at: nullable(date_time),
  finished_at: nullable(date_time),
  error: Type.Union([Type.Object({ code: failure_code, message: Type.String() }), Type.Null()], { examples: [null] }),
  event_id: nullable(Type.String()),
  timeline: Type.Array(
    Type.Object({
      step: Type.String({ examples: ['create_encounter'] }),
      kind: Type.Enum(['note', 'intent', 'outcome'], { examples: ['outcome'] }),
      attempt: Type.Integer(),
      at: date_time,
      detail: nullable(Type.Object({}, { additionalProperties: true, examples: [{ ehr_id: '30041' }] })),
    }),
  ),
});

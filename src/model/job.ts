import { Type } from 'typebox';
import { date_time, nullable } from './fields.ts';

export const Job = Type.Object({
  job_id: Type.Integer(),
  type: Type.String(),
  status: Type.Enum(['queued', 'running', 'succeeded', 'partial', 'failed', 'needs_review']),
  attempts: Type.Integer(),
  created_at: date_time,
  started_at: nullable(date_time),
  finished_at: nullable(date_time),
  error: nullable(Type.Object({ code: Type.String(), message: Type.String() })),
  event_id: nullable(Type.String()),
  timeline: Type.Array(
    Type.Object({
      step: Type.String(),
      kind: Type.Enum(['note', 'intent', 'outcome']),
      attempt: Type.Integer(),
      at: date_time,
      detail: nullable(Type.Object({}, { additionalProperties: true })),
    }),
  ),
});

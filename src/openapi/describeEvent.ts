import { type TObject, Type } from 'typebox';
import { type EventType, events } from '../events.ts';
import { composeExample } from './composeExample.ts';
import { describeSchema } from './describeSchema.ts';
import type { EventCall } from './document.ts';

/** The schema of an event as it is sent. */
export function envelopeOf(type: EventType): TObject {
  const { has_job_id, has_account_reference, data } = events[type];
  return Type.Object({
    id: Type.String({ description: 'The same for every delivery attempt' }),
    object: Type.Literal('event'),
    created: Type.String({ format: 'date-time' }),
    type: Type.Literal(type),
    ...(has_job_id ? { job_id: Type.String({ description: 'The job_id of the request, as a string' }) } : {}),
    ...(has_account_reference ? { access_token_reference_id: Type.String() } : {}),
    data,
  });
}

/** Describes an event as a request to a webhook endpoint. */
export function describeEvent(type: EventType): EventCall {
  const envelope = envelopeOf(type);
  const example = composeExample(envelope, 'response');
  return {
    summary: events[type].summary,
    requestBody: {
      required: true,
      content: { 'application/json': { schema: describeSchema(envelope), example } },
    },
    responses: { '2XX': { description: 'Received. Any other status, or no response within 15 seconds, is retried.' } },
  };
}

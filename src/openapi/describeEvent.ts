import { type TObject, Type } from 'typebox';
import { type EventType, events } from '../events.ts';
import { compose } from './composeExample.ts';
import { describeSchema } from './describeSchema.ts';
import type { EventCall } from './document.ts';

/** What is sent for an event: its envelope with exactly its data. */
export function envelopeOf(type: EventType): TObject {
  const { names_job, names_account, data } = events[type];
  return Type.Object({
    id: Type.String({ description: 'The same on every try' }),
    object: Type.Literal('event'),
    created: Type.String({ format: 'date-time' }),
    type: Type.Literal(type),
    ...(names_job ? { job_id: Type.String({ description: 'The job_id of the request, as a string' }) } : {}),
    ...(names_account ? { access_token_reference_id: Type.String() } : {}),
    data,
  });
}

/** An event as the call that a registered address receives. */
export function describeEvent(type: EventType): EventCall {
  const envelope = envelopeOf(type);
  const example = compose(envelope, 'answer');
  return {
    summary: events[type].summary,
    requestBody: {
      required: true,
      content: { 'application/json': { schema: describeSchema(envelope), example } },
    },
    responses: { '2XX': { description: 'Taken. Any other answer, and none within 15 s, is tried again.' } },
  };
}

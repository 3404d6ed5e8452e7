import { type TObject, Type } from 'typebox';
import { type EventType, event_types, events } from '../../model/events.ts';
import { composeExample } from './composeExample.ts';
import type { Describer } from './describeSchema.ts';
import type { EventCall, Schema } from './document.ts';
import { pascalCase } from './names.ts';

/** The schema of an event as it is sent. */
export function envelopeOf(type: EventType): TObject {
  const { has_job_id, has_account_reference, data, summary } = events[type];
  return Type.Object(
    {
      id: Type.String({ description: 'ID of the event, the same for every delivery attempt' }),
      object: Type.Literal('event', { description: 'Always `event`' }),
      created: Type.String({ format: 'date-time', description: 'When the event occurred' }),
      type: Type.Literal(type, { description: 'The type of the event' }),
      ...(has_job_id ? { job_id: Type.String({ description: 'The job_id of the request, as a string' }) } : {}),
      ...(has_account_reference ? { access_token_reference_id: Type.String() } : {}),
      data,
    },
    { schema_name: schemaNameOf(type), description: summary },
  );
}

/** Describes an event as a request to a webhook endpoint. */
export function describeEvent(type: EventType, { describeSchema }: Describer): EventCall {
  const envelope = envelopeOf(type);
  const example = composeExample(envelope, 'response');
  return {
    operationId: `event.${type}`,
    security: [],
    summary: events[type].summary,
    requestBody: {
      required: true,
      content: { 'application/json': { schema: describeSchema(envelope), example } },
    },
    responses: { '2XX': { description: 'Received. Any other status, or no response within 15 seconds, is retried.' } },
  };
}

/** Any event: a union that `type` tells apart. */
export function describeAnyEvent(): Schema {
  const refs = event_types.map((type) => [type, `#/components/schemas/${schemaNameOf(type)}`] as const);
  return {
    description: 'An event as it is sent to a webhook endpoint. `type` says which one it is.',
    oneOf: refs.map(([, $ref]) => ({ $ref })),
    discriminator: { propertyName: 'type', mapping: Object.fromEntries(refs) },
  };
}

/** `patient.insurance.added` → `PatientInsuranceAddedEvent`. */
function schemaNameOf(type: EventType): string {
  return `${pascalCase(type)}Event`;
}

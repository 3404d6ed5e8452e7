import type * as fhir from 'fhir/r4.js';
import { EmrFailure, type EmrWrite, type Operations } from '../../connector.ts';
import { type CallNote, type CallNoteResource, toCommunication, toTask } from '../charts/callNotes.ts';
import { isTelephoneEncounter, telephone_class, telephone_type } from '../charts/calls.ts';
import { participation_system } from '../lists/appointments.ts';
import { type Emr, refId } from '../references.ts';
import type { FhirClient } from '../transport/client.ts';
import { text } from '../values.ts';
import { createInForm, findCreatedInForm, findInForm, requireForm } from './forms.ts';
import { requireRecords } from './requireRecords.ts';
import { afterCreate, idOf, rejectUnsupported } from './steps.ts';

type Create = Operations['createTelephoneEncounter'];
type Call = Create extends EmrWrite<infer In, infer _Out> ? In : never;
type AddAction = Operations['addTelephoneAction'];
type Action = AddAction extends EmrWrite<infer In, infer _Out> ? In : never;

/** The forms of a message and of an action, the preferred one first: only a Task is work that someone has to do. */
const message_forms = ['Task', 'Communication'] as const;
const action_forms = ['Communication', 'Task'] as const;

/** Stores the call as an Encounter, then the message with its assignee, caller and pharmacy as a Task of it. */
export function createTelephoneEncounter({ client }: Emr): Create {
  return {
    send: async (input, marker) => {
      rejectUnsupported({ template_name: input.template_name });
      // Refuses before an encounter without a message exists.
      requireForm(client, message_forms);
      const present = client.canFind('Encounter') && (await client.findByMarker<fhir.Encounter>('Encounter', marker));
      if (!present) {
        await requireRecords(client, input.patient_ehr_id, {
          provider: input.provider_ehr_id,
          location: input.location_ehr_id,
          'staff member': input.assigned_to_ehr_id,
          pharmacy: input.pharmacy_ehr_id,
        });
      }
      const id = idOf(present || (await client.create(toEncounter(input), marker)));
      const message = 'The telephone encounter was stored, but its message was not.';
      const store = async () =>
        (await findInForm(client, message_forms, messageMarker(marker))) ??
        storeNote(client, toMessage(input, id), message_forms, messageMarker(marker));
      await afterCreate(message, store, { required: true });
      return { ehr_id: id };
    },
    ...(client.canFind('Encounter') && {
      find: async (marker) => {
        const found = await client.findCreated<fhir.Encounter>('Encounter', marker);
        // Incomplete: `send` creates what is missing.
        const complete = found && (await findInForm(client, message_forms, messageMarker(marker)));
        return complete && { ehr_id: idOf(found) };
      },
    }),
  };
}

/** Stores an entry of the action log as a Communication of the Encounter. */
export function addTelephoneAction({ client }: Emr): AddAction {
  const can_find = action_forms.some((type) => client.canFind(type));
  return {
    send: async (input, marker) => {
      requireForm(client, action_forms);
      const present = await findInForm(client, action_forms, marker);
      if (present) return { ehr_id: idOf(present) };
      const encounter = await requireCall(client, input.encounter_ehr_id);
      const note = toAction(input, refId(encounter.subject, 'Patient'));
      return { ehr_id: idOf(await storeNote(client, note, action_forms, marker)) };
    },
    ...(can_find && {
      find: async (marker) => {
        const found = await findCreatedInForm(client, action_forms, marker);
        return found && { ehr_id: idOf(found) };
      },
    }),
  };
}

/** The telephone encounter with this id. Actions and refills belong to calls, not to other visits. */
export async function requireCall(client: FhirClient, ehr_id: string): Promise<fhir.Encounter> {
  const encounter = await client.read<fhir.Encounter>('Encounter', ehr_id);
  const is_call = encounter && (isTelephoneEncounter(encounter) || encounter.class?.code === telephone_class.code);
  if (!is_call || encounter.status === 'entered-in-error') {
    throw new EmrFailure('not_found', `The EMR has no telephone encounter with ID '${ehr_id}'.`);
  }
  return encounter;
}

function storeNote(
  client: FhirClient,
  note: CallNote,
  forms: readonly CallNoteResource['resourceType'][],
  marker: string,
): Promise<fhir.FhirResource> {
  return createInForm(
    client,
    forms.map((type) => (type === 'Task' ? toTask(note) : toCommunication(note))),
    marker,
  );
}

function messageMarker(marker: string): string {
  return `${marker}-message`;
}

/** In progress: the call is closed in the EMR, once the assignee has dealt with it. */
function toEncounter(input: Call): fhir.Encounter {
  return {
    resourceType: 'Encounter',
    status: 'in-progress',
    class: telephone_class,
    type: [telephone_type],
    priority: { coding: [input.high_priority ? urgent : routine] },
    subject: { reference: `Patient/${input.patient_ehr_id}` },
    participant: [
      {
        type: [{ coding: [{ system: participation_system, code: 'PPRF' }] }],
        individual: { reference: `Practitioner/${input.provider_ehr_id}` },
      },
    ],
    period: { start: new Date().toISOString() },
    ...(text(input.reason) !== null && { reasonCode: [{ text: input.reason ?? '' }] }),
    location: [{ location: { reference: `Location/${input.location_ehr_id}` } }],
  };
}

const priorities = 'http://terminology.hl7.org/CodeSystem/v3-ActPriority';
const urgent = { system: priorities, code: 'UR', display: 'urgent' };
const routine = { system: priorities, code: 'R', display: 'routine' };

function toMessage(input: Call, encounter_ehr_id: string): CallNote {
  return {
    kind: 'message',
    encounter_ehr_id,
    patient_ehr_id: input.patient_ehr_id,
    text: text(input.message),
    at: new Date().toISOString(),
    high_priority: input.high_priority,
    assigned_to_ehr_id: input.assigned_to_ehr_id,
    caller: text(input.caller),
    pharmacy_ehr_id: input.pharmacy_ehr_id,
  };
}

function toAction(input: Action, patient_ehr_id: string | null): CallNote {
  return {
    kind: 'action',
    encounter_ehr_id: input.encounter_ehr_id,
    patient_ehr_id,
    text: input.text,
    at: new Date().toISOString(),
    high_priority: input.high_priority,
    assigned_to_ehr_id: null,
    caller: null,
    pharmacy_ehr_id: null,
  };
}

import type * as fhir from 'fhir/r4.js';
import type { LiveEncounter } from '../../../model/liveChart.ts';
import { EmrFailure } from '../../emrFailure.ts';
import type { InputOf } from '../../operations/operation.ts';
import type { Operations } from '../../operations/operations.ts';
import type { FhirOperation } from '../operation.ts';
import { type Emr, findReferencing, type Resolver, refId } from '../references.ts';
import { reads, stores } from '../transport/capabilities.ts';
import type { FhirClient } from '../transport/client.ts';
import { code_systems, groupBy, hasCode, list, readName, text, toOffsetTime } from '../values.ts';
import {
  afterCreate,
  findInForm,
  findMarked,
  formLookup,
  rejectUnsupported,
  requireForm,
  requireId,
  requireRecords,
  storeInForm,
} from '../writeSteps.ts';
import { type CallNote, type CallNoteResource, note_types, toCallNote, toCommunication, toTask } from './callNotes.ts';

/** The visit type of telephone encounters in the interface, on every EMR. */
export const telephone_visit = 'TEL';

export function isTelephoneEncounter({ type }: Pick<fhir.Encounter, 'type'>): boolean {
  return list(type).some((each) => hasCode(each, code_systems.snomed, telephone_codes));
}

/** Telephone encounter, telephone consultation. */
const telephone_codes = ['185317003', '386472008'];

/** How the service codes telephone encounters: virtual, and a call by its type. */
const telephone_class: fhir.Coding = { system: code_systems.act, code: 'VR', display: 'virtual' };
const telephone_type: fhir.CodeableConcept = {
  coding: [{ system: code_systems.snomed, code: '185317003', display: 'Telephone encounter' }],
  text: 'Telephone encounter',
};

/** The fields that a telephone encounter has beyond those of a visit. */
type CallFields = Required<
  Pick<
    LiveEncounter,
    'caller' | 'message' | 'actions' | 'notes' | 'assigned_to' | 'answered_by' | 'priority' | 'has_attachment'
  >
>;

/** The fields of the telephone encounters among these visits, by their ids. */
export async function loadCalls(
  { client, timezone }: Emr,
  visits: readonly fhir.Encounter[],
  resolver: Resolver,
): Promise<ReadonlyMap<string, CallFields>> {
  const ids = visits.filter(isTelephoneEncounter).map(({ id }) => id ?? '');
  if (ids.length === 0) return new Map();
  const references = ids.map((id) => `Encounter/${id}`);
  const notes: CallNote[] = [];
  for (const type of note_types) {
    const records = await findReferencing<CallNoteResource>(client, type, ['encounter'], references);
    notes.push(...records.map(toCallNote).filter((note) => note !== undefined));
  }
  const assignees = notes.flatMap(({ assigned_to_ehr_id }) => assigned_to_ehr_id ?? []);
  const people = await resolver.load<fhir.Practitioner>('Practitioner', assignees);
  const by_encounter = groupBy(notes, ({ encounter_ehr_id }) => encounter_ehr_id);
  return new Map(ids.map((id) => [id, toCallFields(by_encounter.get(id) ?? [], people, timezone)]));
}

function toCallFields(
  notes: readonly CallNote[],
  people: ReadonlyMap<string, fhir.Practitioner>,
  timezone: string,
): CallFields {
  const message = notes.find(({ kind }) => kind === 'message');
  const actions = notes
    .filter(({ kind }) => kind === 'action')
    .toSorted((a, b) => (Date.parse(a.at) || 0) - (Date.parse(b.at) || 0));
  return {
    caller: message?.caller ?? null,
    message: message?.text ?? null,
    // Who did it is part of the text, which the service signs.
    actions: actions.map(({ at, text }) => ({ at: toOffsetTime(at, timezone) ?? '', by: '', text: text ?? '' })),
    notes: null,
    assigned_to: readName(people.get(message?.assigned_to_ehr_id ?? '')?.name).full,
    answered_by: null,
    priority: message ? (message.high_priority ? 'urgent' : 'routine') : null,
    has_attachment: 'false',
  };
}

/** The forms of a message and of an action, the preferred one first: only a Task is work that someone has to do. */
const message_forms = ['Task', 'Communication'] as const;
const action_forms = ['Communication', 'Task'] as const;

/** Stores the call as an Encounter, then the message with its assignee, caller and pharmacy as a Task of it. */
export function createTelephoneEncounter({ client }: Emr): Operations['createTelephoneEncounter'] {
  return {
    send: async (input, marker) => {
      rejectUnsupported({ template_name: input.template_name });
      // Refuses before an encounter without a message exists.
      requireForm(client, message_forms);
      const present = await findMarked<fhir.Encounter>(client, 'Encounter', marker);
      if (!present) {
        await requireRecords(client, input.patient_ehr_id, {
          provider: input.provider_ehr_id,
          location: input.location_ehr_id,
          'staff member': input.assigned_to_ehr_id,
          pharmacy: input.pharmacy_ehr_id,
        });
      }
      const id = requireId(present ?? (await client.create(toEncounter(input), marker)));
      const storeMessage = () =>
        storeInForm(client, message_forms, messageMarker(marker), async () =>
          toForms(toMessage(input, id), message_forms),
        );
      const failure = 'The telephone encounter was stored, but its message was not.';
      await afterCreate(failure, storeMessage, { required: true });
      return { ehr_id: id };
    },
    ...(client.canFind('Encounter') && {
      find: async (marker) => {
        const encounter = await client.findCreated<fhir.Encounter>('Encounter', marker);
        // Incomplete: `send` creates what is missing.
        const complete = encounter && (await findInForm(client, message_forms, messageMarker(marker)));
        return complete && { ehr_id: requireId(encounter) };
      },
    }),
  };
}

/** Stores an entry of the action log as a Communication of the Encounter. */
export function addTelephoneAction({ client }: Emr): Operations['addTelephoneAction'] {
  return {
    send: async (input, marker) => {
      requireForm(client, action_forms);
      const ehr_id = await storeInForm(client, action_forms, marker, async () => {
        const encounter = await requireCall(client, input.encounter_ehr_id);
        return toForms(toAction(input, refId(encounter.subject, 'Patient')), action_forms);
      });
      return { ehr_id };
    },
    ...formLookup(client, action_forms),
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

function toForms(note: CallNote, types: readonly CallNoteResource['resourceType'][]): CallNoteResource[] {
  return types.map((type) => (type === 'Task' ? toTask(note) : toCommunication(note)));
}

function messageMarker(marker: string): string {
  return `${marker}-message`;
}

/** In progress: the call is closed in the EMR, once the assignee has dealt with it. */
function toEncounter(input: InputOf<Operations['createTelephoneEncounter']>): fhir.Encounter {
  return {
    resourceType: 'Encounter',
    status: 'in-progress',
    class: telephone_class,
    type: [telephone_type],
    priority: { coding: [input.high_priority ? urgent : routine] },
    subject: { reference: `Patient/${input.patient_ehr_id}` },
    participant: [
      {
        type: [{ coding: [{ system: code_systems.participation, code: 'PPRF' }] }],
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

function toMessage(input: InputOf<Operations['createTelephoneEncounter']>, encounter_ehr_id: string): CallNote {
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

function toAction(input: InputOf<Operations['addTelephoneAction']>, patient_ehr_id: string | null): CallNote {
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

export const telephone_encounter_operations: readonly FhirOperation[] = [
  {
    operation: 'createTelephoneEncounter',
    requires: [stores('Encounter'), { ...stores('Task'), or: stores('Communication') }],
    unsupported_fields: ['template_name'],
    open: createTelephoneEncounter,
  },
  {
    operation: 'addTelephoneAction',
    requires: [reads('Encounter'), { ...stores('Communication'), or: stores('Task') }],
    open: addTelephoneAction,
  },
];

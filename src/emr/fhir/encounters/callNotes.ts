import type * as fhir from 'fhir/r4.js';
import { pharmacyReference, readPharmacyId } from '../practice/pharmacies.ts';
import { refId } from '../references.ts';
import { first, hasCode, list, text } from '../values.ts';

/**
 * A text about a telephone call: the caller's message with its assignee, or an entry of the action log. An Encounter has
 * no element for either, so each is a Task or a Communication of the encounter.
 */
export type CallNote = {
  kind: 'message' | 'action';
  encounter_ehr_id: string;
  patient_ehr_id: string | null;
  text: string | null;
  /** An instant. */
  at: string;
  high_priority: boolean;
  assigned_to_ehr_id: string | null;
  caller: string | null;
  pharmacy_ehr_id: string | null;
};

export type CallNoteResource = fhir.Task | fhir.Communication;
export const note_types = ['Task', 'Communication'] as const;

/** A message is work for its assignee; an action has been done already. */
export function toTask(note: CallNote): fhir.Task {
  const { caller, pharmacy_ehr_id, assigned_to_ehr_id } = note;
  const input: fhir.TaskInput[] = [
    ...(caller === null ? [] : [{ type: { text: caller_label }, valueString: caller }]),
    ...(pharmacy_ehr_id === null
      ? []
      : [{ type: { text: 'Pharmacy' }, valueReference: pharmacyReference(pharmacy_ehr_id) }]),
  ];
  return {
    resourceType: 'Task',
    status: note.kind === 'message' ? 'requested' : 'completed',
    intent: 'order',
    priority: toPriority(note),
    code: toNoteCode(note),
    ...(note.text !== null && { description: note.text }),
    focus: encounterReference(note),
    encounter: encounterReference(note),
    ...(note.patient_ehr_id !== null && { for: patientReference(note.patient_ehr_id) }),
    authoredOn: note.at,
    ...(assigned_to_ehr_id !== null && { owner: { reference: `Practitioner/${assigned_to_ehr_id}` } }),
    ...(input.length > 0 && { input }),
  };
}

export function toCommunication(note: CallNote): fhir.Communication {
  const { caller, pharmacy_ehr_id, assigned_to_ehr_id } = note;
  return {
    resourceType: 'Communication',
    status: 'completed',
    category: [toNoteCode(note)],
    priority: toPriority(note),
    encounter: encounterReference(note),
    ...(note.patient_ehr_id !== null && { subject: patientReference(note.patient_ehr_id) }),
    sent: note.at,
    ...(assigned_to_ehr_id !== null && { recipient: [{ reference: `Practitioner/${assigned_to_ehr_id}` }] }),
    ...(caller !== null && { sender: { display: caller } }),
    ...(pharmacy_ehr_id !== null && { about: [pharmacyReference(pharmacy_ehr_id)] }),
    ...(note.text !== null && { payload: [{ contentString: note.text }] }),
  };
}

/** The note in a record of the encounter. undefined for records of other origin. */
export function toCallNote(resource: CallNoteResource): CallNote | undefined {
  const is_task = resource.resourceType === 'Task';
  const concepts = is_task ? [resource.code] : list(resource.category);
  const kind = kinds.find((each) => concepts.some((concept) => hasCode(concept, note_system, [each.toUpperCase()])));
  const encounter_ehr_id = refId(resource.encounter, 'Encounter');
  if (!kind || encounter_ehr_id === null || resource.status === 'entered-in-error') return undefined;
  const common = { kind, encounter_ehr_id, high_priority: resource.priority === 'urgent' };
  if (is_task) {
    const inputs = list(resource.input);
    return {
      ...common,
      patient_ehr_id: refId(resource.for, 'Patient'),
      text: text(resource.description),
      at: text(resource.authoredOn) ?? '',
      assigned_to_ehr_id: refId(resource.owner, 'Practitioner'),
      caller: text(inputs.find(({ type }) => type?.text === caller_label)?.valueString),
      pharmacy_ehr_id: findPharmacyId(inputs.map(({ valueReference }) => valueReference)),
    };
  }
  return {
    ...common,
    patient_ehr_id: refId(resource.subject, 'Patient'),
    text: text(list(resource.payload)[0]?.contentString),
    at: text(resource.sent) ?? '',
    assigned_to_ehr_id: refId(list(resource.recipient)[0], 'Practitioner'),
    caller: text(resource.sender?.display),
    pharmacy_ehr_id: findPharmacyId(list(resource.about)),
  };
}

function findPharmacyId(references: readonly (fhir.Reference | undefined)[]): string | null {
  return first(references, readPharmacyId);
}

const kinds = ['message', 'action'] as const;
const note_system = 'urn:chartwire:call-note';
const caller_label = 'Caller';
const labels = { message: 'Telephone message', action: 'Telephone action' };

function toNoteCode({ kind }: CallNote): fhir.CodeableConcept {
  return { coding: [{ system: note_system, code: kind }], text: labels[kind] };
}

function toPriority({ high_priority }: CallNote): 'urgent' | 'routine' {
  return high_priority ? 'urgent' : 'routine';
}

function encounterReference({ encounter_ehr_id }: CallNote): fhir.Reference {
  return { reference: `Encounter/${encounter_ehr_id}` };
}

function patientReference(ehr_id: string): fhir.Reference {
  return { reference: `Patient/${ehr_id}` };
}

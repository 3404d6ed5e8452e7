import type * as fhir from 'fhir/r4.js';
import type { LiveEncounter } from '../../../model/liveChart.ts';
import { offsetTime } from '../clock.ts';
import { type Emr, findReferencing, type Resolver } from '../references.ts';
import { groupBy, hasCode, list, nameOf } from '../values.ts';
import { type CallNote, type CallNoteResource, note_types, toCallNote } from './callNotes.ts';

/** How the service codes telephone encounters: virtual, and a call by its type. */
export const telephone_class: fhir.Coding = {
  system: 'http://terminology.hl7.org/CodeSystem/v3-ActCode',
  code: 'VR',
  display: 'virtual',
};
const snomed = 'http://snomed.info/sct';
export const telephone_type: fhir.CodeableConcept = {
  coding: [{ system: snomed, code: '185317003', display: 'Telephone encounter' }],
  text: 'Telephone encounter',
};
/** Telephone encounter, telephone consultation. */
const telephone_codes = ['185317003', '386472008'];

/** The visit type of telephone encounters in the interface, on every EMR. */
export const telephone_visit = 'TEL';

export function isTelephoneEncounter({ type }: Pick<fhir.Encounter, 'type'>): boolean {
  return list(type).some((each) => hasCode(each, snomed, telephone_codes));
}

/** The fields that a telephone encounter has beyond those of a visit. */
export type CallFields = Required<
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
    const found = await findReferencing<CallNoteResource>(client, type, ['encounter'], references);
    notes.push(...found.map(toCallNote).filter((note) => note !== undefined));
  }
  const assignees = notes.flatMap(({ assigned_to_ehr_id }) => assigned_to_ehr_id ?? []);
  const people = await resolver.load<fhir.Practitioner>('Practitioner', assignees);
  const by_encounter = groupBy(notes, ({ encounter_ehr_id }) => encounter_ehr_id);
  return new Map(ids.map((id) => [id, toCallFields(by_encounter.get(id) ?? [], people, timezone)]));
}

export function toCallFields(
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
    actions: actions.map(({ at, text }) => ({ at: offsetTime(at, timezone) ?? '', by: '', text: text ?? '' })),
    notes: null,
    assigned_to: nameOf(people.get(message?.assigned_to_ehr_id ?? '')?.name).full,
    answered_by: null,
    priority: message ? (message.high_priority ? 'urgent' : 'routine') : null,
    has_attachment: 'false',
  };
}

import type * as fhir from 'fhir/r4.js';
import { localTimeAt, withOffset } from '../../platform/time/zones.ts';
import { EmrFailure } from '../emrFailure.ts';
import { telephone_visit } from '../fhir/encounters/telephoneEncounters.ts';
import { refId } from '../fhir/references.ts';
import { unreadable_response } from '../fhir/transport/call.ts';
import { reads } from '../fhir/transport/capabilities.ts';
import { afterCreate, rejectUnsupported } from '../fhir/writeSteps.ts';
import type { Operations } from '../operations/operations.ts';
import type { EmrEncounter, NewTelephoneEncounter } from '../operations/telephoneEncounters.ts';
import { readTextMarker } from '../textMarkers.ts';
import {
  isUuid,
  type OpenEmr,
  type OpenEmrOperation,
  reading,
  readPatient,
  requireListed,
  requirePatient,
  scopes,
} from './operation.ts';
import { readData } from './rest.ts';
import { field, isRow, type Row } from './rows.ts';

async function listEncounters(emr: OpenEmr, patient_ehr_id: string): Promise<EmrEncounter[]> {
  const rows = (await readPatient(emr, patient_ehr_id)) ? await readEncounters(emr, patient_ehr_id) : [];
  const [facilities, users] = [await emr.people.facilities(), await emr.people.users()];
  const encounters: EmrEncounter[] = [];
  for (const row of rows) {
    const at = field(row, 'date') ?? '';
    const provider = users.find(({ number }) => number === field(row, 'provider_id'));
    const [first_name = null, ...more] = provider?.name.split(' ') ?? [];
    const is_call = readTextMarker(field(row, 'external_id')) !== undefined;
    encounters.push({
      id: readUuid(row),
      date: /^\d{4}-\d\d-\d\d/.exec(at)?.[0] ?? null,
      start_time: /^\d{4}-\d\d-\d\d[ T](\d\d:\d\d)/.exec(at)?.[1] ?? null,
      visit_type: is_call ? telephone_visit : (field(row, 'pc_catid') ?? ''),
      status: null,
      provider_ehr_id: provider?.ehr_id ?? null,
      provider_first_name: first_name,
      provider_last_name: more.at(-1) ?? null,
      reason: field(row, 'reason'),
      facility_name: field(row, 'facility'),
      facility_id: facilities.find(({ number }) => number === field(row, 'facility_id'))?.ehr_id ?? null,
      locked: 'false',
      cancelled: false,
      ...(is_call && toCall(await readNotes(emr, row), emr.timezone)),
    });
  }
  return encounters;
}

/** The call's own note has what was said; each later one is an action. */
function toCall(notes: readonly Row[], timezone: string) {
  const call = notes.find(isCallNote);
  const said = field(call ?? {}, 'subjective') ?? '';
  const [, caller = null, message = said] = /^Caller: (.*)(?:\n([\s\S]*))?$/.exec(said) ?? [];
  return {
    caller,
    message: message === '' ? null : message,
    actions: notes
      .filter((note) => !isCallNote(note))
      .map((note) => ({
        at: toMoment(field(note, 'date'), timezone),
        by: field(note, 'user') ?? '',
        text: field(note, 'subjective') ?? '',
      })),
    notes: null,
    assigned_to: null,
    answered_by: null,
    priority: null,
    has_attachment: 'false' as const,
  };
}

function toMoment(date: string | null, timezone: string): string {
  const [, day, clock] = /^(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d)/.exec(date ?? '') ?? [];
  return day === undefined || clock === undefined ? '' : withOffset(`${day}T${clock}:00`, timezone);
}

/**
 * The encounter has our marker. Then the message to the staff member is sent, which OpenEMR does not show again, and at
 * last a note with what was said, which shows that nothing is missing. A message whose response was lost is sent again.
 */
function createTelephoneEncounter(emr: OpenEmr): Operations['createTelephoneEncounter'] {
  const { rest, people } = emr;
  return {
    send: async (input, marker) => {
      rejectUnsupported({
        pharmacy_ehr_id: input.pharmacy_ehr_id,
        is_high_priority: input.high_priority,
        template_name: input.template_name,
      });
      const [visit_type] = emr.visit_types.toSorted((one, other) => Number(isByPhone(other)) - Number(isByPhone(one)));
      if (!visit_type) {
        const message = 'OpenEMR needs a category for the call. Set the visit types of this organization.';
        throw new EmrFailure('refused', message, { code: 'unknown_value' });
      }
      const facility = requireListed(await people.facilities(), input.location_ehr_id, 'location');
      const provider = requireListed(await people.practitioners(), input.provider_ehr_id, 'provider');
      const recipient = requireListed(await people.users(), input.assigned_to_ehr_id, 'staff member');
      if (recipient.username === null) {
        const message = 'This person has no user name in OpenEMR, and cannot receive messages.';
        throw new EmrFailure('refused', message, { code: 'emr_validation' });
      }
      const patient = await requirePatient(emr, input.patient_ehr_id);
      const encounter =
        (await findEncounter(emr, input.patient_ehr_id, marker)) ??
        (await createEncounter(emr, input.patient_ehr_id, {
          pc_catid: visit_type.code,
          class_code: 'VR',
          date: localTimeAt(Date.now(), emr.timezone).replace('T', ' '),
          reason: input.reason ?? 'Telephone call',
          facility: facility.name,
          facility_id: facility.number,
          billing_facility: facility.number,
          sensitivity: 'normal',
          provider_id: provider.number,
          external_id: marker,
        }));
      await afterCreate('The encounter was created, but not its message.', async () => {
        if (await hasCallNote(emr, encounter)) return;
        const sender = (await people.users()).find(({ ehr_id }) => ehr_id === emr.user_id);
        await rest.write({
          method: 'POST',
          path: ['patient', patient, 'message'],
          scope: 'message.write',
          body: {
            body: describeCall(input),
            groupname: 'Default',
            from: sender?.username ?? recipient.username,
            to: recipient.username,
            title: 'Phone Call',
            message_status: 'New',
          },
        });
        await addNote(emr, encounter, describeCall(input), `${marker}${call_note}`);
      });
      return { ehr_id: readUuid(encounter) };
    },
    find: async (marker, input) => {
      if (!(await readPatient(emr, input.patient_ehr_id))) return undefined;
      const encounter = await findEncounter(emr, input.patient_ehr_id, marker);
      // Incomplete: `send` writes what is missing.
      return encounter && (await hasCallNote(emr, encounter)) ? { ehr_id: readUuid(encounter) } : undefined;
    },
  };
}

/** An action is a note of the encounter, because notes can be read again. */
function addTelephoneAction(emr: OpenEmr): Operations['addTelephoneAction'] {
  return {
    send: async (input, marker) => {
      rejectUnsupported({ is_high_priority: input.high_priority });
      const encounter = await readEncounter(emr, input.encounter_ehr_id);
      if (!encounter) throw new EmrFailure('not_found', 'OpenEMR has no such encounter.');
      const earlier = await findNote(emr, encounter, marker);
      return { ehr_id: earlier ?? (await addNote(emr, encounter, input.text, marker)) };
    },
    find: async (marker, input) => {
      const encounter = await readEncounter(emr, input.encounter_ehr_id);
      const ehr_id = encounter && (await findNote(emr, encounter, marker));
      return ehr_id === undefined ? undefined : { ehr_id };
    },
  };
}

/** The end of the marker of the note that belongs to the call itself. */
const call_note = '-call';

function isCallNote(note: Row): boolean {
  return field(note, 'plan')?.endsWith(call_note) ?? false;
}

function isByPhone({ description }: { description: string }): boolean {
  return /phone|tele/i.test(description);
}

function describeCall({ caller, message, reason }: NewTelephoneEncounter): string {
  const lines = [caller && `Caller: ${caller}`, message].filter((line) => line);
  return lines.length > 0 ? lines.join('\n') : (reason ?? 'Telephone call');
}

async function createEncounter({ rest }: OpenEmr, patient_ehr_id: string, body: Row): Promise<Row> {
  const path = ['patient', patient_ehr_id, 'encounter'];
  const created = await rest.write({ method: 'POST', path, scope: 'encounter.write', body });
  const data = readData(created);
  if (!isRow(data) || readUuid(data) === '') throw new EmrFailure('unknown_outcome', unreadable_response);
  return { ...data, puuid: patient_ehr_id };
}

async function findEncounter(emr: OpenEmr, patient_ehr_id: string, marker: string): Promise<Row | undefined> {
  return (await readEncounters(emr, patient_ehr_id)).find((row) => field(row, 'external_id') === marker);
}

async function readEncounters({ rest }: OpenEmr, patient_ehr_id: string): Promise<Row[]> {
  const rows = await rest.list({ path: ['patient', patient_ehr_id, 'encounter'], scope: 'encounter.read' });
  return rows.map((row) => ({ ...row, puuid: patient_ehr_id }));
}

/** Only FHIR tells whose encounter it is. */
async function readEncounter(emr: OpenEmr, ehr_id: string): Promise<Row | undefined> {
  if (!isUuid(ehr_id)) return undefined;
  const encounter = await emr.fhir.client.read<fhir.Encounter>('Encounter', ehr_id);
  const patient_ehr_id = refId(encounter?.subject, 'Patient');
  if (patient_ehr_id === null) return undefined;
  return (await readEncounters(emr, patient_ehr_id)).find((row) => readUuid(row) === ehr_id);
}

async function hasCallNote(emr: OpenEmr, encounter: Row): Promise<boolean> {
  return (await readNotes(emr, encounter)).some(isCallNote);
}

async function findNote(emr: OpenEmr, encounter: Row, marker: string): Promise<string | undefined> {
  const note = (await readNotes(emr, encounter)).find((each) => field(each, 'plan') === marker);
  return note && (field(note, 'id') ?? undefined);
}

async function readNotes(emr: OpenEmr, encounter: Row): Promise<Row[]> {
  return emr.rest.list({ path: await notePath(emr, encounter), scope: 'soap_note.read' });
}

async function addNote(emr: OpenEmr, encounter: Row, subjective: string, marker: string): Promise<string> {
  const path = await notePath(emr, encounter);
  const body = { subjective, objective: '', assessment: '', plan: marker };
  const created = await emr.rest.write({ method: 'POST', path, scope: 'soap_note.write', body });
  const ehr_id = isRow(created) ? field(created, 'sid') : null;
  if (ehr_id === null) throw new EmrFailure('unknown_outcome', unreadable_response);
  return ehr_id;
}

async function notePath(emr: OpenEmr, encounter: Row): Promise<string[]> {
  const patient = await requirePatient(emr, field(encounter, 'puuid') ?? '');
  return ['patient', patient, 'encounter', field(encounter, 'eid', 'encounter', 'id') ?? '', 'soap_note'];
}

function readUuid(encounter: Row): string {
  return field(encounter, 'euuid', 'uuid') ?? '';
}

export const encounter_operations: readonly OpenEmrOperation[] = [
  {
    operation: 'listEncounters',
    requires: [scopes('encounter.read', 'soap_note.read', 'patient.read', 'user.read', 'facility.read')],
    open: reading(listEncounters),
  },
  {
    operation: 'createTelephoneEncounter',
    requires: [
      scopes('encounter.read', 'encounter.write', 'message.write', 'soap_note.read', 'soap_note.write'),
      scopes('patient.read', 'user.read', 'practitioner.read', 'facility.read'),
    ],
    unsupported_fields: ['pharmacy_ehr_id', 'is_high_priority', 'template_name', 'refill_medication_name'],
    open: createTelephoneEncounter,
  },
  {
    operation: 'addTelephoneAction',
    requires: [scopes('encounter.read', 'soap_note.read', 'soap_note.write', 'patient.read'), reads('Encounter')],
    unsupported_fields: ['is_high_priority'],
    open: addTelephoneAction,
  },
];

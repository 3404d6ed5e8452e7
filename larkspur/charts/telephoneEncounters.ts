import type { Query } from '../database/open.ts';
import { EmrError } from '../errors.ts';

export interface TelephoneEncounter {
  encounterId: string;
  patientId: string;
  mrn: string;
  providerId: string;
  facilityId: string;
  assignedTo: string;
  reason: string | null;
  caller: string | null;
  message: string | null;
  priority: 'H' | 'N';
  pharmacyId: string | null;
  templateName: string | null;
  createdAt: Date;
  createdBy: string;
}

export interface Refill {
  medicationId: string;
  medicationName: string;
  pharmacyId: string | null;
}

/** An entry of the encounter's action log. The log is append-only. */
export interface Action {
  at: Date;
  by: string;
  text: string;
}

export type TelephoneEncounterDetails = TelephoneEncounter & { refills: Refill[]; actions: Action[] };

export async function addTelephoneEncounter(
  sql: Query,
  encounter: Omit<TelephoneEncounter, 'encounterId' | 'mrn'>,
): Promise<string> {
  const [added] = await sql<{ encounterId: string }[]>`
    insert into telephone_encounters ${sql.values(encounter)} returning encounter_id`;
  return added?.encounterId ?? '';
}

export async function addRefill(sql: Query, encounterId: string, refill: Refill): Promise<string> {
  const [added] = await sql<{ refillId: string }[]>`
    insert into refills ${sql.values({ encounterId, ...refill })} returning refill_id`;
  return added?.refillId ?? '';
}

export async function addAction(
  sql: Query,
  encounterId: string,
  action: Action & { priority: 'H' | 'N' | null },
): Promise<string> {
  const [added] = await sql<{ actionId: string }[]>`
    insert into actions ${sql.values({ encounterId, ...action })} returning action_id`;
  return added?.actionId ?? '';
}

export async function getTelephoneEncounter(sql: Query, encounterId: string): Promise<TelephoneEncounter> {
  const [encounter] = await sql<TelephoneEncounter[]>`
    ${select(sql)} where encounter_id = ${encounterId}`;
  if (!encounter) throw new EmrError('NOT_FOUND', `No telephone encounter with id '${encounterId}'.`);
  return encounter;
}

export async function getTelephoneEncounterDetails(
  sql: Query,
  encounterId: string,
): Promise<TelephoneEncounterDetails> {
  const encounter = await getTelephoneEncounter(sql, encounterId);
  const [details] = await withDetails(sql, [encounter]);
  return details ?? { ...encounter, refills: [], actions: [] };
}

/** Newest first. */
export async function listTelephoneEncounters(sql: Query, patientId: string): Promise<TelephoneEncounterDetails[]> {
  const encounters = await sql<TelephoneEncounter[]>`
    ${select(sql)} where telephone_encounters.patient_id = ${patientId} order by created_at desc, length(encounter_id) desc`;
  return withDetails(sql, encounters);
}

/** The action logs of several encounters, each oldest first. */
export async function listActions(sql: Query, encounterIds: string[]): Promise<Map<string, Action[]>> {
  const rows = await sql<(Action & { encounterId: string })[]>`
    select encounter_id, at, by, text from actions
    where encounter_id = any(${encounterIds}) order by length(action_id), action_id`;
  return groupByEncounter(rows);
}

export async function findMrnOfEncounter(sql: Query, encounterId: string): Promise<string | undefined> {
  const [patient] = await sql<{ mrn: string }[]>`
    select mrn from telephone_encounters join patients using (patient_id) where encounter_id = ${encounterId}`;
  return patient?.mrn;
}

function select(sql: Query) {
  return sql`
    select encounter_id, telephone_encounters.patient_id, mrn, provider_id, facility_id, assigned_to, reason, caller,
      message, priority, pharmacy_id, template_name, created_at, created_by
    from telephone_encounters join patients using (patient_id)`;
}

async function withDetails(sql: Query, encounters: TelephoneEncounter[]): Promise<TelephoneEncounterDetails[]> {
  const ids = encounters.map((encounter) => encounter.encounterId);
  const refills = await listRefills(sql, ids);
  const actions = await listActions(sql, ids);
  return encounters.map((encounter) => ({
    ...encounter,
    refills: refills.get(encounter.encounterId) ?? [],
    actions: actions.get(encounter.encounterId) ?? [],
  }));
}

async function listRefills(sql: Query, encounterIds: string[]): Promise<Map<string, Refill[]>> {
  const rows = await sql<(Refill & { encounterId: string })[]>`
    select encounter_id, medication_id, medication_name, pharmacy_id from refills
    where encounter_id = any(${encounterIds}) order by length(refill_id), refill_id`;
  return groupByEncounter(rows);
}

function groupByEncounter<T>(rows: (T & { encounterId: string })[]): Map<string, Omit<T, 'encounterId'>[]> {
  const groups = new Map<string, Omit<T, 'encounterId'>[]>();
  for (const { encounterId, ...row } of rows) groups.set(encounterId, [...(groups.get(encounterId) ?? []), row]);
  return groups;
}

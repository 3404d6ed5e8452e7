import type { Query } from '../database/open.ts';
import { EmrError } from '../errors.ts';
import { type Action, listActions } from './actions.ts';
import { listRefills, type Refill } from './refills.ts';

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

export type WholeEncounter = TelephoneEncounter & { refills: Refill[]; actions: Action[] };

export async function addTelephoneEncounter(
  sql: Query,
  encounter: Omit<TelephoneEncounter, 'encounterId' | 'mrn'>,
): Promise<string> {
  const [added] = await sql<{ encounterId: string }[]>`
    insert into telephone_encounters ${sql.values(encounter)} returning encounter_id`;
  return added?.encounterId ?? '';
}

export async function getTelephoneEncounter(sql: Query, encounterId: string): Promise<TelephoneEncounter> {
  const [encounter] = await sql<TelephoneEncounter[]>`
    ${select(sql)} where encounter_id = ${encounterId}`;
  if (!encounter) throw new EmrError('NOT_FOUND', `No telephone encounter with id '${encounterId}'.`);
  return encounter;
}

/** A patient's calls, newest first, each with its refills and its action log. */
export async function listTelephoneEncounters(sql: Query, patientId: string): Promise<WholeEncounter[]> {
  const encounters = await sql<TelephoneEncounter[]>`
    ${select(sql)} where telephone_encounters.patient_id = ${patientId} order by created_at desc, length(encounter_id) desc`;
  return withDetails(sql, encounters);
}

export async function getWholeEncounter(sql: Query, encounterId: string): Promise<WholeEncounter> {
  const encounter = await getTelephoneEncounter(sql, encounterId);
  const [whole] = await withDetails(sql, [encounter]);
  return whole ?? { ...encounter, refills: [], actions: [] };
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

async function withDetails(sql: Query, encounters: TelephoneEncounter[]): Promise<WholeEncounter[]> {
  const ids = encounters.map((encounter) => encounter.encounterId);
  const refills = await listRefills(sql, ids);
  const actions = await listActions(sql, ids);
  return encounters.map((encounter) => ({
    ...encounter,
    refills: refills.get(encounter.encounterId) ?? [],
    actions: actions.get(encounter.encounterId) ?? [],
  }));
}

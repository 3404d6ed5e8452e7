import type { Query } from '../database/open.ts';

export interface Refill {
  medicationId: string;
  medicationName: string;
  pharmacyId: string | null;
}

export async function addRefill(sql: Query, encounterId: string, refill: Refill): Promise<string> {
  const [added] = await sql<{ refillId: string }[]>`
    insert into refills ${sql.values({ encounterId, ...refill })} returning refill_id`;
  return added?.refillId ?? '';
}

/** The refills of several encounters, each in the order they were asked for. */
export async function listRefills(sql: Query, encounterIds: string[]): Promise<Map<string, Refill[]>> {
  const refills = new Map<string, Refill[]>();
  const rows = await sql<(Refill & { encounterId: string })[]>`
    select encounter_id, medication_id, medication_name, pharmacy_id from refills
    where encounter_id = any(${encounterIds}) order by length(refill_id), refill_id`;
  for (const { encounterId, ...refill } of rows)
    refills.set(encounterId, [...(refills.get(encounterId) ?? []), refill]);
  return refills;
}

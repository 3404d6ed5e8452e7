import type { Query } from '../database/open.ts';
import type { Patient } from './patients.ts';

export interface PreviousAddress {
  previousAddressId: string;
  address: Patient['address'];
  replacedAt: Date;
  replacedBy: string;
}

export async function addPreviousAddress(
  sql: Query,
  patientId: string,
  previous: Omit<PreviousAddress, 'previousAddressId'>,
): Promise<string> {
  const row = { patientId, ...previous, address: sql.json(previous.address) };
  const [added] = await sql<{ previousAddressId: string }[]>`
    insert into previous_addresses ${sql.values(row)} returning previous_address_id`;
  return added?.previousAddressId ?? '';
}

/** Newest first. */
export async function listPreviousAddresses(sql: Query, patientId: string): Promise<PreviousAddress[]> {
  return sql<PreviousAddress[]>`
    select previous_address_id, address, replaced_at, replaced_by from previous_addresses
    where patient_id = ${patientId} order by replaced_at desc, length(previous_address_id) desc, previous_address_id desc`;
}

import { Type } from 'typebox';
import type { Query } from '../database/open.ts';
import type { RecordKind } from '../machine/recordKind.ts';
import { addressOneLine, addressOneLineBlank, flag, id, text, textOrNull } from './fields.ts';

const row = Type.Object({
  referringId: id,
  firstName: text,
  lastName: text,
  middleInitial: textOrNull,
  speciality: textOrNull,
  phone: textOrNull,
  fax: textOrNull,
  email: textOrNull,
  npi: textOrNull,
  address: addressOneLine,
  activeFlag: flag,
});

export const referringProviders: RecordKind<typeof row> = {
  table: 'referring_providers',
  record: 'referring provider',
  id: 'referringId',
  row,
  blank: { firstName: '', lastName: '', activeFlag: 'Y', address: addressOneLineBlank },
};

/** A doctor that a chart names: out of the referring list, of this practice, or known by name alone. */
export interface NamedDoctor {
  id: string | null;
  firstName: string;
  lastName: string;
}

export async function findReferring(sql: Query, referringId: string): Promise<NamedDoctor | undefined> {
  const [found] = await sql<NamedDoctor[]>`
    select referring_id as id, first_name, last_name from referring_providers
    where referring_id = ${referringId} and active_flag = 'Y'`;
  return found;
}

/** Every active one of this name, whatever the case. */
export async function findReferringByName(sql: Query, firstName: string, lastName: string): Promise<NamedDoctor[]> {
  return sql<NamedDoctor[]>`
    select referring_id as id, first_name, last_name from referring_providers
    where lower(first_name) = lower(${firstName.trim()}) and lower(last_name) = lower(${lastName.trim()})
      and active_flag = 'Y'
    order by length(referring_id), referring_id`;
}

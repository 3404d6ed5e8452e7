import { type Static, Type } from 'typebox';
import type { Query } from '../database/open.ts';
import type { RecordKind } from '../machine/recordKind.ts';
import { addressOneLine, addressOneLineBlank, flag, id, moment, text, textOrNull } from './fields.ts';

const row = Type.Object({
  companyId: id,
  name: text,
  payerId: textOrNull,
  carrierId: textOrNull,
  activeFlag: flag,
  address: addressOneLine,
  createdAt: moment,
});

export type InsuranceCompany = Static<typeof row>;

export const insuranceCompanies: RecordKind<typeof row> = {
  table: 'insurance_companies',
  record: 'insurance company',
  id: 'companyId',
  row,
  blank: { name: '', activeFlag: 'Y', address: addressOneLineBlank },
  made: 'createdAt',
};

/** The first company of this name that is still in use, whatever the case. */
export async function findCompanyByName(sql: Query, name: string): Promise<InsuranceCompany | undefined> {
  const [company] = await sql<InsuranceCompany[]>`
    select company_id, name, payer_id, carrier_id, active_flag, address, created_at from insurance_companies
    where lower(name) = lower(${name.trim()}) and active_flag = 'Y' order by length(company_id), company_id limit 1`;
  return company;
}

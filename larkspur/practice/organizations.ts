import { Type } from 'typebox';
import type { Query } from '../database/open.ts';
import {
  address,
  emptyAddress,
  emptyShortAddress,
  flag,
  id,
  shortAddress,
  text,
  textOrNull,
  timestamp,
} from '../records/fields.ts';
import { foldName } from '../records/foldName.ts';
import { type RowOf, recordKind } from '../records/recordKind.ts';

const row = Type.Object({
  pharmacyId: id,
  name: text,
  activeFlag: flag,
  address: shortAddress,
  phone: textOrNull,
  email: textOrNull,
});

export const facilities = recordKind(
  { table: 'facilities', record: 'facility', id: 'facilityId' },
  Type.Object({ facilityId: id, name: text, activeFlag: flag, address, phone: textOrNull, fax: textOrNull }),
  { name: '', activeFlag: 'Y', address: emptyAddress },
);

export const pharmacies = recordKind({ table: 'pharmacies', record: 'pharmacy', id: 'pharmacyId' }, row, {
  name: '',
  activeFlag: 'Y',
  address: emptyShortAddress,
});

const companyRow = Type.Object({
  companyId: id,
  name: text,
  payerId: textOrNull,
  carrierId: textOrNull,
  activeFlag: flag,
  address: shortAddress,
  createdAt: timestamp,
});

export const insuranceCompanies = recordKind(
  { table: 'insurance_companies', record: 'insurance company', id: 'companyId', created_column: 'createdAt' },
  companyRow,
  { name: '', activeFlag: 'Y', address: emptyShortAddress },
);

export type InsuranceCompany = RowOf<typeof insuranceCompanies>;

/** The first active company with this name, compared by `foldName`. */
export async function findCompanyByName(sql: Query, name: string): Promise<InsuranceCompany | undefined> {
  const companies = await sql<InsuranceCompany[]>`
    select company_id, name, payer_id, carrier_id, active_flag, address, created_at from insurance_companies
    where active_flag = 'Y' order by length(company_id), company_id`;
  return companies.find((company) => foldName(company.name) === foldName(name));
}

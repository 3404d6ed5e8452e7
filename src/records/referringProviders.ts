import type { ReferringProviderSource } from '../model/records/referringProviders.ts';
import { fold, partOf } from './fold.ts';
import { type Paged, when } from './page.ts';
import type { RecordKind } from './recordKind.ts';

export const referringProviders: RecordKind<ReferringProviderSource> = {
  table: 'referring_providers',
  list: (operations) => operations.listReferringProviders,
  keeps: [],
  row: (source, id) => ({
    doc: { id, ...source },
    first_folded: fold(source.first_name),
    last_folded: fold(source.last_name),
    phone: source.phone,
    fax: source.fax,
    npi: source.npi,
  }),
};

export type ReferringProviderFilters = {
  first_name?: string;
  last_name?: string;
  phone?: string;
  fax?: string;
  npi?: string;
};

export const referringProviderPages: Paged<ReferringProviderFilters> = {
  table: 'referring_providers',
  conditions: (sql, filters) => [
    when(filters.first_name, (name) => sql`first_folded LIKE ${partOf(name)}`),
    when(filters.last_name, (name) => sql`last_folded LIKE ${partOf(name)}`),
    when(filters.phone, (phone) => sql`phone = ${phone}`),
    when(filters.fax, (fax) => sql`fax = ${fax}`),
    when(filters.npi, (npi) => sql`npi = ${npi}`),
  ],
  order: (sql) => sql`last_folded, first_folded, id`,
};

import type { InsuranceProviderSource } from '../model/records/insuranceProviders.ts';
import { fold, partOf } from './fold.ts';
import { type Paged, when } from './page.ts';
import type { RecordKind } from './recordKind.ts';

export const insuranceProviders: RecordKind<InsuranceProviderSource> = {
  table: 'insurance_providers',
  list: (operations) => operations.listInsuranceProviders,
  keeps: [],
  row: ({ carrier_id, ...source }, id) => ({
    doc: { id, ...source },
    name_folded: fold(source.name),
    active: source.active,
    payer_id: source.payer_id,
    carrier_id,
  }),
};

export const insuranceProviderPages: Paged<{ name?: string; active?: boolean }> = {
  table: 'insurance_providers',
  conditions: (sql, filters) => [
    when(filters.name, (name) => sql`name_folded LIKE ${partOf(name)}`),
    when(filters.active, (active) => sql`active = ${active}`),
  ],
  order: (sql) => sql`name_folded, id`,
};

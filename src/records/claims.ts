import type { Claim, ClaimSource } from '../model/records/claims.ts';
import { type Paged, when } from './page.ts';
import type { RecordKind } from './recordKind.ts';

export const claims: RecordKind<ClaimSource> = {
  table: 'claims',
  list: (operations) => operations.listClaims,
  keeps: ['created_at'],
  row: ({ ehr_id, patient_mrn, ...source }, id, kept) => {
    const now = new Date();
    const created_at = (kept?.created_at as Date | undefined) ?? now;
    const doc: Claim = {
      id,
      emr_claim_id: ehr_id,
      ...source,
      synced_at: now.toISOString(),
      created_at: created_at.toISOString(),
      updated_at: now.toISOString(),
    };
    const { service_date, claim_status } = source;
    return { doc, patient_mrn, service_date, claim_status, created_at };
  },
};

export type ClaimFilters = { start_date?: string; end_date?: string; patient_mrn?: string; claim_status?: string };

export const claimPages: Paged<ClaimFilters> = {
  table: 'claims',
  mrn: 'patient_mrn',
  conditions: (sql, filters) => [
    when(filters.start_date, (day) => sql`service_date >= ${day}::text::date`),
    when(filters.end_date, (day) => sql`service_date <= ${day}::text::date`),
    when(filters.patient_mrn, (mrn) => sql`patient_mrn = ${mrn}`),
    when(filters.claim_status, (status) => sql`claim_status = ${status}`),
  ],
  order: (sql) => sql`service_date DESC, id`,
};

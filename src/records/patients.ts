import type { Patient, PatientSource } from '../model/records/patients.ts';
import { partOf } from './fold.ts';
import { type Paged, when } from './page.ts';
import { columnsOf } from './patientRow.ts';
import type { RecordKind } from './recordKind.ts';

export const patients: RecordKind<PatientSource> = {
  table: 'patients',
  list: (operations) => operations.listPatients,
  keeps: ['status', 'created_at'],
  row: (source, id, kept) => {
    const now = new Date();
    const created_at = (kept?.created_at as Date | undefined) ?? now;
    const status = (kept?.status as Patient['status'] | undefined) ?? 'active';
    const { ehr_id, mrn, ...demographics } = source;
    const doc: Patient = {
      id,
      ehr_id,
      mrn,
      status,
      ...demographics,
      created_at: created_at.toISOString(),
      updated_at: now.toISOString(),
    };
    return { doc, ...columnsOf(doc), created_at };
  },
};

export type PatientFilters = {
  dob?: string;
  first_name?: string;
  last_name?: string;
  mrn?: string;
  ehr_id?: string;
  phone?: string;
};

export const patientPages: Paged<PatientFilters> = {
  table: 'patients',
  mrn: 'mrn',
  conditions: (sql, filters) => [
    when(filters.dob, (dob) => sql`dob = ${dob}`),
    when(filters.mrn, (mrn) => sql`mrn = ${mrn}`),
    when(filters.ehr_id, (ehr_id) => sql`ehr_id = ${ehr_id}`),
    when(filters.phone, (phone) => sql`(phone = ${phone} OR cell_phone = ${phone})`),
    when(filters.first_name, (name) => sql`first_folded LIKE ${partOf(name)}`),
    when(filters.last_name, (name) => sql`last_folded LIKE ${partOf(name)}`),
  ],
  order: (sql) => sql`last_folded, first_folded, id`,
};

import { nameColumn } from '../../model/fold.ts';
import {
  type Appointment,
  type AppointmentOrigin,
  type AppointmentSource,
  toMode,
} from '../../model/records/appointments.ts';
import type { Kind, SourceOf } from '../../model/records/kinds.ts';
import { phoneColumn, type RecordKind, type RecordRow, type StoredColumns } from '../../model/records/recordKind.ts';
import type { ScheduleBlockSource } from '../../model/records/scheduleBlocks.ts';
import type { Tx } from '../../platform/db/database.ts';
import { toStorable } from '../../platform/time/days.ts';
import { withOffset } from '../../platform/time/zones.ts';
import { providerRows } from './providers.ts';
import type { Scope } from './readRecords.ts';

/** What the column can store: an EMR may let an appointment end in the year 9999. */
const minutes_max = 2_147_483_647;

type ProviderNames = ReadonlyMap<string, { name: string; npi: string | null }>;

/** Appointment rows copy the names of their providers and use the offset of the organization's time zone. */
export async function appointmentRows(tx: Tx, scope: Scope) {
  const practice = { timezone: await readTimezone(tx, scope), providers: await providerNames(tx, scope) };
  return (source: AppointmentSource, id: string, stored: StoredColumns | undefined): RecordRow => {
    const created_at = (stored?.created_at as Date | undefined) ?? new Date();
    const origin = (stored?.source as AppointmentOrigin | undefined) ?? 'emr';
    const doc = appointmentDocument(practice, source, { id, created_at, origin });
    return { ...appointmentColumns(doc), doc, cancelled: source.cancelled, source: origin, created_at };
  };
}

/** The columns that appointments are found and availability is computed by. */
export function appointmentColumns(doc: Appointment) {
  return {
    starts_at: toStorable(Date.parse(doc.datetime)),
    minutes: Math.min(doc.duration, minutes_max),
    provider_ehr_id: doc.provider_ehr_id,
    secondary_provider_ehr_id: doc.secondary_provider_ehr_id,
    facility_ehr_id: doc.location,
    visit_type: doc.appointment_type,
    status: doc.status,
    mode: toMode(doc.appointment_mode),
    patient_mrn: doc.patient_mrn,
    patient_folded: nameColumn(doc.patient_name),
    patient_phone: phoneColumn(doc.patient_phone),
    doc_without_notes:
      doc.note === null && doc.progress_note === null ? null : { ...doc, note: null, progress_note: null },
  };
}

export async function scheduleBlockRows(tx: Tx, scope: Scope) {
  const timezone = await readTimezone(tx, scope);
  return (source: ScheduleBlockSource, id: string): RecordRow => {
    const datetime = withOffset(source.starts, timezone);
    const { minutes, provider_ehr_id, facility_ehr_id } = source;
    return {
      doc: { id, ...source, starts: datetime },
      starts_at: toStorable(Date.parse(datetime)),
      minutes: Math.min(minutes, minutes_max),
      provider_ehr_id,
      facility_ehr_id,
    };
  };
}

/** An offset that the local time does not have, because the EMR moved the appointment without it, is ignored. */
export function formatStart(starts: string, timezone: string): string {
  const exact = withOffset(starts, timezone);
  return exact.slice(0, 16) === starts.slice(0, 16) ? exact : withOffset(starts.slice(0, 19), timezone);
}

async function readTimezone(tx: Tx, scope: Scope): Promise<string> {
  const [row] = await tx<{ timezone: string }[]>`
    SELECT timezone FROM organizations WHERE id = ${scope.organization_id}`;
  if (!row) throw new Error('The organization no longer exists.');
  return row.timezone;
}

async function providerNames(tx: Tx, scope: Scope): Promise<ProviderNames> {
  const rows = await tx<{ ehr_id: string; name: string; npi: string | null }[]>`
    SELECT ehr_id, doc ->> 'name' AS name, doc ->> 'npi' AS npi FROM providers
     WHERE organization_id = ${scope.organization_id}`;
  return new Map(rows.map((row) => [row.ehr_id, row]));
}

function appointmentDocument(
  { timezone, providers }: { timezone: string; providers: ProviderNames },
  source: AppointmentSource,
  { id, created_at, origin }: { id: string; created_at: Date; origin: AppointmentOrigin },
): Appointment {
  const { ehr_id, starts, minutes, facility_ehr_id, cancelled: _cancelled, ...rest } = source;
  const provider = providers.get(source.provider_ehr_id);
  const [first, second] = [1, 2].map((priority) => source.insurances.find((each) => each.priority === priority));
  return {
    id,
    ehr_appointment_id: ehr_id,
    datetime: formatStart(starts, timezone),
    duration: minutes,
    location: facility_ehr_id,
    ...rest,
    provider_name: provider?.name ?? null,
    provider_npi: provider?.npi ?? null,
    insurance: first?.name ?? null,
    insurance_number: first?.subscriber_number ?? null,
    insurance_group_number: first?.group_number ?? null,
    secondary_insurance: second?.name ?? null,
    secondary_insurance_number: second?.subscriber_number ?? null,
    object_metadata: { created_at: created_at.toISOString(), source: origin },
  };
}

type RowFunctions = {
  [K in Kind as K['name']]?: (
    tx: Tx,
    scope: Scope,
  ) => Promise<(...args: [SourceOf<K>, ...RestOf<RecordKind['row']>]) => ReturnType<RecordKind['row']>>;
};
type RestOf<Row extends (...args: never) => unknown> = Parameters<Row> extends [unknown, ...infer Rest] ? Rest : never;

/** Kinds whose rows copy values from other tables, which are read once per page. */
const row_functions: RowFunctions = {
  providers: providerRows,
  appointments: appointmentRows,
  schedule_blocks: scheduleBlockRows,
};

/** Returns the function that creates the rows of a kind: its declaration's, or one that copies values from other tables. */
export async function prepareRowFunction(tx: Tx, kind: Kind, scope: Scope): Promise<RecordKind['row']> {
  // The function only gets records of its own kind, which TypeScript cannot infer.
  const prepare = row_functions[kind.name] as ((tx: Tx, scope: Scope) => Promise<RecordKind['row']>) | undefined;
  return prepare ? prepare(tx, scope) : kind.row;
}

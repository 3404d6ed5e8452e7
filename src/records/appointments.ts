import type { Database, Tx } from '../db/database.ts';
import type { Appointment, AppointmentSource } from '../model/records/appointments.ts';
import { type Paged, type Scope, type Shown, when } from './page.ts';
import { inactiveProviders } from './providers.ts';
import type { RecordKind, SyncScope } from './recordKind.ts';
import { timezoneOf } from './timezoneOf.ts';
import { withOffset } from './withOffset.ts';

/** What an appointment takes from elsewhere: the zone of the EMR instance, and who its provider is. */
type Surroundings = {
  timezone: string;
  providers: ReadonlyMap<string, { name: string; npi: string | null }>;
};

export const appointments: RecordKind<AppointmentSource, Surroundings> = {
  table: 'appointments',
  list: (operations) => operations.listAppointments,
  keeps: ['created_at'],
  resting: inactiveProviders,
  lookup: surroundings,
  row: (source, id, kept, around) => {
    const created_at = (kept?.created_at as Date | undefined) ?? new Date();
    const doc = appointmentDocument(source, id, created_at, around);
    return {
      doc,
      starts_at: new Date(doc.datetime),
      minutes: source.minutes,
      provider_ehr_id: source.provider_ehr_id,
      secondary_provider_ehr_id: source.secondary_provider_ehr_id,
      facility_ehr_id: source.facility_ehr_id,
      visit_type: source.appointment_type,
      cancelled: source.cancelled,
      patient_mrn: source.patient_mrn,
      created_at,
    };
  },
};

/** Days are those of `timezone`, the zone of the EMR instance. */
export type AppointmentFilters = {
  start_date?: string;
  end_date?: string;
  timezone: string;
  patient_mrn?: string;
  provider_ehr_id?: string;
};

export const appointmentPages: Paged<AppointmentFilters> = {
  table: 'appointments',
  uncounted: true,
  mrn: 'patient_mrn',
  conditions: (sql, { timezone, ...filters }) => [
    when(filters.start_date, (day) => sql`starts_at >= ${day}::text::date::timestamp AT TIME ZONE ${timezone}`),
    when(filters.end_date, (day) => sql`starts_at < (${day}::text::date + 1)::timestamp AT TIME ZONE ${timezone}`),
    when(filters.patient_mrn, (mrn) => sql`patient_mrn = ${mrn}`),
    when(filters.provider_ehr_id, (provider) => sql`provider_ehr_id = ${provider}`),
  ],
  order: (sql) => sql`starts_at DESC, id`,
};

/** An appointment of an organization as the text of the answer; undefined when there is none of this id. */
export async function readAppointment(db: Database, scope: Scope, id: string): Promise<Shown | undefined> {
  const rows = await db.read<Shown>(
    scope.client_id,
    (sql) => sql`SELECT json_build_object('success', true, 'appointment', doc)::text AS body,
             array_remove(ARRAY[patient_mrn], NULL) AS mrns FROM appointments
      WHERE client_id = ${scope.client_id} AND organization_id = ${scope.organization_id} AND id = ${id}`,
  );
  return rows[0];
}

async function surroundings(tx: Tx, scope: SyncScope): Promise<Surroundings> {
  const rows = await tx<{ ehr_id: string; name: string; npi: string | null }[]>`
    SELECT ehr_id, doc ->> 'name' AS name, doc ->> 'npi' AS npi FROM providers
     WHERE organization_id = ${scope.organization_id}`;
  return { timezone: await timezoneOf(tx, scope), providers: new Map(rows.map((row) => [row.ehr_id, row])) };
}

function appointmentDocument(
  source: AppointmentSource,
  id: string,
  created_at: Date,
  { timezone, providers }: Surroundings,
): Appointment {
  const { ehr_id, starts, minutes, facility_ehr_id, cancelled: _cancelled, ...shown } = source;
  const provider = providers.get(source.provider_ehr_id);
  const [first, second] = [1, 2].map((priority) => source.insurances.find((each) => each.priority === priority));
  return {
    id,
    ehr_appointment_id: ehr_id,
    datetime: withOffset(starts, timezone),
    duration: minutes,
    location: facility_ehr_id,
    ...shown,
    provider_name: provider?.name ?? null,
    provider_npi: provider?.npi ?? null,
    insurance: first?.name ?? null,
    insurance_number: first?.subscriber_number ?? null,
    insurance_group_number: first?.group_number ?? null,
    secondary_insurance: second?.name ?? null,
    secondary_insurance_number: second?.subscriber_number ?? null,
    object_metadata: { created_at: created_at.toISOString() },
  };
}

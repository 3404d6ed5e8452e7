import { type ApiError, apiError } from '../../../catalog/errors.ts';
import type { KindName } from '../../../model/records/kinds.ts';
import type { VisitCode } from '../../../model/records/visitTypes.ts';
import type { AppointmentRequest } from '../../../model/requests/appointments.ts';
import { isScheduleDay, schedule_day_rule } from '../../../model/scheduleDays.ts';
import { standard_minutes } from '../../../model/settings.ts';
import type { Database, Query, Tx } from '../../../platform/db/database.ts';
import { parseInstant } from '../../../platform/time/days.ts';
import { localTimeExists, withOffset } from '../../../platform/time/zones.ts';
import type { Account } from '../../accounts/accounts.ts';
import { listCapabilities } from '../../accounts/connectAccount.ts';
import type { Context } from '../../context.ts';
import { referenceError } from '../../records/readRecords.ts';
import { findVisitType, unknownVisitType } from '../../records/settings.ts';
import type { Lane } from '../defineWrite.ts';
import { patientIdByMrn, patientLane } from '../patients/patientLane.ts';

/** Stored with the request: the provider's name may change before the job runs. */
type Lookups = {
  provider_name: string;
  timezone: string;
  starts_at: string;
  /** The code of the visit type that the request names. */
  visit_type: string;
  /** The length of the visit type as last synced; null if the EMR gives none. */
  visit_type_minutes: number | null;
  default_minutes: number;
};
export type AppointmentInput = AppointmentRequest & Lookups;

/** The length of an appointment, as far as the service knows it. */
export function toMinutes({ duration, visit_type_minutes, default_minutes }: AppointmentInput): number {
  return Number(duration ?? visit_type_minutes ?? default_minutes);
}

type Status = 'active' | 'inactive';
type ReferenceRows = {
  provider: { name: string; status: Status } | null;
  secondary_status: Status | null;
  location_status: Status | null;
  patient_id: string | null;
  timezone: string;
  visit_types: (VisitCode & { minutes: number | null })[] | null;
  default_minutes: number | null;
};

/**
 * `sent`: the fields of a change; the others are those of the appointment. `keeps`: the visit is in the EMR, and what it
 * keeps is not checked, because it may have been deactivated or removed since.
 */
type References = { body: AppointmentRequest; sent?: readonly string[]; keeps?: boolean };

/** Resolves what a request names. `source`: the transaction that changes an appointment, or the database. */
export async function checkReferences(
  ctx: Context,
  source: Database | Tx,
  account: Account,
  { body, sent, keeps = false }: References,
): Promise<{ lane: Lane; lookups: Required<Lookups> }> {
  const isSent = (field: string) => sent === undefined || sent.includes(field);
  const isChecked = (field: string) => !keeps || isSent(field);
  if (body.secondary_provider === body.provider) {
    const [field, other] = isSent('secondary_provider')
      ? ['secondary_provider', 'provider']
      : ['provider', 'secondary_provider'];
    if (isChecked(field)) throw invalid(field, `${field} must be another provider than ${other}`);
  }
  const references = await readReferences(source, account, body);
  const changes_start = ['datetime', 'date', 'time'].some(isChecked);
  const starts_at = (changes_start ? undefined : body.datetime) ?? appointmentTime(body, references.timezone);
  if (changes_start) checkDay(body, starts_at);
  const unknown = (kind: KindName, error: ApiError) => referenceError(source, account, [kind], error);
  if (references.location_status === null && isChecked('location')) {
    throw await unknown('locations', apiError('location_not_found', { id: body.location }, { field: 'location' }));
  }
  if (references.location_status === 'inactive' && isChecked('location')) {
    throw apiError('location_inactive', { id: body.location }, { field: 'location' });
  }
  if (references.provider === null && isChecked('provider')) {
    throw await unknown('providers', apiError('provider_not_found', { id: body.provider }, { field: 'provider' }));
  }
  if (references.provider?.status === 'inactive' && isChecked('provider')) {
    throw apiError('provider_inactive', { id: body.provider }, { field: 'provider' });
  }
  if (body.secondary_provider !== undefined && isChecked('secondary_provider')) {
    const [id, field] = [body.secondary_provider, 'secondary_provider'];
    if (references.secondary_status === null)
      throw await unknown('providers', apiError('provider_not_found', { id }, { field }));
    if (references.secondary_status === 'inactive') throw apiError('provider_inactive', { id }, { field });
  }
  const types = references.visit_types ?? [];
  const visit_type = findVisitType(types, body.type);
  // An EMR that lists no visit types decides itself.
  if (!visit_type && isChecked('type') && listCapabilities(ctx, account).includes('listVisitTypes')) {
    throw await unknown('visit_types', unknownVisitType('type', 'type', types, { or_all: false }));
  }
  const lookups = {
    // Null only for a visit that keeps a provider the EMR no longer lists.
    provider_name: references.provider?.name ?? body.provider,
    timezone: references.timezone,
    starts_at,
    visit_type: visit_type?.code ?? body.type,
    visit_type_minutes: types.find(({ code }) => code === visit_type?.code)?.minutes ?? null,
    default_minutes: references.default_minutes ?? standard_minutes,
  };
  return { lane: patientLane(body.mrn, references.patient_id), lookups };
}

async function readReferences(
  source: Database | Tx,
  account: Account,
  body: AppointmentRequest,
): Promise<ReferenceRows> {
  const { client_id, organization_id } = account;
  const query = (sql: Query) => sql`SELECT
      (SELECT json_build_object('name', doc ->> 'name', 'status', doc ->> 'status') FROM providers
        WHERE organization_id = ${organization_id} AND ehr_id = ${body.provider}) AS provider,
      (SELECT doc ->> 'status' FROM providers WHERE organization_id = ${organization_id}
        AND ehr_id = ${body.secondary_provider ?? null}) AS secondary_status,
      (SELECT doc ->> 'status' FROM locations
        WHERE organization_id = ${organization_id} AND ehr_id = ${body.location}) AS location_status,
      (SELECT json_agg(json_build_object('code', doc ->> 'code', 'description', doc ->> 'description',
                'minutes', minutes) ORDER BY id)
         FROM visit_types WHERE client_id = ${client_id} AND organization_id = ${organization_id}) AS visit_types,
      timezone, default_appointment_minutes AS default_minutes,
      ${patientIdByMrn(sql, account, body.mrn)} AS patient_id
      FROM organizations WHERE id = ${organization_id}`;
  const [references] =
    'read' in source
      ? await source.read<ReferenceRows>(client_id, query)
      : await source<ReferenceRows[]>`${query(source)}`;
  if (!references) throw new Error('The organization no longer exists.');
  return references;
}

/**
 * The start of the appointment with the offset of the EMR instance, `2026-03-08T09:30:00-04:00`, from either form of a
 * request. The offset keeps the instant when clocks go back and a local time occurs twice.
 */
export function appointmentTime(
  { datetime, date, time }: Pick<AppointmentRequest, 'datetime' | 'date' | 'time'>,
  timezone: string,
): string {
  if (datetime !== undefined && (date !== undefined || time !== undefined)) {
    throw invalid('datetime', 'Send either datetime or date and time, not both');
  }
  if (datetime !== undefined) return withOffset(checkInstant(datetime), timezone);
  if (date === undefined && time === undefined) throw missing('datetime');
  if (date === undefined) throw missing('date');
  if (time === undefined) throw missing('time');
  const local = `${date}T${to24Hours(time)}:00`;
  if (!localTimeExists(local, timezone)) {
    throw invalid(
      'time',
      `time does not exist on ${date} in ${timezone}, because clocks go forward. Send another time`,
    );
  }
  return withOffset(local, timezone);
}

/** The start of an appointment that staff made, and that the request keeps, may be on any day. */
function checkDay({ datetime }: AppointmentRequest, starts_at: string): void {
  const field = datetime === undefined ? 'date' : 'datetime';
  if (!isScheduleDay(starts_at.slice(0, 10))) throw invalid(field, `${field} ${schedule_day_rule}`);
}

/** EMR schedules have no seconds. */
function checkInstant(datetime: string): string {
  const ms = parseInstant(datetime);
  if (ms === undefined) throw invalid('datetime', 'datetime must be a date and time with offset, in ISO 8601');
  if (ms % 60_000 !== 0) throw invalid('datetime', 'datetime must be a full minute');
  return datetime;
}

/** `9:05 pm` as `21:05`. */
function to24Hours(time: string): string {
  const [, hour = '', minute = '', half = ''] = /^(\d+):(\d\d) ?([ap])m$/i.exec(time) ?? [];
  const hours = (Number(hour) % 12) + (half.toLowerCase() === 'p' ? 12 : 0);
  return `${String(hours).padStart(2, '0')}:${minute}`;
}

function missing(field: string) {
  return apiError('missing_field', { field }, { field });
}

function invalid(field: string, rule: string) {
  return apiError('invalid_field', { rule }, { field });
}

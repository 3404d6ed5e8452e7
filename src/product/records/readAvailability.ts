import { setImmediate as nextTurn } from 'node:timers/promises';
import { type ApiError, apiError } from '../../catalog/errors.ts';
import type { LiveSchedule } from '../../emr/operations/appointments.ts';
import type { AvailabilityQuery } from '../../model/availability.ts';
import { splitList } from '../../model/fields.ts';
import type { AppointmentSource } from '../../model/records/appointments.ts';
import { type KindName, schedule_kinds } from '../../model/records/kinds.ts';
import type { ScheduleBlockSource } from '../../model/records/scheduleBlocks.ts';
import type { Database } from '../../platform/db/database.ts';
import { daysBetween } from '../../platform/time/days.ts';
import { withOffset } from '../../platform/time/zones.ts';
import { findInSteps, ranges_max, TooManyRanges } from './availability/findAvailability.ts';
import type {
  Appointment,
  Availability,
  AvailabilityInput,
  Block,
  Hours,
  ProviderInput,
} from './availability/types.ts';
import { standard_hours } from './hours.ts';
import { errorUnlessPending, pendingKinds, referenceError, type Scope } from './readRecords.ts';
import { formatStart } from './schedule.ts';
import { findVisitType, listVisitTypes, unknownVisitType } from './settings.ts';

const days_max = 92;
/** Appointments and blocks that start up to this many days before the first day are read, because they may last into it. */
const margin_days = 2;

/** `own`: a write of ours stored it, and no sync has read it since. */
type StoredAppointment = Appointment & { ehr_id: string | null; own: boolean };

type StoredSchedule = {
  timezone: string;
  default_hours: Hours | null;
  providers: (ProviderInput & { hours_set: boolean })[] | null;
  facilities: { ehr_id: string; name: string; active: boolean }[] | null;
  appointments: StoredAppointment[] | null;
  blocks: Block[] | null;
  /** Kinds whose first sync has not finished. */
  pending: KindName[];
};

/** The schedule of the requested providers as the EMR has it now. */
export type LiveTimes = LiveSchedule & { appointments: readonly AppointmentSource[] };

/**
 * When the providers of an organization are free, according to their stored hours and schedule. Nothing is offered before
 * the first sync has read all of it: a time may be taken. With `live`, the EMR's schedule is used instead of the stored
 * one; `query` names the providers then.
 */
export async function readAvailability(db: Database, scope: Scope, query: AvailabilityQuery, live?: LiveTimes) {
  checkQuery(query);
  const visit_type = await visitTypeCode(db, scope, 'visit_type', query.visit_type);
  const daily_limit_type = await visitTypeCode(db, scope, 'daily_limit_type', query.daily_limit_type);
  const stored = await readSchedule(db, scope, query);
  const locations = stored.facilities ?? [];
  const facilities = new Map(locations.map(({ ehr_id, name }) => [ehr_id, name]));
  const providers = stored.providers ?? [];
  const pending = live ? [] : stored.pending;
  const unknown = (kind: KindName, error: ApiError) => errorUnlessPending(pending, [kind], error);
  const provider_ids = query.provider_ids === undefined ? undefined : splitList(query.provider_ids);
  const location_ids = query.location_ids === undefined ? undefined : splitList(query.location_ids);
  for (const id of provider_ids ?? []) {
    if (!providers.some((each) => each.ehr_id === id))
      throw unknown('providers', apiError('provider_not_found', { id }, { field: 'provider_ids' }));
  }
  for (const id of location_ids ?? []) {
    if (!facilities.has(id)) {
      throw unknown('locations', apiError('location_not_found', { id }, { field: 'location_ids' }));
    }
  }
  const input: AvailabilityInput = {
    start_date: query.start_date,
    end_date: query.end_date,
    timezone: stored.timezone,
    providers: providers
      .filter((each) => provider_ids?.includes(each.ehr_id) ?? true)
      .map((each) => (pending.length > 0 ? { ...each, unavailable: 'first_sync' as const } : each))
      .map((each) => (live && !each.hours_set ? { ...each, hours: findHours(live, each.ehr_id) } : each)),
    facilities,
    appointments: live ? mergeAppointments(stored, live) : (stored.appointments ?? []),
    blocks: live ? live.blocks.map((each) => toBlock(each, stored.timezone)) : (stored.blocks ?? []),
    not_before: Date.now(),
    inactive_facilities: new Set(locations.filter(({ active }) => !active).map(({ ehr_id }) => ehr_id)),
    options: {
      visit_type: visit_type ?? 'all',
      buffer_min: query.buffer ?? 0,
      calculation_method: query.calculation_method ?? 'gaps',
      daily_appointment_limit: query.daily_appointment_limit,
      daily_limit_type,
      max_slot_duration: query.max_slot_duration,
      facility_scoped_scheduling: query.facility_scoped_scheduling ?? false,
      provider_type: query.provider_type ?? 'primary',
      fallback_hours: query.fallback_to_default_hours ? (stored.default_hours ?? standard_hours) : undefined,
      location_ids,
      explain: query.explain ?? false,
    },
  };
  return {
    success: true,
    results: await findResults(input),
    timezone: stored.timezone,
    ...(pending.length > 0 && { sync: { state: 'pending' as const } }),
  };
}

async function findResults(input: AvailabilityInput): Promise<Availability> {
  try {
    return await inTurns(findInSteps(input));
  } catch (error) {
    if (!(error instanceof TooManyRanges)) throw error;
    const most = ranges_max.toLocaleString('en-US');
    throw invalid('end_date', `The result has more than ${most} times: request fewer days, or fewer provider_ids`);
  }
}

/** A large result takes half a second of a core, and a client can request many: after so long, others have their turn. */
const turn_ms = 10;

/** The large results of this process are found one after the other, because each takes much memory. */
let last_large: Promise<void> = Promise.resolve();

/** Takes all steps. If they take long, other work is done in between. */
export async function inTurns<Result>(steps: Iterator<undefined, Result>): Promise<Result> {
  let step = takeSteps(steps);
  if (step.done) return step.value;
  const earlier = last_large;
  let end = () => {};
  last_large = new Promise((resolve) => {
    end = resolve;
  });
  try {
    await earlier;
    while (!step.done) {
      await nextTurn();
      step = takeSteps(steps);
    }
    return step.value;
  } finally {
    end();
  }
}

function takeSteps<Result>(steps: Iterator<undefined, Result>): IteratorResult<undefined, Result> {
  const until = performance.now() + turn_ms;
  let step = steps.next();
  while (!step.done && performance.now() < until) step = steps.next();
  return step;
}

/** Hours that were set through the API apply before the EMR's. */
function findHours({ hours }: LiveTimes, provider_ehr_id: string): Hours {
  return hours.find((each) => each.provider_ehr_id === provider_ehr_id)?.hours ?? [];
}

function toBlock({ starts, minutes, provider_ehr_id, facility_ehr_id }: ScheduleBlockSource, timezone: string): Block {
  return { provider_ehr_id, facility_ehr_id, minutes, starts_at: withOffset(starts, timezone) };
}

/** Adds bookings and changes of ours to the EMR's appointments, which may have been read before they were made. */
function mergeAppointments({ timezone, appointments }: StoredSchedule, live: LiveTimes): Appointment[] {
  const read = live.appointments.map((each) => ({
    ...each,
    starts_at: formatStart(each.starts, timezone),
    visit_type: each.appointment_type,
  }));
  const isRead = (own: StoredAppointment) =>
    read.some(
      ({ ehr_id, starts_at }) => ehr_id === own.ehr_id && Date.parse(starts_at) === Date.parse(String(own.starts_at)),
    );
  return [
    ...read.filter(({ cancelled }) => !cancelled),
    ...(appointments ?? []).filter((each) => each.own && !isRead(each)),
  ];
}

function checkQuery(query: AvailabilityQuery): void {
  const span = daysBetween(query.start_date, query.end_date);
  if (span < 0) throw invalid('end_date', 'end_date must not be before start_date');
  if (span > days_max) throw invalid('end_date', `end_date must be at most ${days_max} days after start_date`);
  if ((query.daily_appointment_limit === undefined) !== (query.daily_limit_type === undefined)) {
    const field = query.daily_limit_type === undefined ? 'daily_limit_type' : 'daily_appointment_limit';
    throw invalid(field, 'daily_appointment_limit and daily_limit_type must be used together');
  }
  if (query.calculation_method === 'equal_slots' && query.max_slot_duration === undefined) {
    throw apiError('missing_field', { field: 'max_slot_duration' }, { field: 'max_slot_duration' });
  }
}

/** The code of a visit type in the query. An unknown one is an error: a limit on it would have no effect. */
async function visitTypeCode(
  db: Database,
  scope: Scope,
  field: 'visit_type' | 'daily_limit_type',
  name: string | undefined,
): Promise<string | undefined> {
  if (name === undefined) return undefined;
  if (name.toLowerCase() === 'all') return 'all';
  const types = await listVisitTypes(db, scope);
  const code = findVisitType(types, name)?.code ?? (await bookedType(db, scope, name));
  if (code !== undefined) return code;
  const unknown = unknownVisitType(field, field, types, { or_all: true });
  throw await referenceError(db, scope, ['visit_types'], unknown);
}

/** Appointments may have types that the EMR no longer lists. */
async function bookedType(db: Database, { client_id, organization_id }: Scope, code: string) {
  const rows = await db.read(
    client_id,
    (sql) => sql`SELECT FROM appointments WHERE client_id = ${client_id} AND organization_id = ${organization_id}
      AND visit_type = ${code} LIMIT 1`,
  );
  return rows.length > 0 ? code : undefined;
}

async function readSchedule(
  db: Database,
  { client_id, organization_id }: Scope,
  { start_date, end_date }: AvailabilityQuery,
): Promise<StoredSchedule> {
  const [stored] = await db.read<StoredSchedule>(client_id, (sql) => {
    const within = sql`client_id = ${client_id} AND organization_id = ${organization_id}
      AND starts_at >= ${start_date}::text::date - ${margin_days}::int
      AND starts_at < ${end_date}::text::date + ${margin_days}::int`;
    const kinds = schedule_kinds.map(({ name }) => name);
    return sql`SELECT organizations.timezone, organizations.default_hours,
      ${pendingKinds(sql, organization_id, kinds)} AS pending,
      (SELECT json_agg(json_build_object('ehr_id', ehr_id, 'name', doc -> 'name', 'hours', doc -> 'hours',
                'timezone', doc -> 'timezone', 'hours_set', hours_set IS NOT NULL,
                'unavailable', CASE WHEN doc ->> 'status' <> 'active' THEN 'inactive_provider'
                                    WHEN hide_in_availability THEN 'hidden_provider' END)
                ORDER BY id)
         FROM providers WHERE providers.organization_id = organizations.id) AS providers,
      (SELECT json_agg(json_build_object('ehr_id', ehr_id, 'name', doc -> 'name',
                'active', doc ->> 'status' = 'active'))
         FROM locations WHERE locations.organization_id = organizations.id) AS facilities,
      (SELECT json_agg(json_build_object('provider_ehr_id', provider_ehr_id, 'starts_at', iso(starts_at),
                'secondary_provider_ehr_id', secondary_provider_ehr_id, 'facility_ehr_id', facility_ehr_id,
                'minutes', minutes, 'visit_type', visit_type, 'cancelled', cancelled, 'ehr_id', ehr_id,
                'pending', ehr_id IS NULL, 'own', ehr_id IS NULL OR written_in IS NOT NULL))
         FROM appointments WHERE ${within} AND NOT cancelled) AS appointments,
      (SELECT json_agg(json_build_object('provider_ehr_id', provider_ehr_id, 'starts_at', iso(starts_at),
                'facility_ehr_id', facility_ehr_id, 'minutes', minutes))
         FROM schedule_blocks WHERE ${within}) AS blocks
      FROM organizations WHERE organizations.id = ${organization_id}`;
  });
  if (!stored) throw new Error('The organization no longer exists.');
  return stored;
}

function invalid(field: string, rule: string) {
  return apiError('invalid_field', { rule }, { field });
}

import { type AvailabilityReason, availability_reasons } from '../../../model/availability.ts';
import type { Provider } from '../../../model/records/providers.ts';

type ModelDay = Provider['hours'][number];
type ModelShift = ModelDay['shifts'][number];

/** A provider's weekly hours. Hours set through the API may have a recurrence that ends. */
export type Hours = readonly (Omit<ModelDay, 'shifts'> & { shifts: readonly HoursShift[] })[];
export type HoursShift = Omit<ModelShift, 'recurrence'> & {
  recurrence?: (NonNullable<ModelShift['recurrence']> & { rec_end_date?: string | undefined }) | undefined;
};

/** Milliseconds since 1970, or ISO 8601 with an offset. */
export type Instant = number | string;

export type ProviderInput = {
  ehr_id: string;
  name: string;
  hours: Hours;
  /** Not used: hours and results are in the time zone of the EMR instance. */
  timezone: string;
  /** Why the provider is offered on no day, if so. */
  unavailable?: 'inactive_provider' | 'hidden_provider' | 'first_sync' | undefined;
};

export type Appointment = {
  provider_ehr_id: string;
  secondary_provider_ehr_id: string | null;
  facility_ehr_id: string | null;
  starts_at: Instant;
  minutes: number;
  visit_type: string | null;
  cancelled: boolean;
  /** An accepted booking that is not in the EMR yet. */
  pending?: boolean | undefined;
};

export type Block = { provider_ehr_id: string; facility_ehr_id: string | null; starts_at: Instant; minutes: number };

export type Options = {
  /** A visit-type code, or `all`. */
  visit_type: string;
  buffer_min: number;
  calculation_method: 'gaps' | 'slots' | 'equal_slots';
  daily_appointment_limit?: number | undefined;
  /** A visit-type code, or `all`. */
  daily_limit_type?: string | undefined;
  max_slot_duration?: number | undefined;
  facility_scoped_scheduling: boolean;
  /** The role whose appointments count: for the daily limit and the visits of a rule. Both roles take time. */
  provider_type: 'primary' | 'secondary';
  /** The hours of providers without a single shift; if absent, they have no availability. */
  fallback_hours?: Hours | undefined;
  location_ids?: readonly string[] | undefined;
  explain: boolean;
};

/**
 * Appointments and blocks must start early enough: one that began the evening before `start_date` may last, with its
 * buffer, into the morning.
 */
export type AvailabilityInput = {
  /** Both dates are `YYYY-MM-DD` in `timezone`, and inclusive. */
  start_date: string;
  end_date: string;
  /** The IANA zone of the EMR instance. */
  timezone: string;
  providers: readonly ProviderInput[];
  /** EMR id → name. */
  facilities: ReadonlyMap<string, string>;
  appointments: readonly Appointment[];
  blocks: readonly Block[];
  /** Time before this instant is not offered. Absent: the whole range is offered. */
  not_before?: Instant | undefined;
  /** EMR ids of the facilities that take no appointments. */
  inactive_facilities?: ReadonlySet<string> | undefined;
  options: Options;
};

/** A range of free time, as the API returns it. */
export type FreeRange = {
  day_of_week: number;
  date: string;
  duration_string: string;
  range_start: string;
  range_end: string;
  provider_id: string;
  provider_name: string;
  facility_id: string | null;
  facility_name: string | null;
  timezone_abbr: string;
  visit_type: string;
  available_appointments: number | null;
  max_visits: number | null;
};

/** Why a time is not free, in the order in which the reasons apply. */
export const reasons = Object.keys(availability_reasons) as readonly AvailabilityReason[];
export type Reason = AvailabilityReason;

export type Explanation = {
  provider_id: string;
  facility_id: string | null;
  date: string;
  range_start: string;
  range_end: string;
  reason: Reason;
  /** The rule's visit type, if a rule is the reason. */
  visit_type: string | null;
};

export type Availability = { availability: FreeRange[]; explanations?: Explanation[] };

/** From the first minute to the one after the last. Lists of ranges are sorted and disjoint unless noted. */
export type Range = readonly [start: number, end: number];

/** Sorts ranges, merges those that overlap or touch, and drops empty ones. The input may be in any order. */
export function union(ranges: readonly Range[]): Range[] {
  const some = ranges.filter(([from, to]) => from < to);
  if (some.length < 2) return some;
  const merged: [number, number][] = [];
  for (const [start, end] of some.sort((a, b) => a[0] - b[0])) {
    const last = merged.at(-1);
    if (last && start <= last[1]) last[1] = Math.max(last[1], end);
    else merged.push([start, end]);
  }
  return merged;
}

/** The parts of `ranges` that are not in `taken`. */
export function subtract(ranges: readonly Range[], taken: readonly Range[]): Range[] {
  const left: Range[] = [];
  for (const [start, end] of ranges) {
    let from = start;
    for (const [taken_from, taken_to] of taken) {
      if (taken_to <= from) continue;
      if (taken_from >= end) break;
      if (taken_from > from) left.push([from, taken_from]);
      from = taken_to;
    }
    if (from < end) left.push([from, end]);
  }
  return left;
}

/** The parts of `ranges` that are also in `others`. */
export function intersect(ranges: readonly Range[], others: readonly Range[]): Range[] {
  return subtract(ranges, subtract(ranges, others));
}

/** Cuts ranges into pieces of at most `minutes`; `exact` drops a shorter last piece. */
export function cut(ranges: readonly Range[], minutes: number, exact: boolean): Range[] {
  const pieces: Range[] = [];
  for (const [start, end] of ranges) {
    for (let from = start; from < end; from += minutes) {
      if (from + minutes <= end) pieces.push([from, from + minutes]);
      else if (!exact) pieces.push([from, end]);
    }
  }
  return pieces;
}

import type { Provider } from '../model/records/providers.ts';

type ModelDay = Provider['hours'][number];
type ModelShift = ModelDay['shifts'][number];

/** A provider's hours; a recurrence may end, which hours written by PATCH can say. */
export type Hours = readonly (Omit<ModelDay, 'shifts'> & { shifts: readonly HoursShift[] })[];
export type HoursShift = Omit<ModelShift, 'recurrence'> & {
  recurrence?: (NonNullable<ModelShift['recurrence']> & { rec_end_date?: string | undefined }) | undefined;
};

/** Milliseconds since 1970, or ISO 8601 with an offset. */
export type Instant = number | string;

export type AskedProvider = {
  ehr_id: string;
  name: string;
  hours: Hours;
  /** Known but not used: hours are read and ranges are told in the zone of the EMR instance. */
  timezone: string;
};

export type Appointment = {
  provider_ehr_id: string;
  secondary_provider_ehr_id: string | null;
  facility_ehr_id: string | null;
  starts_at: Instant;
  minutes: number;
  visit_type: string | null;
  cancelled: boolean;
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
  provider_type: 'primary' | 'secondary';
  /** What providers without a single shift work by; absent: they are not offered. */
  fallback_hours?: Hours | undefined;
  location_ids?: readonly string[] | undefined;
  explain: boolean;
};

/**
 * Appointments and blocks must reach back before `start_date` as far as one of them, with its buffer, can last: what
 * began the evening before still takes the morning.
 */
export type Question = {
  /** Both `YYYY-MM-DD` and included; the days are those of `timezone`. */
  start_date: string;
  end_date: string;
  /** The IANA zone of the EMR instance. */
  timezone: string;
  /** Those that may be offered: active and not hidden. */
  providers: readonly AskedProvider[];
  /** EMR id → name. */
  facilities: ReadonlyMap<string, string>;
  appointments: readonly Appointment[];
  blocks: readonly Block[];
  options: Options;
};

export type Offer = {
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

/** Where several apply to a minute, the first of this list is told. */
export const reasons = [
  'location', // the shift is at none of the asked locations
  'daily_limit', // the day holds as many appointments as the caller allows
  'appointment',
  'block',
  'buffer',
  'quota_full', // slots: no visit left in the rule
  'visit_type', // slots: the rule is for another visit type
  'no_rule', // slots: no rule covers this part of the shift
  'too_short', // equal_slots: what was left after cutting
  'outside_dates', // before set_start_date or after set_end_date
  'recurrence', // not a day of the recurrence
  'invalid_shift', // the shift ends before it starts, or is not readable
  'no_hours', // the provider has no shift at all, and no default hours were asked for
] as const;
export type Reason = (typeof reasons)[number];

export type Explanation = {
  provider_id: string;
  facility_id: string | null;
  date: string;
  range_start: string;
  range_end: string;
  reason: Reason;
};

export type Answer = { availability: Offer[]; explanations?: Explanation[] };

import { describe, expect, test } from 'vitest';
import { findAvailability } from '../../src/product/records/availability/findAvailability.ts';
import type {
  Appointment,
  AvailabilityInput,
  Block,
  HoursShift,
  Options,
} from '../../src/product/records/availability/types.ts';

/** Defaults: Dr Grey in New York on Monday 2026-06-01, working 9:00 to 12:00, without options. */
export type Case = {
  timezone?: string;
  start_date?: string;
  end_date?: string;
  /** Worked on every day of the week. */
  shifts?: HoursShift[];
  hours?: AvailabilityInput['providers'][number]['hours'];
  appointments?: Appointment[];
  blocks?: Block[];
  not_before?: AvailabilityInput['not_before'];
  inactive_facilities?: AvailabilityInput['inactive_facilities'];
  options?: Partial<Options>;
};

const week = ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday'];

export function availabilityFor(input: Case) {
  const start_date = input.start_date ?? '2026-06-01';
  return findAvailability({
    start_date,
    end_date: input.end_date ?? start_date,
    timezone: input.timezone ?? 'America/New_York',
    providers: [
      {
        ehr_id: 'P1',
        name: 'Dr Grey',
        hours: input.hours ?? week.map((day) => ({ day, shifts: input.shifts ?? [shift('09:00', '12:00')] })),
        timezone: 'America/Los_Angeles',
      },
    ],
    facilities: new Map([['A', 'North Clinic']]),
    appointments: input.appointments ?? [],
    blocks: input.blocks ?? [],
    not_before: input.not_before,
    inactive_facilities: input.inactive_facilities,
    options: {
      visit_type: 'all',
      buffer_min: 0,
      calculation_method: 'gaps',
      facility_scoped_scheduling: false,
      provider_type: 'primary',
      explain: true,
      ...input.options,
    },
  });
}

export type Example = [title: string, input: Case, free: string[], explanations?: string[]];

/** A table of inputs, the free time found for them, and why the rest is not free. */
export function examples(title: string, list: Example[]) {
  describe(title, () => {
    test.each(list)('%s', (_title, input, free, explanations) => {
      expect(freeTime(input)).toStrictEqual(free);
      if (explanations) expect(explained(input)).toStrictEqual(explanations);
    });
  });
}

/** `06-01 09:00–12:00` in local time, then the facility and the visits, if any. */
function freeTime(input: Case): string[] {
  return availabilityFor(input).availability.map((range) => {
    const visits =
      range.max_visits === null ? '' : ` ${range.visit_type} ${range.available_appointments}/${range.max_visits}`;
    return `${range.date.slice(5)} ${span(range)}${range.facility_id ? ` ${range.facility_id}` : ''}${visits}`;
  });
}

/** `06-01 10:00–10:30 appointment`, `06-01 10:00–10:30 quota_full OV`; time outside shifts is left out. */
function explained(input: Case): string[] {
  const { explanations = [] } = availabilityFor(input);
  const of_shifts = explanations.filter(({ reason }) => !['outside_hours', 'clock_change'].includes(reason));
  return of_shifts.map(
    (each) =>
      `${each.date.slice(5)} ${span(each)} ${each.reason}${each.visit_type === null ? '' : ` ${each.visit_type}`}`,
  );
}

export function shift(start: string, end: string, more: Partial<HoursShift> = {}): HoursShift {
  return { start: `T${start}:00`, end: `T${end}:00`, ...more };
}

export function rule(start: string, end: string, total_visits: number, visit_type_id = 'OV') {
  return { start_time: `${start}:00`, end_time: `${end}:00`, total_visits, visit_type_id, visit_type_desc: '' };
}

/** An office visit on 2026-06-01, New York time. */
export function visit(start: string, minutes: number, more: Partial<Appointment> = {}): Appointment {
  return {
    provider_ehr_id: 'P1',
    secondary_provider_ehr_id: null,
    facility_ehr_id: null,
    starts_at: `2026-06-01T${start}:00-04:00`,
    minutes,
    visit_type: 'OV',
    cancelled: false,
    ...more,
  };
}

function span({ range_start, range_end }: { range_start: string; range_end: string }): string {
  return `${range_start.slice(11, 16)}–${range_end.slice(11, 16)}`;
}

import type { ApiResponse } from '../../harness/api.ts';
import type { TestSandbox } from '../../harness/sandbox.ts';
import { clinicRows, type Row } from '../support/emrRecords.ts';

type Fixture = Pick<TestSandbox, 'api'>;
type Shift = Record<string, unknown>;

/**
 * A Monday in June two years ahead. The seed has no appointments then, every seeded shift is still in effect, and New
 * York is four hours behind UTC.
 */
export const monday = (() => {
  const day = new Date(Date.UTC(new Date().getUTCFullYear() + 2, 5, 1));
  day.setUTCDate(day.getUTCDate() + ((8 - day.getUTCDay()) % 7));
  return day.toISOString().slice(0, 10);
})();

export function daysAfter(date: string, days: number): string {
  return new Date(Date.parse(date) + days * 86_400_000).toISOString().slice(0, 10);
}

/** Converts `YYYY-MM-DD` to Larkspur's `MM/DD/YYYY`. */
export function usDay(date: string): string {
  const [year, month, day] = date.split('-');
  return `${month}/${day}/${year}`;
}

/** A shift in the form of the API. */
export function shift(start: string, end: string, more: Shift = {}): Shift {
  return { start: `T${start}:00`, end: `T${end}:00`, ...more };
}

/** Hours on Mondays only, in the form of the API. */
export function mondays(...shifts: Shift[]) {
  return [{ day: 'Monday', shifts }];
}

/** A shift in Larkspur's form. */
export function clinicShift(startTime: string, endTime: string, more: Shift = {}): Shift {
  return {
    startTime,
    endTime,
    facilityId: '11',
    effectiveFrom: '01/01/2020',
    effectiveTo: null,
    description: null,
    recurrence: null,
    visitRules: [],
    ...more,
  };
}

export function clinicMondays(...shifts: Shift[]) {
  return [{ dayName: 'Monday', shifts }];
}

export const patchProvider = (fixture: Fixture, ehr_id: string, body: unknown): Promise<ApiResponse> =>
  fixture.api.call('PATCH', `/v1/providers/ehr/${ehr_id}`, { body });

export async function readProvider(fixture: Fixture, ehr_id: string): Promise<Row> {
  const { body } = await fixture.api.call('GET', '/v1/providers');
  return body.providers.find((each: Row) => each.ehr_id === ehr_id);
}

export async function clinicProvider(fixture: Fixture, providerId: string): Promise<Row> {
  const [row] = await clinicRows(fixture, 'providers', { providerId });
  return row;
}

export const requestAvailability = (fixture: Fixture, query: Record<string, string>): Promise<ApiResponse> =>
  fixture.api.call('GET', `/v1/availability?${new URLSearchParams(query)}`);

/** The availability of one provider on one day. */
export async function readAvailability(
  fixture: Fixture,
  provider_ids: string,
  date: string,
  query: Record<string, string> = {},
): Promise<Row[]> {
  const { status, body } = await requestAvailability(fixture, {
    start_date: date,
    end_date: date,
    provider_ids,
    ...query,
  });
  if (status !== 200) throw new Error(JSON.stringify(body));
  return body.results.availability;
}

/** Ranges such as `09:00–12:00`, in the time zone of the EMR instance. */
export function spans(ranges: Row[]): string[] {
  return ranges.map(({ range_start, range_end }) => `${range_start.slice(11, 16)}–${range_end.slice(11, 16)}`);
}

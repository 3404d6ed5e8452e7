import type { Answer } from '../../harness/api.ts';
import type { TestSandbox } from '../../harness/sandbox.ts';
import { clinicRows, type Row } from '../support/emrRecords.ts';

type World = Pick<TestSandbox, 'api'>;
type Shift = Record<string, unknown>;

/**
 * A Monday in June two years ahead: the seed has nothing booked there, every seeded shift is still worked, and New York
 * is four hours behind UTC.
 */
export const monday = (() => {
  const day = new Date(Date.UTC(new Date().getUTCFullYear() + 2, 5, 1));
  day.setUTCDate(day.getUTCDate() + ((8 - day.getUTCDay()) % 7));
  return day.toISOString().slice(0, 10);
})();

export function daysAfter(date: string, days: number): string {
  return new Date(Date.parse(date) + days * 86_400_000).toISOString().slice(0, 10);
}

/** `YYYY-MM-DD` as the clinic writes it. */
export function usDay(date: string): string {
  const [year, month, day] = date.split('-');
  return `${month}/${day}/${year}`;
}

/** A shift as PATCH takes it. */
export function shift(start: string, end: string, more: Shift = {}): Shift {
  return { start: `T${start}:00`, end: `T${end}:00`, ...more };
}

/** A week of Mondays only. */
export function mondays(...shifts: Shift[]) {
  return [{ day: 'Monday', shifts }];
}

/** A shift as the clinic keeps it. */
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

export const patchProvider = (world: World, ehr_id: string, body: unknown): Promise<Answer> =>
  world.api.call('PATCH', `/v1/providers/ehr/${ehr_id}`, { body });

export async function providerOf(world: World, ehr_id: string): Promise<Row> {
  const { body } = await world.api.call('GET', '/v1/providers');
  return body.providers.find((each: Row) => each.ehr_id === ehr_id);
}

export async function clinicProvider(world: World, providerId: string): Promise<Row> {
  const [row] = await clinicRows(world, 'providers', { providerId });
  return row;
}

export const askAvailability = (world: World, query: Record<string, string>): Promise<Answer> =>
  world.api.call('GET', `/v1/availability?${new URLSearchParams(query)}`);

/** What is offered of one provider on one day, unless `query` says otherwise. */
export async function offersOf(
  world: World,
  provider_ids: string,
  date: string,
  query: Record<string, string> = {},
): Promise<Row[]> {
  const { status, body } = await askAvailability(world, { start_date: date, end_date: date, provider_ids, ...query });
  if (status !== 200) throw new Error(JSON.stringify(body));
  return body.results.availability;
}

/** `09:00–12:00`, as the clock of the EMR instance shows it. */
export function spans(offers: Row[]): string[] {
  return offers.map(({ range_start, range_end }) => `${range_start.slice(11, 16)}–${range_end.slice(11, 16)}`);
}

import { findAvailability } from '../src/product/records/availability/findAvailability.ts';
import type { Appointment, AvailabilityInput } from '../src/product/records/availability/types.ts';

/**
 * Measures availability over a quarter: 50 providers, 92 days, 5,000 appointments. Each time is also shown relative to
 * serializing the result as JSON, so that runs on different machines can be compared.
 */
const week = ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday'];
const rounds = 15;

function quarter(calculation_method: 'gaps' | 'slots' | 'equal_slots', explain: boolean): AvailabilityInput {
  const first = Date.parse('2026-02-02T12:00:00Z');
  const rule = { total_visits: 4, visit_type_id: 'OV', visit_type_desc: 'Office visit' };
  const visit_type_rules = [
    { ...rule, start_time: '08:00:00', end_time: '10:00:00' },
    { ...rule, start_time: '10:00:00', end_time: '12:00:00', visit_type_id: 'NP' },
  ];
  const shifts = [
    { start: 'T08:00:00', end: 'T12:00:00', facility_id: 'A', visit_type_rules },
    { start: 'T13:00:00', end: 'T17:00:00', facility_id: 'B', set_start_date: '2026-01-01' },
  ];
  return {
    start_date: '2026-02-01',
    end_date: '2026-05-03',
    timezone: 'America/New_York',
    providers: Array.from({ length: 50 }, (_, index) => ({
      ehr_id: `P${index}`,
      name: `Provider ${index}`,
      hours: week.map((day) => ({ day, shifts })),
      timezone: 'America/New_York',
    })),
    facilities: new Map([
      ['A', 'North'],
      ['B', 'South'],
    ]),
    appointments: Array.from(
      { length: 5_000 },
      (_, index): Appointment => ({
        provider_ehr_id: `P${index % 50}`,
        secondary_provider_ehr_id: null,
        facility_ehr_id: index % 3 ? 'A' : 'B',
        starts_at: first + ((index * 7_919) % 92) * 86_400_000 + ((index * 104_729) % 40) * 900_000,
        minutes: 15 + (index % 3) * 15,
        visit_type: index % 2 ? 'OV' : 'NP',
        cancelled: index % 20 === 0,
      }),
    ),
    blocks: [],
    options: {
      visit_type: 'all',
      buffer_min: 10,
      calculation_method,
      ...(calculation_method === 'equal_slots' ? { max_slot_duration: 30 } : {}),
      facility_scoped_scheduling: true,
      provider_type: 'primary',
      explain,
    },
  };
}

function median(work: () => void): number {
  const times = Array.from({ length: rounds }, () => {
    const start = performance.now();
    work();
    return performance.now() - start;
  });
  return times.sort((a, b) => a - b)[rounds >> 1] ?? Number.NaN;
}

for (const [method, explain] of [
  ['gaps', false],
  ['slots', false],
  ['equal_slots', false],
  ['gaps', true],
] as const) {
  const input = quarter(method, explain);
  const start = performance.now();
  const result = findAvailability(input);
  const first_ms = performance.now() - start;
  const median_ms = median(() => findAvailability(input));
  const json_ms = median(() => JSON.stringify(result));
  process.stdout.write(
    `availability ${method}${explain ? ' explained' : ''}: ${result.availability.length} ranges, ${median_ms.toFixed(1)} ms ` +
      `(first run ${first_ms.toFixed(1)} ms), ${(median_ms / json_ms).toFixed(2)} × serializing as JSON\n`,
  );
}

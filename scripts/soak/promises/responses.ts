import { type PromiseRow, test } from './row.ts';

export const responsePromises: readonly PromiseRow[] = [
  {
    row: 26,
    fault: 'The specification',
    promise: 'One test per row: field, limit (at, below, above), enum, message text, event, state transition',
    tests: test('spec/rows', 'every row is cited by exactly one test'),
  },
  {
    row: 27,
    goal: '1,000,000 schedules',
    fault: 'Availability, compared to a slow and obvious minute-by-minute oracle',
    promise: 'No difference in generated schedules, with all time-zone changes, recurrences, quotas and overlaps',
    tests: test('availability/oracle', 'have the availability that a minute-by-minute oracle finds'),
  },
  {
    row: 28,
    fault: 'Parallel bookings of one slot with `prevent_double_booking`',
    promise: 'Exactly one succeeds',
    tests: test('spec/appointments/booking', 'exactly one of several concurrent bookings of one slot succeeds'),
  },
  {
    row: 29,
    fault: 'Read-back',
    promise: 'What the EMR holds, and the `audit_trail`, equal what was sent',
    tests: [
      ...test(
        'connectors/larkspur/connector',
        'a telephone encounter with a refill at a new pharmacy is stored as sent',
      ),
      ...test('journeys/insurances', 'is added with its subscriber, and the event lists every field'),
    ],
  },
];

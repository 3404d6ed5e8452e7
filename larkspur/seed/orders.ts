import { daysBetween, usDay } from './days.ts';
import type { Chance } from './random.ts';
import type { SeenVisit } from './schedule.ts';

const ORDERS = 240;

/** Lab and imaging orders from visits of the last 180 days. Lab orders older than 21 days have results. */
export function orderRows(chance: Chance, now: Date, seen: SeenVisit[], example: string | undefined) {
  const recent = seen.filter(({ startsAt }) => countDays(now, startsAt) <= 180);
  const own = recent.filter(({ patientId }) => patientId === example);
  const visits = Array.from({ length: ORDERS }, (_, index) => {
    // Every 40th order is for the example patient.
    const list = index % 40 === 0 && own.length > 0 ? own : recent;
    return list[chance.below(list.length)];
  })
    .filter((visit) => visit !== undefined)
    .sort((a, b) => countDays(now, b.startsAt) - countDays(now, a.startsAt));
  return visits.map(({ appointmentId, patientId, providerId, startsAt }, index) => {
    const age = countDays(now, startsAt);
    const [name, tests] = chance.pick(panels);
    return {
      orderId: String(150001 + index),
      patientId,
      name,
      orderDate: usDay(now, -age),
      providerId,
      appointmentId,
      priority: chance.happens(0.3) ? chance.pick(['STAT', 'Routine']) : null,
      assignedTo: chance.happens(0.6) ? chance.pick(['703', '704', '705']) : null,
      labResults: age > 21 && tests.length > 0 ? results(chance, now, age, tests) : null,
    };
  });
}

function countDays(now: Date, startsAt: string): number {
  return daysBetween(startsAt, usDay(now));
}

function results(chance: Chance, now: Date, age: number, tests: Test[]) {
  return {
    status: 'Final',
    collectedOn: usDay(now, -age + 1),
    resultedOn: usDay(now, -age + 3),
    laboratory: 'Exampleton Reference Laboratory',
    results: tests.map(([test, unit, low, high]) => {
      const value = Math.round((low + ((high - low) * (chance.below(130) - 10)) / 100) * 10) / 10;
      const abnormalFlag = value < low ? 'L' : value > high ? 'H' : 'N';
      return { test, value: String(value), unit, range: `${low}-${high}`, abnormalFlag };
    }),
  };
}

type Test = [test: string, unit: string, low: number, high: number];
type Panel = [name: string, tests: Test[]];

const panels: [Panel, ...Panel[]] = [
  ['Hemoglobin A1c', [['Hemoglobin A1c', '%', 4, 5.7]]],
  [
    'Lipid panel',
    [
      ['Total cholesterol', 'mg/dL', 120, 200],
      ['HDL cholesterol', 'mg/dL', 40, 80],
      ['LDL cholesterol', 'mg/dL', 50, 130],
    ],
  ],
  [
    'Complete blood count',
    [
      ['White blood cells', '10^3/uL', 4, 11],
      ['Hemoglobin', 'g/dL', 12, 17],
      ['Platelets', '10^3/uL', 150, 400],
    ],
  ],
  ['Chest X-ray', []],
];

import type { Chance } from '../../../../larkspur/seed/random.ts';

/** `practice`: 200 patients, 5,000 claims. `paged`: several pages of most lists. `small`: a few of each. */
export type PracticeSize = 'practice' | 'paged' | 'small' | 'none';

/** The other numbers follow from these. */
export const sizes = {
  practice: { patients: 200, claims: 5000, doctors: 8, slot_days: 10, appointments: 240, orders: 150, documents: 60 },
  paged: { patients: 120, claims: 450, doctors: 4, slot_days: 4, appointments: 120, orders: 40, documents: 12 },
  small: { patients: 12, claims: 40, doctors: 3, slot_days: 3, appointments: 16, orders: 10, documents: 6 },
} as const;
export type Sizes = (typeof sizes)[keyof typeof sizes];

/** The input of all generators: a fixed random seed, and the current date. */
export type SeedContext = { chance: Chance; today: Date; size: Sizes };

/** Codes of one system, to pick from. */
type Code = { code: string; display: string };
export type Coded = [Code, ...Code[]];

const day_ms = 24 * 60 * 60_000;

export function dayFrom({ today }: SeedContext, days: number): string {
  return new Date(today.getTime() + days * day_ms).toISOString().slice(0, 10);
}

export function times<T>(count: number, make: (index: number) => T): T[] {
  return Array.from({ length: count }, (_, index) => make(index));
}

/** A reference to one of the numbered resources of a type. */
export function pickReference({ chance }: SeedContext, prefix: string, count: number): string {
  return `${prefix}-${1 + chance.below(count)}`;
}

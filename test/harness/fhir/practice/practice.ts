import { setImmediate as nextTurn } from 'node:timers/promises';
import type * as fhir from 'fhir/r4.js';
import { seededChance } from '../../../../larkspur/seed/random.ts';
import type { CheckedRepository } from '../repository.ts';
import { makeBilling } from './billing.ts';
import { makeCharts } from './charts.ts';
import { makeOrganizations } from './organizations.ts';
import { makePatients, makePractitioners } from './people.ts';
import { makeSchedules } from './schedule.ts';
import { type PracticeSize, type SeedContext, sizes } from './sizes.ts';

/** Meadowbrook: a fictitious practice, the same every time except for its dates. */
export function makePractice(size: Exclude<PracticeSize, 'none'>): fhir.FhirResource[] {
  const seed: SeedContext = { chance: seededChance(20260115), today: new Date(), size: sizes[size] };
  const all = [makeOrganizations, makePractitioners, makePatients, makeSchedules, makeBilling, makeCharts].flatMap(
    (make) => make(seed),
  );
  // One record per minute, because records are listed in the order of their changes.
  const first_ms = seed.today.getTime() - all.length * minute_ms - 30 * 24 * 60 * minute_ms;
  return all.map((resource, index) => ({
    ...resource,
    meta: { lastUpdated: new Date(first_ms + index * minute_ms).toISOString() },
  }));
}

const minute_ms = 60_000;

export async function seedPractice(repo: CheckedRepository, size: PracticeSize): Promise<void> {
  if (size === 'none') return;
  for (const [n, resource] of makePractice(size).entries()) {
    await repo.storeUnchecked(resource);
    // The repository is in memory, so nothing else would run until the end.
    if (n % 50 === 0) await nextTurn();
  }
}

import type * as fhir from 'fhir/r4.js';
import { seededChance } from '../../../../larkspur/seed/random.ts';
import type { CheckedRepository } from '../repository.ts';
import { billingOf } from './billing.ts';
import { chartsOf } from './charts.ts';
import { placesOf } from './organizations.ts';
import { patientsOf, practitionersOf } from './people.ts';
import { scheduleOf } from './schedule.ts';
import { type Making, type PracticeSize, sizes } from './sizes.ts';

/** Meadowbrook: a practice that does not exist, the same every time but for the day it is dated from. */
export function practiceOf(size: Exclude<PracticeSize, 'none'>): fhir.FhirResource[] {
  const making: Making = { chance: seededChance(20260115), today: new Date(), size: sizes[size] };
  const all = [placesOf, practitionersOf, patientsOf, scheduleOf, billingOf, chartsOf].flatMap((make) => make(making));
  // Entered one a minute, as by people: records are listed in the order of their changes.
  const first_ms = making.today.getTime() - all.length * minute_ms - 30 * 24 * 60 * minute_ms;
  return all.map((resource, index) => ({
    ...resource,
    meta: { lastUpdated: new Date(first_ms + index * minute_ms).toISOString() },
  }));
}

const minute_ms = 60_000;

export async function layPractice(repo: CheckedRepository, size: PracticeSize): Promise<void> {
  if (size === 'none') return;
  for (const resource of practiceOf(size)) await repo.lay(resource);
}

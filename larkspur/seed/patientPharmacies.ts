import { PATIENTS } from './patients.ts';
import type { Chance } from './random.ts';

/** Most patients use one pharmacy or two, and some have named none. */
export function patientPharmacyRows(chance: Chance) {
  const open = Array.from({ length: 14 }, (_, index) => String(9001 + index));
  return Array.from({ length: PATIENTS }, (_, index) => ({
    patientId: String(10001 + index),
    pharmacyIds: index === 0 ? ['9001'] : chance.sample(open, chance.below(3)),
  }))
    .flatMap(({ patientId, pharmacyIds }) =>
      pharmacyIds.map((pharmacyId, position) => ({ patientId, pharmacyId, primaryFlag: position === 0 ? 'Y' : 'N' })),
    )
    .map((row, index) => ({ patientPharmacyId: String(40001 + index), ...row }));
}

import type { Static } from 'typebox';
import { appointments } from './appointments.ts';
import { claims } from './claims.ts';
import { eligibilityChecks } from './eligibilityChecks.ts';
import { insuranceProviders } from './insuranceProviders.ts';
import { locations } from './locations.ts';
import { orders } from './orders.ts';
import { patientInsurances } from './patientInsurances.ts';
import { patients } from './patients.ts';
import { pharmacies } from './pharmacies.ts';
import { providers } from './providers.ts';
import { referrals } from './referrals.ts';
import { referringProviders } from './referringProviders.ts';
import { scheduleBlocks } from './scheduleBlocks.ts';
import { staff } from './staff.ts';
import { visitStatuses } from './visitStatuses.ts';
import { visitTypes } from './visitTypes.ts';

/** All kinds, in the order of the API reference. Short lists come first: a first sync reads them before the long ones. */
export const record_kinds = [
  providers,
  locations,
  staff,
  pharmacies,
  visitTypes,
  visitStatuses,
  insuranceProviders,
  referringProviders,
  patients,
  patientInsurances,
  appointments,
  scheduleBlocks,
  orders,
  referrals,
  claims,
  eligibilityChecks,
] as const;

export type Kind = (typeof record_kinds)[number];
export type KindName = Kind['name'];
export type SourceOf<K extends Kind> = Static<K['source']>;

/** The order of a sync: as above, but each kind follows those that it copies from. */
export const sync_order: readonly Kind[] = inSyncOrder();

/** The kinds that availability is computed from: schedules, and the kinds that they copy from. */
export const schedule_kinds: readonly Kind[] = sync_order.filter((kind) =>
  record_kinds.some((each) => each.active_providers_only && copiesFrom(each, kind)),
);

export function findKind(name: string): Kind | undefined {
  return record_kinds.find((kind) => kind.name === name);
}

function copiesFrom(kind: Kind, other: Kind): boolean {
  return (
    kind === other ||
    kind.after.some((name) => {
      const earlier = findKind(name);
      return earlier !== undefined && copiesFrom(earlier, other);
    })
  );
}

function inSyncOrder(): Kind[] {
  const ordered = new Set<Kind>();
  const add = (kind: Kind) => {
    for (const name of kind.after) {
      const earlier = findKind(name);
      if (!earlier) throw new Error(`${kind.name} comes after ${name}, which is not a record kind.`);
      if (!ordered.has(earlier)) add(earlier);
    }
    ordered.add(kind);
  };
  for (const kind of record_kinds) add(kind);
  return [...ordered];
}

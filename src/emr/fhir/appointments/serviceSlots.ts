import type * as fhir from 'fhir/r4.js';
import { addDays } from '../../../platform/time/days.ts';
import { canSearch, createResolver, type Emr, refId, refIds } from '../references.ts';
import type { Requirement } from '../transport/capabilities.ts';
import { searches } from '../transport/capabilities.ts';
import { searchValue } from '../transport/search.ts';
import { list } from '../values.ts';
import { loadVisitTypes, type VisitType } from './appointments.ts';
import { type DateRange, type SlotPart, toSlotParts } from './slots.ts';

const params = ['service-type', 'schedule.actor', 'start'];

/** Servers that find slots by service and provider, and not by schedule (Oracle). */
export const finds_service_slots: Requirement = searches('Slot', ...params);

export function findsServiceSlots(client: Emr['client']): boolean {
  return canSearch(client, 'Slot', params);
}

/** The slots of a service and a provider, from the day before to the day after, and the locations of their schedules. */
export async function searchServiceSlots(
  client: Emr['client'],
  { coding: { system, code = '' } }: Pick<VisitType, 'coding'>,
  provider_ehr_id: string,
  [from, to]: DateRange,
): Promise<{ slots: fhir.Slot[]; findPlaces: (slot: fhir.Slot) => string[] }> {
  const slots = await client.searchAll<fhir.Slot>('Slot', {
    'service-type': system === undefined ? searchValue(code) : `${system}|${searchValue(code)}`,
    'schedule.actor': `Practitioner/${provider_ehr_id}`,
    start: [`ge${addDays(from, -1)}`, `lt${addDays(to, 2)}`],
  });
  const schedule_ids = refIds(
    slots.map(({ schedule }) => schedule),
    'Schedule',
  );
  const schedules = await createResolver(client).load<fhir.Schedule>('Schedule', schedule_ids);
  const findPlaces = ({ schedule }: fhir.Slot) =>
    refIds(list(schedules.get(refId(schedule, 'Schedule') ?? '')?.actor), 'Location');
  return { slots, findPlaces };
}

/** The slots of these providers in a range of days: one search for each provider and service. */
export async function loadServiceSlots(
  emr: Emr,
  provider_ehr_ids: readonly string[],
  days: DateRange,
): Promise<SlotPart[]> {
  const services = [...(await loadVisitTypes(emr)).values()].filter(({ field }) => field === 'serviceType');
  const parts = new Map<string, SlotPart[]>();
  for (const provider_ehr_id of provider_ehr_ids) {
    for (const service of services) {
      const { slots, findPlaces } = await searchServiceSlots(emr.client, service, provider_ehr_id, days);
      for (const slot of slots) {
        // A slot may offer several services.
        const owner = { provider_ehr_id, facility_ehr_id: findPlaces(slot)[0] ?? null };
        parts.set(`${provider_ehr_id} ${slot.id}`, toSlotParts(slot, owner, emr.timezone));
      }
    }
  }
  return [...parts.values()].flat().filter(({ day }) => day >= days[0] && day <= days[1]);
}

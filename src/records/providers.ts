import type { Provider, ProviderSource } from '../model/provider.ts';
import { locationNames } from './locations.ts';
import type { RecordKind } from './recordKind.ts';

/** Settings of a provider that belong to the service; null leaves the EMR's value in force. */
export type ProviderSettings = {
  status_set: Provider['status'] | null;
  hide_in_availability: boolean;
  hours_set: Provider['hours'] | null;
};

const unset: ProviderSettings = { status_set: null, hide_in_availability: false, hours_set: null };

export const providers: RecordKind<ProviderSource> = {
  table: 'providers',
  list: (operations) => operations.listProviders,
  keeps: ['status_set', 'hide_in_availability', 'hours_set'],
  lookup: locationNames,
  row: (source, id, kept, facility_names) => ({
    source,
    // `keeps` names exactly the columns of ProviderSettings.
    doc: providerDocument(source, id, (kept as ProviderSettings | undefined) ?? unset, facility_names),
  }),
};

/** A provider on the wire: the EMR's record under the service's settings, with the facilities' names filled in. */
export function providerDocument(
  source: ProviderSource,
  id: string,
  settings: ProviderSettings,
  facility_names: ReadonlyMap<string, string>,
): Provider {
  const hours = (settings.hours_set ?? source.hours).map(({ day, shifts }) => ({
    day,
    shifts: shifts.map((shift) => {
      const facility_name = shift.facility_id === undefined ? undefined : facility_names.get(shift.facility_id);
      return facility_name === undefined ? shift : { ...shift, facility_name };
    }),
  }));
  return {
    id,
    ehr_id: source.ehr_id,
    name: source.name,
    npi: source.npi,
    timezone: source.timezone,
    status: settings.status_set ?? source.status,
    hide_in_availability: settings.hide_in_availability,
    hours,
  };
}

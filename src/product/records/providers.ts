import { apiError } from '../../catalog/errors.ts';
import type { Provider, ProviderSource } from '../../model/records/providers.ts';
import type { RecordRow, StoredColumns } from '../../model/records/recordKind.ts';
import type { ProviderSettingsRequest } from '../../model/settings.ts';
import type { Fragment, Tx } from '../../platform/db/database.ts';
import { syncSoon } from '../accounts/organizations.ts';
import { checkHours } from './hours.ts';
import type { Scope } from './readRecords.ts';
import { locationNames, parseStatus } from './settings.ts';
import { requireFullSync } from './syncPasses.ts';

/** Settings that belong to the service. Null means that the EMR's value applies. */
type ProviderSettings = {
  status_set: Provider['status'] | null;
  hide_in_availability: boolean;
  hours_set: Provider['hours'] | null;
};

const no_settings: ProviderSettings = { status_set: null, hide_in_availability: false, hours_set: null };

/** Provider rows copy the names of their facilities from the locations. */
export async function providerRows(tx: Tx, scope: Scope) {
  const facilities = await locationNames(tx, scope);
  return (listed: ProviderSource, id: string, stored: StoredColumns | undefined): RecordRow => {
    // These are the kind's kept columns.
    const present = stored as (ProviderSettings & { source: ProviderSource }) | undefined;
    const settings = present ?? no_settings;
    const active = (settings.status_set ?? listed.status) === 'active';
    // The schedule of an inactive provider is not synced.
    const source = active ? listed : { ...listed, hours: present?.source.hours ?? [] };
    return { source, doc: providerDocument(source, id, settings, facilities) };
  };
}

/** EMR ids of the providers whose schedules are not synced. */
export async function inactiveProviders(tx: Tx, scope: Scope): Promise<string[]> {
  const rows = await tx<{ ehr_id: string }[]>`
    SELECT ehr_id FROM providers WHERE organization_id = ${scope.organization_id} AND doc ->> 'status' = 'inactive'`;
  return rows.map(({ ehr_id }) => ehr_id);
}

type ProviderKey = { id: string } | { ehr_id: string };

/** Changes the settings that belong to the service. Returns the provider's id; undefined if there is no such provider. */
export async function updateProviderSettings(
  tx: Tx,
  scope: Scope,
  key: ProviderKey,
  request: ProviderSettingsRequest,
): Promise<string | undefined> {
  if (Object.keys(request).length === 0) throw apiError('no_field');
  const { status, hide_in_availability: hide, hours } = request;
  const activates = status !== undefined && parseStatus(status) === 'active';
  // The organization is locked before the provider, as syncs and linking do; the other order could deadlock.
  if (activates && (await isInactive(tx, scope.organization_id, key))) {
    // The schedule was not synced while the provider was inactive, so the stored one may be old.
    await syncSoon(tx, scope.organization_id);
    await requireFullSync(tx, scope.organization_id);
  }
  const provider = await lockProvider(tx, scope.organization_id, key);
  if (!provider) return undefined;
  const facilities = await locationNames(tx, scope);
  const settings: ProviderSettings = {
    status_set: status === undefined ? provider.status_set : parseStatus(status),
    hide_in_availability: hide === undefined ? provider.hide_in_availability : String(hide) === 'true',
    hours_set: hours === undefined ? provider.hours_set : hours && (await checkHours(tx, scope, hours)),
  };
  const doc = providerDocument(provider.source, provider.id, settings, facilities);
  await saveProviderSettings(tx, provider.id, settings, doc);
  return provider.id;
}

async function isInactive(tx: Tx, organization_id: string, key: ProviderKey): Promise<boolean> {
  const rows = await tx`SELECT FROM providers
    WHERE organization_id = ${organization_id} AND ${matches(tx, key)} AND doc ->> 'status' = 'inactive'`;
  return rows.length > 0;
}

type StoredProvider = { id: string; source: ProviderSource } & ProviderSettings;

async function lockProvider(tx: Tx, organization_id: string, key: ProviderKey): Promise<StoredProvider | undefined> {
  const [row] = await tx<StoredProvider[]>`
    SELECT id, source, status_set, hide_in_availability, hours_set FROM providers
     WHERE organization_id = ${organization_id} AND ${matches(tx, key)} FOR UPDATE`;
  return row;
}

function matches(tx: Tx, key: ProviderKey): Fragment {
  return 'id' in key ? tx`id = ${key.id}` : tx`ehr_id = ${key.ehr_id}`;
}

async function saveProviderSettings(tx: Tx, id: string, settings: ProviderSettings, doc: Provider): Promise<void> {
  // An empty hash makes the next sync write the row again.
  await tx`UPDATE providers SET status_set = ${settings.status_set}, source_hash = '',
      hide_in_availability = ${settings.hide_in_availability}, doc = ${JSON.stringify(doc)}::text::json,
      hours_set = ${settings.hours_set === null ? null : JSON.stringify(settings.hours_set)}::text::json
    WHERE id = ${id}`;
}

function providerDocument(
  source: ProviderSource,
  id: string,
  settings: ProviderSettings,
  facilities: ReadonlyMap<string, string>,
): Provider {
  const hours = (settings.hours_set ?? source.hours).map(({ day, shifts }) => ({
    day,
    shifts: shifts.map((shift) => {
      const facility_name = shift.facility_id === undefined ? undefined : facilities.get(shift.facility_id);
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

import type { Database, Fragment, Tx } from '../db/database.ts';
import type { EditedProvider } from '../model/dashboard/records.ts';
import type { Provider, ProviderSource } from '../model/records/providers.ts';
import { locationNames } from './locations.ts';
import type { RecordKind, SyncScope } from './recordKind.ts';

/** Settings of a provider that belong to the service; null leaves the EMR's value in force. */
export type ProviderSettings = {
  status_set: Provider['status'] | null;
  hide_in_availability: boolean;
  hours_set: Provider['hours'] | null;
};

const unset: ProviderSettings = { status_set: null, hide_in_availability: false, hours_set: null };

export const providers: RecordKind<ProviderSource, ReadonlyMap<string, string>> = {
  table: 'providers',
  list: (operations) => operations.listProviders,
  keeps: ['status_set', 'hide_in_availability', 'hours_set', 'source'],
  lookup: locationNames,
  row: (listed, id, kept, facility_names) => {
    // `keeps` names exactly the columns of ProviderSettings, and the source of the row before.
    const present = kept as (ProviderSettings & { source: ProviderSource }) | undefined;
    const settings = present ?? unset;
    const synced = (settings.status_set ?? listed.status) === 'active';
    const source = synced ? listed : { ...listed, hours: present?.source.hours ?? [] };
    return { source, doc: providerDocument(source, id, settings, facility_names) };
  },
};

/** EMR ids of the providers whose schedule is not synced. */
export async function inactiveProviders(tx: Tx, scope: SyncScope): Promise<string[]> {
  const rows = await tx<{ ehr_id: string }[]>`
    SELECT ehr_id FROM providers WHERE organization_id = ${scope.organization_id} AND doc ->> 'status' = 'inactive'`;
  return rows.map(({ ehr_id }) => ehr_id);
}

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

/** A provider of an organization for who edits it: as it stands, what is set here, and what the EMR says. */
export async function readProvider(
  db: Database,
  scope: { client_id: string; organization_id: string },
  id: string,
): Promise<EditedProvider | undefined> {
  const [row] = await db.read<EditedProvider>(
    scope.client_id,
    (sql) => sql`SELECT doc AS provider, json_build_object('status', status_set, 'hours', hours_set IS NOT NULL) AS set,
        json_build_object('status', source -> 'status', 'hours', source -> 'hours') AS emr
      FROM providers WHERE organization_id = ${scope.organization_id} AND id = ${id}`,
  );
  return row;
}

type By = { id: string } | { ehr_id: string };

/** A provider of an organization by one of its two ids, locked for a change; undefined when there is none. */
export async function findProvider(
  tx: Tx,
  organization_id: string,
  by: By,
): Promise<({ id: string; source: ProviderSource } & ProviderSettings) | undefined> {
  const [row] = await tx<({ id: string; source: ProviderSource } & ProviderSettings)[]>`
    SELECT id, source, status_set, hide_in_availability, hours_set FROM providers
     WHERE organization_id = ${organization_id} AND ${named(tx, by)} FOR UPDATE`;
  return row;
}

/** Whether a sync leaves the schedule of this provider alone. */
export async function isResting(tx: Tx, organization_id: string, by: By): Promise<boolean> {
  const rows = await tx`SELECT FROM providers
    WHERE organization_id = ${organization_id} AND ${named(tx, by)} AND doc ->> 'status' = 'inactive'`;
  return rows.length > 0;
}

function named(tx: Tx, by: By): Fragment {
  return 'id' in by ? tx`id = ${by.id}` : tx`ehr_id = ${by.ehr_id}`;
}

export async function saveProviderSettings(
  tx: Tx,
  id: string,
  settings: ProviderSettings,
  doc: Provider,
): Promise<void> {
  // The next sync compares its row with this one by hash; an empty one makes it write the row once more.
  await tx`UPDATE providers SET status_set = ${settings.status_set}, source_hash = '',
      hide_in_availability = ${settings.hide_in_availability}, doc = ${JSON.stringify(doc)}::text::json,
      hours_set = ${settings.hours_set === null ? null : JSON.stringify(settings.hours_set)}::text::json
    WHERE id = ${id}`;
}

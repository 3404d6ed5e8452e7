import { apiError } from '../../catalog/errors.ts';
import { newId, parseId } from '../../catalog/ids.ts';
import type { MrnRule, VisitType } from '../../emr/connector.ts';
import type { SearchConstants } from '../../emr/requestSettings.ts';
import type { CodeLists } from '../../model/settings.ts';
import type { Sql, Tx } from '../../platform/db/database.ts';
import type { Context } from '../context.ts';
import type { MrnSetting } from './capabilities.ts';

/** A client's organization by its id, with or without hyphens; undefined if the client has none with this id. */
export async function findOrganization(
  ctx: Context,
  client_id: string,
  id: string,
): Promise<{ id: string; timezone: string } | undefined> {
  const parsed = parseId(id);
  if (!parsed) return undefined;
  const [row] = await ctx.db.read<{ id: string; timezone: string }>(
    client_id,
    (sql) => sql`SELECT id, timezone FROM organizations WHERE id = ${parsed}`,
  );
  return row;
}

export type NewOrganization = {
  client_id: string;
  org_id: string;
  connector: string;
  emr_address: string;
  search_params: SearchConstants;
  timezone: string | undefined;
  mrn_guess: MrnRule | undefined;
};

type IdentifiedOrganization = Pick<NewOrganization, 'connector' | 'emr_address' | 'search_params'> & { id: string };

/**
 * Adds an organization, or returns the existing one with its connector and address. One account may see less of the EMR
 * than another: if it cannot read the time zone, the stored zone is kept. Which identifier is the
 * MRN is guessed once: the accounts of an organization must agree on it.
 */
export async function addOrganization(tx: Tx, organization: NewOrganization): Promise<IdentifiedOrganization> {
  const { client_id, org_id, connector, emr_address, search_params, timezone = null, mrn_guess } = organization;
  const [row] = await tx<IdentifiedOrganization[]>`
    INSERT INTO organizations AS existing (id, client_id, org_id, connector, emr_address, search_params, timezone,
                                           mrn_guess)
      VALUES (${newId()}, ${client_id}, ${org_id}, ${connector}, ${emr_address},
              ${JSON.stringify(search_params)}::text::jsonb, coalesce(${timezone}::text, 'UTC'),
              ${mrn_guess ? JSON.stringify(mrn_guess) : null}::text::jsonb)
    ON CONFLICT (client_id, org_id) DO UPDATE SET timezone = coalesce(${timezone}::text, existing.timezone)
    RETURNING id, connector, emr_address, search_params`;
  if (!row) throw new Error('An upsert returned no row.');
  return row;
}

export async function setEmrAddress(tx: Tx, org_id: string, emr_address: string): Promise<void> {
  await tx`UPDATE organizations SET emr_address = ${emr_address} WHERE org_id = ${org_id}`;
}

/** The settings of an organization for its EMR's server. */
export type EmrSettings = MrnSetting & { parallel_writes_max: number | null; visit_types: VisitType[] | null };

export async function lockEmrSettings(tx: Tx, id: string): Promise<EmrSettings & { connector: string }> {
  const [row] = await tx<(EmrSettings & { connector: string })[]>`
    SELECT mrn_system, mrn_type, parallel_writes_max, visit_types, connector FROM organizations WHERE id = ${id} FOR NO KEY UPDATE`;
  if (!row) throw apiError('record_not_found', { noun: 'Organization', id });
  return row;
}

/** The next sync reads the records again in full if this changes which identifier is the MRN. */
export async function setEmrSettings(tx: Tx, id: string, settings: EmrSettings): Promise<void> {
  await tx`UPDATE organizations SET mrn_system = ${settings.mrn_system}, mrn_type = ${settings.mrn_type},
      parallel_writes_max = ${settings.parallel_writes_max},
      visit_types = ${settings.visit_types && JSON.stringify(settings.visit_types)}::text::jsonb
    WHERE id = ${id}`;
}

/** Stores the values that the EMR instance accepts, as of this sync. */
export async function setCodeLists(tx: Tx, id: string, lists: CodeLists): Promise<void> {
  await tx`UPDATE organizations SET code_lists = ${JSON.stringify(lists)}::text::jsonb WHERE id = ${id}`;
}

/** Stores a week of hours that was checked by `checkHours`, as JSON. Null restores the standard hours. */
export async function storeDefaultHours(tx: Tx, id: string, hours: readonly object[] | null): Promise<void> {
  await tx`UPDATE organizations SET default_hours = ${hours && JSON.stringify(hours)}::text::json WHERE id = ${id}`;
}

/** The length of appointments whose request and visit type give none. Null restores the standard length. */
export async function setAppointmentMinutes(tx: Tx, id: string, minutes: number | null): Promise<void> {
  await tx`UPDATE organizations SET default_appointment_minutes = ${minutes} WHERE id = ${id}`;
}

export async function markSynced(tx: Tx, id: string): Promise<void> {
  await tx`UPDATE organizations SET synced_at = now() WHERE id = ${id}`;
}

/**
 * Postpones the next scheduled sync so that the requests of this one, `requests` more than stored, stay within
 * `per_hour` on average. `minutes_max`: at most so long after the start of this one.
 */
export async function spaceSyncs(
  tx: Tx,
  { id, job_id, requests }: { id: string; job_id: number; requests: number },
  { per_hour, minutes_max }: { per_hour: number; minutes_max: number },
): Promise<void> {
  await tx`UPDATE organizations SET next_sync_at = greatest(next_sync_at, job.started_at + make_interval(secs =>
        least((coalesce(job.emr_requests, 0) + ${requests}) * 3600.0 / ${per_hour}, ${minutes_max} * 60.0)))
     FROM jobs AS job WHERE organizations.id = ${id} AND job.id = ${job_id}`;
}

/** Makes an organization's next sync due now. */
export async function syncSoon(tx: Tx, id: string): Promise<void> {
  await tx`UPDATE organizations SET next_sync_at = now() WHERE id = ${id}`;
}

/** Sets the next time of up to 100 organizations that are due. This claims the rows: only one process gets each. */
export function claimDueForSync(
  system: Sql,
  sync_minutes: number,
): Promise<{ id: string; client_id: string; org_id: string; connector: string }[]> {
  return system.pooled<{ id: string; client_id: string; org_id: string; connector: string }[]>`
    UPDATE organizations SET next_sync_at = now() + make_interval(mins => ${sync_minutes})
     WHERE id IN (SELECT id FROM organizations WHERE next_sync_at <= now()
                   ORDER BY next_sync_at LIMIT 100 FOR UPDATE SKIP LOCKED)
    RETURNING id, client_id, org_id, connector`;
}

/** Forgets that an organization was synced, after its records were deleted. */
export async function resetSync(tx: Tx, id: string): Promise<void> {
  await tx`UPDATE organizations SET synced_at = NULL, code_lists = NULL WHERE id = ${id}`;
}

import { phoneDigits } from '../../../model/fields.ts';
import { fold, toNeedle } from '../../../model/fold.ts';
import type { Provider } from '../../../model/records/providers.ts';
import type { Database, Fragment, Query } from '../../../platform/db/database.ts';
import { isDate } from '../../../platform/time/days.ts';
import { requireConnector } from '../../../product/accounts/connectAccount.ts';
import type { Context } from '../../../product/context.ts';
import { standard_hours } from '../../../product/records/hours.ts';
import { containsName, namedRecords, nameField, recordsNamed } from '../../../product/records/nameSuffixes.ts';
import { isFirstSyncPending, type Scope } from '../../../product/records/readRecords.ts';
import {
  type DashboardKind,
  dashboard_kinds,
  type FoundPatient,
  isSearched,
  type KindRow,
  type LatestSync,
  type OrganizationChoice,
} from './schema.ts';

/** A client's organizations in the order they were linked. */
export async function listOrganizations(ctx: Context, client_id: string): Promise<OrganizationChoice[]> {
  const rows = await ctx.db.read<Omit<OrganizationChoice, 'emr_name'> & { connector: string }>(
    client_id,
    (sql) => sql`SELECT id, org_id, timezone, connector FROM organizations ORDER BY created_at, id`,
  );
  return rows.map(({ connector, ...row }) => ({ ...row, emr_name: requireConnector(ctx, connector).display_name }));
}

/** The record kinds with a list, and how many records of each an organization has. */
export async function listKinds(db: Database, scope: Scope): Promise<KindRow[]> {
  const counts = await countRecords(db, scope);
  return dashboard_kinds.map((kind) => {
    const { name, labels, dashboard_columns, filters } = kind;
    const count = counts.find((each) => each.kind === name);
    return {
      kind: name,
      label: labels.plural.replace(/^./, (letter) => letter.toUpperCase()),
      reads: isSearched(kind) ? 'search' : 'all',
      filters: Object.keys(filters),
      columns: [...dashboard_columns],
      total: count?.total ?? 0,
      synced_at: count?.synced_at ?? null,
      first_sync_pending: count?.first_sync_pending ?? true,
      refused_in: count?.refused_in ?? null,
    };
  });
}

/** The newest sync of an organization, whether or not it has finished. */
export async function latestSync(db: Database, { client_id, organization_id }: Scope): Promise<LatestSync | null> {
  const [sync = null] = await db.read<LatestSync>(
    client_id,
    (
      sql,
    ) => sql`SELECT id AS job_id, CASE WHEN parked THEN 'parked' ELSE state END AS state, error->>'code' AS error_code,
        iso(coalesce(finished_at, started_at, created_at)) AS at
      FROM jobs WHERE organization_id = ${organization_id} AND type = 'sync' ORDER BY id DESC LIMIT 1`,
  );
  return sync;
}

/**
 * Patients of all of a client's organizations by name, date of birth, phone number or MRN; `text` says which by its
 * form. The first matches by name are enough for a person who is looking for one.
 */
export function findPatients(
  db: Pick<Database, 'search'>,
  client_id: string,
  text: string,
  { patients_max }: { patients_max: number },
): Promise<FoundPatient[]> {
  return db.search<FoundPatient>(client_id, (sql) => {
    const { source, condition } = buildSearch(sql, client_id, text.trim());
    return sql`
      SELECT listed.id, organization_id, org_id, doc->>'first_name' AS first_name, doc->>'last_name' AS last_name, doc->>'dob' AS dob, mrn
        FROM ${source} JOIN organizations ON organizations.id = organization_id
       WHERE listed.client_id = ${client_id} AND ${inOrganizations(sql, client_id)} AND ${condition}
       ORDER BY last_folded, first_folded, listed.id LIMIT ${patients_max}`;
  });
}

/** A patient of any organization by id. */
export async function findPatient(
  db: Database,
  client_id: string,
  id: string,
): Promise<{ id: string; mrn: string | null } | undefined> {
  const [patient] = await db.read<{ id: string; mrn: string | null }>(
    client_id,
    (sql) =>
      sql`SELECT replace(id::text, '-', '') AS id, mrn FROM patients WHERE client_id = ${client_id} AND id = ${id}`,
  );
  return patient;
}

/** A provider, which of its values are set in the service, and the EMR's. */
type EditedProvider = {
  provider: Provider;
  set: { status: Provider['status'] | null; hours: boolean };
  emr: Pick<Provider, 'status' | 'hours'>;
};

export async function readProvider(db: Database, scope: Scope, id: string): Promise<EditedProvider | undefined> {
  const [row] = await db.read<EditedProvider>(
    scope.client_id,
    (sql) => sql`SELECT doc AS provider, json_build_object('status', status_set, 'hours', hours_set IS NOT NULL) AS set,
        json_build_object('status', source -> 'status', 'hours', source -> 'hours') AS emr
      FROM providers WHERE organization_id = ${scope.organization_id} AND id = ${id}`,
  );
  return row;
}

/** The hours that apply to an organization's providers without any, whether it has set them, and its default duration. */
export async function readDefaultHours(
  db: Database,
  scope: Scope,
): Promise<{ hours: Provider['hours']; set: boolean; appointment_minutes: number | null }> {
  const [row] = await db.read<{ hours: Provider['hours'] | null; appointment_minutes: number | null }>(
    scope.client_id,
    (sql) => sql`SELECT default_hours AS hours, default_appointment_minutes AS appointment_minutes
      FROM organizations WHERE id = ${scope.organization_id}`,
  );
  return {
    hours: row?.hours ?? standard_hours,
    set: row?.hours != null,
    appointment_minutes: row?.appointment_minutes ?? null,
  };
}

/** A kind that none of these syncs has read is not supported by the EMR. */
const syncs_checked = 20;

type RecordCount = Pick<KindRow, 'kind' | 'total' | 'synced_at' | 'first_sync_pending' | 'refused_in'>;

/** How many records an organization has of each kind, when a sync last read the kind, or why none has. */
function countRecords(db: Database, { client_id, organization_id }: Scope): Promise<RecordCount[]> {
  return db.search<RecordCount>(client_id, (sql) => {
    const total = ({ name, counted }: DashboardKind): Fragment =>
      counted
        ? sql`(SELECT coalesce(sum(total), 0)::int FROM record_counts
                WHERE organization_id = ${organization_id} AND kind = ${name})`
        : sql`(SELECT count(*)::int FROM ${sql(name)}
                WHERE client_id = ${client_id} AND organization_id = ${organization_id})`;
    const rows = dashboard_kinds.flatMap((kind, n) => [
      n === 0 ? sql`` : sql` UNION ALL `,
      sql`SELECT ${n}::int AS place, ${kind.name}::text AS kind, ${total(kind)} AS total`,
    ]);
    return sql`WITH notes AS (
        SELECT step.name, step.job_id, step.at, step.detail->>'refused' IS NOT NULL AS refused FROM (
          SELECT id FROM jobs WHERE organization_id = ${organization_id} AND type = 'sync'
           ORDER BY id DESC LIMIT ${syncs_checked}) AS sync
        JOIN job_steps AS step ON step.job_id = sync.id AND step.kind = 'note')
      SELECT shown.kind, shown.total,
        (SELECT iso(max(at)) FROM notes WHERE notes.name = shown.kind AND NOT refused) AS synced_at,
        (SELECT CASE WHEN refused THEN job_id END FROM notes WHERE notes.name = shown.kind
          ORDER BY at DESC LIMIT 1) AS refused_in,
        ${isFirstSyncPending(sql, organization_id, sql`shown.kind`)} AS first_sync_pending
      FROM (${rows}) AS shown ORDER BY shown.place`;
  });
}

/** All organizations of the client, by id: indexes begin with it. */
function inOrganizations(sql: Query, client_id: string): Fragment {
  return sql`organization_id = ANY (ARRAY(SELECT id FROM organizations WHERE client_id = ${client_id}))`;
}

/** Where the patients are read from, under the name `listed`, and a condition about them. */
type Search = { source: Fragment; condition: Fragment };

function buildSearch(sql: Query, client_id: string, text: string): Search {
  const source = sql`patients AS listed`;
  const dob = readDay(text);
  if (dob !== undefined) return { source, condition: sql`dob = ${dob}` };
  const phone = readPhone(text);
  // An MRN may look like a phone number.
  if (phone !== undefined)
    return { source, condition: sql`(phone = ${phone} OR cell_phone = ${phone} OR mrn = ${text})` };
  const names = fold(text)
    .split(/[\s,]+/)
    .filter((word) => toNeedle(word) !== null);
  if (names.length === 0) return { source, condition: sql`mrn = ${text}` };
  const matches = names
    .map((name) => sql`(${containsName(sql, sql`last_folded`, name)} OR ${containsName(sql, sql`first_folded`, name)})`)
    .reduce((all, each) => sql`${all} AND ${each}`);
  return {
    source: namedSource(sql, client_id, text, names) ?? source,
    condition: sql`(mrn = ${text} OR (${matches}))`,
  };
}

const name_fields = [nameField('patients', 'last_folded'), nameField('patients', 'first_folded')];

/** The patients that indexes find by the longest name or by MRN; undefined if all names are too short. */
function namedSource(sql: Query, client_id: string, mrn: string, names: readonly string[]): Fragment | undefined {
  const [longest = ''] = names.toSorted((a, b) => b.length - a.length);
  const organizations = inOrganizations(sql, client_id);
  const named = recordsNamed(sql, { client_id: sql`${client_id}`, organizations, fields: name_fields }, longest);
  if (!named) return undefined;
  return sql`(${named.ids} UNION SELECT id FROM patients
      WHERE client_id = ${client_id} AND ${organizations} AND mrn = ${mrn}) AS named
    CROSS JOIN ${namedRecords(sql, 'patients')} AS listed`;
}

/** A date as `YYYY-MM-DD`, from that or from `M/D/YYYY`. */
function readDay(text: string): string | undefined {
  const [, month = '', date = '', year] = /^(\d{1,2})\/(\d{1,2})\/(\d{4})$/.exec(text) ?? [];
  const day = year === undefined ? text : `${year}-${month.padStart(2, '0')}-${date.padStart(2, '0')}`;
  return isDate(day) ? day : undefined;
}

/** Phone numbers are stored as digits. */
function readPhone(text: string): string | undefined {
  if (!/^[\d\s()+.-]+$/.test(text)) return undefined;
  const digits = phoneDigits(text);
  return digits.length === 10 ? digits : undefined;
}

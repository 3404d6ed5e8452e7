import { setTimeout as pause } from 'node:timers/promises';
import { apiError } from '../../catalog/errors.ts';
import { csvLine } from '../../platform/csv.ts';
import { parseDay } from '../../platform/time/days.ts';
import { createStamp } from '../audit/auditRecords.ts';
import { sealAudit } from '../audit/seals.ts';
import type { Context } from '../context.ts';
import { listChartMrns } from '../records/mergedCharts.ts';
import type { Scope } from '../records/readRecords.ts';
import { isErasedPatient } from '../records/storeRecords.ts';
import {
  collectDisclosures,
  type DisclosureFilters,
  type DisclosurePlace,
  type DisclosureRow,
  findDisclosures,
  type MarkedPatient,
  no_organization,
  type Progress,
  type Recount,
  readProgress,
  recountDisclosures,
} from './disclosures.ts';

type AccountingContext = Pick<Context, 'db' | 'system_keys'>;

/** The years that an accounting covers unless asked otherwise, as 45 CFR § 164.528 has it. */
export const accounting_years = 6;

/** stored: in the cached records. erased: deleted on request. unknown: neither, or the practice is not known. */
export const standings = ['stored', 'erased', 'unknown'] as const;

/** A patient whose disclosures are listed. */
export type AccountedPatient = MarkedPatient & {
  /** All charts, for the audit record of the request. */
  mrns: string[];
  standing: (typeof standings)[number];
  /** Charts that were merged into the patient's, or into which it was merged. */
  merged_charts: number;
};

/** A patient of a client by MRN, in one practice or, if `organization_id` is undefined, in all. */
export async function findAccountedPatient(
  ctx: AccountingContext,
  client_id: string,
  mrn: string,
  organization_id: string | undefined,
): Promise<AccountedPatient> {
  const { mark } = createStamp(ctx.system_keys);
  if (organization_id === undefined) {
    const marked = { client_id, organization_id, marks: [mark(client_id, mrn)], mrns: [mrn] };
    return { ...marked, standing: 'unknown', merged_charts: 0 };
  }
  const scope = { client_id, organization_id };
  const [mrns, standing] = await Promise.all([listChartMrns(ctx.db, scope, mrn), findStanding(ctx, scope, mrn)]);
  const marks = mrns.map((each) => mark(client_id, each));
  // An erasure deletes which charts were merged; its record names all of them.
  const erased_marks = standing === 'erased' ? await findErasedCharts(ctx, client_id, marks) : [];
  const all = [...new Set([...marks, ...erased_marks])];
  return { client_id, organization_id, marks: all, mrns, standing, merged_charts: all.length - 1 };
}

async function findStanding(ctx: AccountingContext, scope: Scope, mrn: string): Promise<AccountedPatient['standing']> {
  const { client_id, organization_id } = scope;
  const stored = await ctx.db.read<{ found: boolean }>(
    client_id,
    (sql) => sql`SELECT true AS found FROM patients
       WHERE client_id = ${client_id} AND organization_id = ${organization_id} AND mrn = ${mrn}
      UNION SELECT true FROM merged_charts
       WHERE client_id = ${client_id} AND organization_id = ${organization_id} AND mrn = ${mrn}`,
  );
  if (stored.length > 0) return 'stored';
  return (await isErasedPatient(ctx, scope, mrn)) ? 'erased' : 'unknown';
}

/** The marks of the charts that were erased together with these. */
async function findErasedCharts({ db }: AccountingContext, client_id: string, marks: string[]): Promise<string[]> {
  // OFFSET 0: by the index of actions, because a patient can have many records and erasures are few.
  const rows = await db.system.pooled<{ patients: string[] }[]>`
    SELECT patients::text[] AS patients
      FROM (SELECT patients, client_id FROM audit_records
             WHERE action IN ('erase.patient', 'dashboard.patients.erase') OFFSET 0) AS erasure
     WHERE client_id = ${client_id} AND patients && ${marks}::bigint[]`;
  return rows.flatMap(({ patients }) => patients);
}

/** A disclosure as people read it. */
export type Disclosure = Pick<
  DisclosureRow,
  | 'first_at'
  | 'last_at'
  | 'count'
  | 'kind'
  | 'action'
  | 'event_type'
  | 'destination'
  | 'endpoint_id'
  | 'confirmed'
  | 'addresses'
> & {
  /** The application, operator, or EMR that received the data. */
  recipient: string;
  /** The reference of the linked account, its user and its practice; null if none, or if it was erased. */
  account: string | null;
  user_id: string | null;
  org_id: string | null;
};

export type AccountingPage = { rows: Disclosure[]; next: string | null; collected: Omit<Progress, 'position'> };

type PageRequest = { filters: DisclosureFilters; before?: string | undefined; page_size: number };

/** A page of a patient's disclosures, newest first. */
export async function readAccounting(
  ctx: AccountingContext,
  patient: MarkedPatient,
  { filters, before, page_size }: PageRequest,
): Promise<AccountingPage> {
  const { position: _, ...collected } = await collectNow(ctx);
  const sql = ctx.db.system.pooled;
  const after = before === undefined ? undefined : parsePlace(before);
  const matches = await findDisclosures(sql, patient, filters, { after, limit: page_size + 1 });
  const listed = matches.slice(0, page_size);
  const last = listed.at(-1);
  const next = matches.length > page_size && last ? formatPlace(last) : null;
  return { rows: await describeRows(ctx, patient.client_id, listed), next, collected };
}

/** The columns of a CSV file. */
const columns = [
  ...(['first_at', 'last_at', 'count', 'kind', 'recipient', 'account', 'user_id', 'org_id', 'action'] as const),
  ...(['event_type', 'destination', 'endpoint_id', 'confirmed', 'addresses'] as const),
] satisfies (keyof Disclosure)[];

export const accounting_formats = ['csv', 'json'] as const;
export type AccountingFormat = (typeof accounting_formats)[number];

type ExportRequest = { filters: DisclosureFilters; format: AccountingFormat; page_size?: number };

/** Yields an accounting as text, page by page, with the number of rows in each part. */
export async function* exportAccounting(
  ctx: AccountingContext,
  patient: AccountedPatient,
  { filters, format, page_size = 1_000 }: ExportRequest,
): AsyncGenerator<{ text: string; records: number }> {
  let before: string | undefined;
  for (let first = true; first || before !== undefined; first = false) {
    const { rows, next, collected } = await readAccounting(ctx, patient, { filters, before, page_size });
    if (first) yield { text: composeStart(format, patient, filters, collected), records: 0 };
    const separator = first ? '\n' : ',\n';
    const text =
      format === 'csv'
        ? rows.map((row) => csvLine(columns.map((name) => toText(row[name])))).join('')
        : rows.map((row, n) => `${n === 0 ? separator : ',\n'}${JSON.stringify(row)}`).join('');
    yield { text, records: rows.length };
    before = next ?? undefined;
  }
  if (format === 'json') yield { text: '\n]}\n', records: 0 };
}

/** A JSON document says what it covers; a CSV file starts with the names of its columns. */
function composeStart(
  format: AccountingFormat,
  { standing, merged_charts }: AccountedPatient,
  { from, to }: DisclosureFilters,
  collected: AccountingPage['collected'],
): string {
  if (format === 'csv') return csvLine(columns);
  return `${JSON.stringify({ from, to, patient: { standing, merged_charts }, collected }).slice(0, -1)},"disclosures":[`;
}

function toText(value: Disclosure[keyof Disclosure]): string {
  if (value === null) return '';
  return Array.isArray(value) ? value.join(' ') : String(value);
}

/** Compares what was collected about a patient with the audit log. */
export async function verifyAccounting(ctx: AccountingContext, patient: MarkedPatient): Promise<Recount> {
  return recountDisclosures(ctx.db.system.pooled, patient, await collectNow(ctx));
}

/** The default of `from` and `to`: six years up to today. */
export function defaultPeriod(now = new Date()): { from: string; to: string } {
  const from = new Date(now);
  from.setUTCFullYear(now.getUTCFullYear() - accounting_years);
  return { from: from.toISOString().slice(0, 10), to: now.toISOString().slice(0, 10) };
}

/** How long a page waits for the collection of what has just happened. A worker collects the rest. */
const collect_ms = 2_000;

/** Collects the records that exist now, and returns how far that came. Waits for another process that is doing the same. */
async function collectNow(ctx: AccountingContext): Promise<Progress> {
  const now = new Date();
  const give_up_at = performance.now() + collect_ms;
  for (;;) {
    // If the chain is broken, records cannot join it, and the page says so. The alert on it has the reason.
    await sealAudit(ctx).catch(() => {});
    await collectDisclosures(ctx, { for_ms: give_up_at - performance.now() });
    const progress = await readProgress(ctx.db.system.pooled, now);
    if (progress.complete || performance.now() > give_up_at) return progress;
    await pause(50);
  }
}

type Named = {
  clients: Map<string, string>;
  accounts: Map<string, { reference_id: string; user_id: string }>;
  organizations: Map<string, string>;
};

async function describeRows(
  { db }: AccountingContext,
  client_id: string,
  rows: readonly DisclosureRow[],
): Promise<Disclosure[]> {
  const { clients, accounts, organizations } = await readNames(db.system.pooled, client_id, rows);
  return rows.map((row) => {
    const account = row.account_id === null ? undefined : accounts.get(row.account_id);
    const application = clients.get(client_id) ?? 'erased application';
    return {
      first_at: row.first_at,
      last_at: row.last_at,
      count: row.count,
      kind: row.kind,
      action: row.action,
      event_type: row.event_type,
      destination: row.destination,
      endpoint_id: row.endpoint_id,
      confirmed: row.confirmed,
      addresses: row.addresses,
      recipient: row.kind === 'emr' ? 'EMR of the practice' : row.actor_kind === 'operator' ? row.actor : application,
      account: account?.reference_id ?? null,
      user_id: account?.user_id ?? null,
      org_id: organizations.get(row.organization_id) ?? null,
    };
  });
}

/** What the system role may see of the rows' client, accounts and practices. */
async function readNames(
  sql: Context['db']['system']['pooled'],
  client_id: string,
  rows: readonly DisclosureRow[],
): Promise<Named> {
  const account_ids = [...new Set(rows.flatMap(({ account_id }) => account_id ?? []))];
  const organization_ids = [...new Set(rows.map(({ organization_id }) => organization_id))].filter(
    (id) => id !== no_organization,
  );
  const [clients, accounts, organizations] = await Promise.all([
    sql<{ id: string; name: string }[]>`SELECT id, name FROM clients WHERE id = ${client_id}`,
    sql<{ id: string; reference_id: string; user_id: string }[]>`
      SELECT id, reference_id, user_id FROM accounts WHERE id = ANY (${account_ids}::uuid[])`,
    sql<{ id: string; org_id: string }[]>`
      SELECT id, org_id FROM organizations WHERE id = ANY (${organization_ids}::uuid[])`,
  ]);
  return {
    clients: new Map(clients.map(({ id, name }) => [id, name])),
    accounts: new Map(accounts.map(({ id, ...account }) => [id, account])),
    organizations: new Map(organizations.map(({ id, org_id }) => [id, org_id])),
  };
}

/** `before` of the next page. It contains a mark and no MRN. */
function formatPlace({ day, key, patient, organization_id }: DisclosurePlace): string {
  return [day, key, patient, organization_id].join('_');
}

function parsePlace(text: string): DisclosurePlace {
  const [, day = '', key = '', patient = '', organization_id = ''] =
    /^(\d{4}-\d\d-\d\d)_([0-9a-f]{32})_(-?\d{1,20})_([0-9a-f]{32})$/.exec(text) ?? [];
  if (parseDay(day) === undefined || patient !== BigInt.asIntN(64, BigInt(patient)).toString()) {
    throw apiError(
      'invalid_field',
      { rule: 'before must be the value of next of the previous page' },
      { field: 'before' },
    );
  }
  return { day, key, patient, organization_id };
}

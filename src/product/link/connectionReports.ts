import { apiError, type ErrorCode } from '../../catalog/errors.ts';
import { newId, parseId } from '../../catalog/ids.ts';
import type { ConnectionReport, ReportStep } from '../../emr/connector.ts';
import type { CountedPer } from '../../emr/requestSettings.ts';
import { sizeText } from '../../model/fields.ts';
import type { Database, Fragment, Query, Tx } from '../../platform/db/database.ts';
import { type DescribedMrnRule, describedMrnRule } from '../accounts/capabilities.ts';
import { countedBy, readRequestLimit } from '../accounts/requestBudgets.ts';
import { type ExportFindings, selectExportFindings } from '../records/bulkExports.ts';

/** How a reported sign-in ended; undefined if it succeeded. */
export type ReportedError = { code: ErrorCode; message: string };

/**
 * A stored report. `account_id` is null for a failed attempt to link. `note`: what the last request that did not succeed
 * found.
 */
export type ReportRow = {
  id: string;
  account_id: string | null;
  org_id: string;
  user_id: string;
  at: string;
  address: string;
  note: string | null;
  error_code: string | null;
  error_message: string | null;
};

/** `findings`: what is known about the server since the account was linked. */
export type ReportDetails = ReportRow & {
  report: Omit<ConnectionReport, 'steps'> & { steps: ReportStep[] };
  findings: string[];
};

/** Replaces the report of an account: it has that of its latest sign-in. */
export async function saveAccountReport(
  tx: Tx,
  account: { client_id: string; account_id: string },
  report: ConnectionReport,
  error?: ReportedError,
): Promise<void> {
  await tx`INSERT INTO connection_reports (id, client_id, account_id, error_code, error_message, report)
    VALUES (${newId()}, ${account.client_id}, ${account.account_id}, ${error?.code ?? null}, ${error?.message ?? null},
            ${tx.json(report)})
    ON CONFLICT (account_id) DO UPDATE SET id = excluded.id, error_code = excluded.error_code,
      error_message = excluded.error_message, report = excluded.report, created_at = now()`;
}

/** Replaces the report of a link's latest failed sign-in. It is deleted with the link token. */
export async function saveLinkReport(
  tx: Tx,
  link_token_hash: Buffer,
  report: ConnectionReport,
  error: ReportedError,
): Promise<void> {
  // The token may be gone by now.
  await tx`INSERT INTO connection_reports (id, client_id, link_token_hash, error_code, error_message, report)
    SELECT ${newId()}, client_id, token_hash, ${error.code}, ${error.message}, ${tx.json(report)}
      FROM link_tokens WHERE token_hash = ${link_token_hash}
    ON CONFLICT (link_token_hash) DO UPDATE SET id = excluded.id, error_code = excluded.error_code,
      error_message = excluded.error_message, report = excluded.report, created_at = now()`;
}

/** The link has succeeded: its failed attempt needs no attention. */
export async function removeLinkReport(tx: Tx, link_token_hash: Buffer): Promise<void> {
  await tx`DELETE FROM connection_reports WHERE link_token_hash = ${link_token_hash}`;
}

/** Beyond this, an application is probably retrying in a loop. */
const failed_links_max = 100;

/** The latest sign-in of each account, and the latest failed ones of links. */
export function listReports(db: Database, client_id: string): Promise<ReportRow[]> {
  return db.search<ReportRow>(
    client_id,
    (sql) => sql`
      (SELECT ${columns(sql)} WHERE report.account_id IS NOT NULL)
      UNION ALL
      (SELECT ${columns(sql)} WHERE report.link_token_hash IS NOT NULL
        ORDER BY report.created_at DESC LIMIT ${failed_links_max})
      ORDER BY at DESC`,
  );
}

/** Attempts to link that failed at one address for one cause. The report is that of the newest. */
export type FailedLinks = {
  report_id: string;
  address: string;
  code: string | null;
  error_message: string | null;
  note: string | null;
  org_id: string;
  user_id: string;
  at: string;
  links: number;
};

/** The attempts to link that failed and were not repeated successfully, by address and cause, newest first. */
export async function listFailedLinks(
  db: Database,
  client_id: string,
  options: { failing_s?: number } = {},
): Promise<FailedLinks[]> {
  const groups = new Map<string, FailedLinks>();
  for (const report of await listUnresolvedReports(db, client_id, options)) {
    const { id, address, error_code, error_message, note, org_id, user_id, at } = report;
    const key = JSON.stringify([address, error_code, note ?? error_message]);
    const group = groups.get(key);
    if (group) group.links += 1;
    else {
      groups.set(key, { report_id: id, address, code: error_code, error_message, note, org_id, user_id, at, links: 1 });
    }
  }
  return [...groups.values()];
}

/**
 * The same for all clients, of links that have failed for so long. `system`: the caller's transaction, because waiting
 * for another connection could deadlock.
 */
export async function listAllFailedLinks(
  system: Query,
  db: Database,
  failing_s: number,
): Promise<(FailedLinks & { client_id: string; public_id: string })[]> {
  const clients = await system<{ client_id: string; public_id: string }[]>`
    SELECT DISTINCT clients.id AS client_id, public_id
      FROM connection_reports AS report JOIN clients ON clients.id = report.client_id
     WHERE link_token_hash IS NOT NULL AND failing_since <= now() - make_interval(secs => ${failing_s})
     ORDER BY clients.id`;
  const failed = [];
  for (const client of clients) {
    for (const links of await listFailedLinks(db, client.client_id, { failing_s }))
      failed.push({ ...links, ...client });
  }
  return failed;
}

/**
 * The latest failed attempts to link, newest first, without those of users who have linked an account since. They stay
 * for a day after their link has expired, which for one of an application is soon.
 */
function listUnresolvedReports(
  db: Database,
  client_id: string,
  { failing_s = 0 }: { failing_s?: number },
): Promise<ReportRow[]> {
  return db.search<ReportRow>(
    client_id,
    (sql) => sql`
      SELECT ${columns(sql)} WHERE report.link_token_hash IS NOT NULL
         AND report.failing_since <= now() - make_interval(secs => ${failing_s})
         AND NOT EXISTS (SELECT FROM accounts JOIN organizations ON organizations.id = accounts.organization_id
              WHERE organizations.org_id = link.org_id AND accounts.user_id = link.user_id
                AND accounts.linked_at > report.created_at)
       ORDER BY report.created_at DESC LIMIT ${failed_links_max}`,
  );
}

/** Reads a report by the id in a path, or throws record_not_found. */
export async function getReport(db: Database, client_id: string, report_id: string): Promise<ReportDetails> {
  const id = parseId(report_id);
  const report = id && (await readReports(db, client_id, (sql) => sql`report.id = ${id}`))[0];
  if (!report) throw apiError('record_not_found', { noun: 'Connection report', id: report_id });
  return report;
}

export async function readAccountReport(
  db: Database,
  { client_id, id }: { client_id: string; id: string },
): Promise<ReportDetails | undefined> {
  return (await readReports(db, client_id, (sql) => sql`report.account_id = ${id}`))[0];
}

async function readReports(
  db: Database,
  client_id: string,
  condition: (sql: Query) => Fragment,
): Promise<ReportDetails[]> {
  const rows = await db.search<Omit<ReportDetails, 'findings'> & ServerFindings & CountedEmr>(
    client_id,
    (sql) => sql`SELECT report.report, account.document_bytes_max, account.server_findings, app.keys,
      organization.emr_address, account.emr_app_id, coalesce(app.counted_per, 'address') AS counted_per,
      ${selectSyncRequests(sql)} AS requests,
      ${selectExportFindings(sql, sql`account.organization_id`)} AS exports,
      (SELECT ${describedMrnRule(sql)} FROM accounts JOIN organizations ON organizations.id = accounts.organization_id
        WHERE accounts.id = report.account_id) AS mrn, ${columns(sql)}
      LEFT JOIN LATERAL (
        SELECT CASE WHEN uses_key_set THEN jsonb_build_object('fetches', key_fetches,
                 'last_at', to_char(keys_fetched_at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI')) END AS keys,
               requests_counted_per AS counted_per
          FROM emr_apps WHERE id = coalesce(account.emr_app_id, link.emr_app_id)
      ) AS app ON true WHERE ${condition(sql)}`,
  );
  return Promise.all(
    rows.map(async ({ mrn, document_bytes_max, server_findings, keys, exports, requests, ...row }) => {
      const { emr_address, emr_app_id, counted_per, ...details } = row;
      const emr = emr_address && countedBy({ address: emr_address, requests_counted_per: counted_per }, emr_app_id);
      const per_minute = emr ? await readRequestLimit(db.system, emr) : undefined;
      const known = { mrn, document_bytes_max, server_findings, keys, exports, requests };
      return { ...details, findings: [...describeFindings(known), ...describeLimit(per_minute, counted_per)] };
    }),
  );
}

/** Whose requests the vendor counts. Without an account, no organization is known. */
type CountedEmr = { emr_address: string | null; emr_app_id: string | null; counted_per: CountedPer };

/** How many requests the newest sync of the organization sent, and those that started in the last hour. */
function selectSyncRequests(sql: Query): Fragment {
  return sql`(SELECT jsonb_build_object('newest', (array_agg(coalesce(emr_requests, 0) ORDER BY id DESC))[1],
        'last_hour', coalesce(sum(emr_requests) FILTER (WHERE started_at > now() - interval '1 hour'), 0))
      FROM (SELECT id, emr_requests, started_at FROM jobs
             WHERE organization_id = account.organization_id AND type = 'sync' ORDER BY id DESC LIMIT 100) AS syncs
    HAVING count(*) > 0)`;
}

/** Those of a link that failed have no account. */
type ServerFindings = {
  mrn: DescribedMrnRule | null;
  document_bytes_max: number | null;
  server_findings: string[] | null;
  /** How often the key set of the EMR app was fetched, and the last time (UTC). Null: it is not needed. */
  keys: { fetches: number; last_at: string | null } | null;
  /** What went wrong in the last bulk export. */
  exports: ExportFindings | null;
  /** Of the organization's syncs. Null: there was none. */
  requests: { newest: number; last_hour: number } | null;
};

/** Without examples of MRNs: a report contains no health data. */
function describeFindings(known: ServerFindings): string[] {
  const { mrn, document_bytes_max, server_findings, keys, exports, requests } = known;
  const findings: string[] = [];
  if (mrn && mrn.source !== 'none') {
    const parts = [mrn.type && `of type ${mrn.type}`, mrn.system && `with system ${mrn.system}`].filter(Boolean);
    const by = mrn.source === 'guess' ? 'detected from a sample of patients' : 'set by an operator';
    findings.push(`MRN: identifiers ${parts.join(' ')}, ${by}.`);
  }
  if (document_bytes_max !== null) findings.push(`Documents: up to ${sizeText(document_bytes_max)} each.`);
  if (keys?.last_at === null) {
    findings.push('Keys: nobody has fetched the key set of this EMR app yet. The EMR must be able to reach its URL.');
  } else if (keys) {
    const fetches = keys.fetches === 1 ? '1 fetch' : `${keys.fetches} fetches`;
    findings.push(`Keys: nobody has fetched the key set of this EMR app since ${keys.last_at} UTC (${fetches}).`);
  }
  if (requests) {
    const [newest, last_hour] = [requests.newest, requests.last_hour].map((count) => count.toLocaleString('en-US'));
    findings.push(
      `Requests: the newest sync has sent ${newest} to the EMR, and all syncs of the last hour ${last_hour}.`,
    );
  }
  return [...findings, ...(server_findings ?? []), ...describeExport(exports)];
}

function describeLimit(per_minute: number | undefined, counted_per: CountedPer): string[] {
  if (per_minute === undefined) return [];
  const whose = counted_per === 'app' ? 'of this EMR app' : 'at this address';
  return [`Requests: the EMR takes about ${per_minute.toLocaleString('en-US')} per minute ${whose}, as measured.`];
}

function describeExport(exports: ExportFindings | null): string[] {
  if (!exports) return [];
  const { failure, at } = exports;
  const codes = Object.entries(exports.error_codes).map(([code, count]) => `${count} × ${code}`);
  return [
    ...(failure === null ? [] : [`Bulk export: the last one failed (${at} UTC). ${failure}`]),
    ...(codes.length === 0
      ? []
      : [`Bulk export: the EMR reported with the last one (${at} UTC): ${codes.join(', ')}.`]),
  ];
}

function columns(sql: Query): Fragment {
  return sql`replace(report.id::text, '-', '') AS id, replace(report.account_id::text, '-', '') AS account_id,
      coalesce(organization.org_id, link.org_id) AS org_id, coalesce(account.user_id, link.user_id) AS user_id,
      report.error_code, report.error_message, iso(report.created_at) AS at, report.report ->> 'address' AS address,
      (SELECT step ->> 'note' FROM jsonb_array_elements(report.report -> 'steps') WITH ORDINALITY AS steps (step, n)
        WHERE step ->> 'outcome' <> 'ok' ORDER BY n DESC LIMIT 1) AS note
    FROM connection_reports AS report
    LEFT JOIN accounts AS account ON account.id = report.account_id
    LEFT JOIN organizations AS organization ON organization.id = account.organization_id
    LEFT JOIN link_tokens AS link ON link.token_hash = report.link_token_hash`;
}

import { readFile } from 'node:fs/promises';
import { createSecureContext } from 'node:tls';
import { StartFailure } from '../../catalog/errors.ts';
import type { Config } from '../../catalog/settings/config.ts';
import { version } from '../../catalog/version.ts';
import type { Query, Sql } from '../../platform/db/database.ts';
import { type Lease, LeaseLost } from '../../platform/db/lease.ts';
import { createOutbound, OutboundFailure, type TlsFiles } from '../../platform/security/outbound.ts';
import { CollectorRefusal, composeLogs, type OtlpLog, sendLogs } from '../../platform/telemetry/otlpLogs.ts';
import { frameMessage, sendSyslog } from '../../platform/telemetry/syslog.ts';
import type { WorkSource } from '../../platform/worker/worker.ts';
import type { Context } from '../context.ts';
import { type ExportedRow, readChainRange } from './auditRecords.ts';
import { toJson } from './exports.ts';
import { HeadBroken, readHead } from './seals.ts';

export type CollectorContext = Pick<Context, 'config' | 'base_url' | 'db' | 'system_keys' | 'log'>;

/** Records of one request or connection. The largest record known has 12 KB, most have less than 1 KB. */
const batch = 1_000;
const retry = { first_ms: 1_000, max_ms: 60_000 };
const lease_id = 'audit_collector';

/** Sends the audit log to the collector of the settings: as work of one row, which one process at a time claims. */
export type AuditForwarding = WorkSource & { close(): Promise<void> };

/** Undefined if no collector is configured. Throws a StartFailure if a file of the settings is not usable. */
export async function openForwarding(
  ctx: CollectorContext,
  { owner, lease_ms }: { owner: string; lease_ms: number },
): Promise<AuditForwarding | undefined> {
  const collector = await openCollector(ctx);
  if (!collector) return undefined;
  const { system } = ctx.db;
  return {
    claim: () => claim(system, owner, lease_ms),
    extend: (leases) => extend(system, leases, lease_ms),
    run: (lease, signal) => forward(ctx, lease, collector.send, signal),
    close: collector.close,
  };
}

/**
 * Sends what the collector does not have yet, in the order of the chain. The position is stored after the collector has
 * confirmed the records: a process that dies in between sends them again. A record that the collector refuses is not
 * skipped.
 */
async function forward(ctx: CollectorContext, lease: Lease, send: Send, signal: AbortSignal): Promise<void> {
  const sql = ctx.db.system.pooled;
  try {
    for (let records = await readNext(ctx); records.length > 0; records = await readNext(ctx)) {
      await send(records, signal);
      const { position } = records.at(-1) ?? {};
      const { count } =
        await sql`UPDATE audit_collector SET position = ${position ?? 0}, accepted_at = now(), failures = 0,
          failing_since = NULL, failure = NULL WHERE fence = ${lease.fence}`;
      if (count === 0) throw new LeaseLost();
      if (signal.aborted) break;
    }
    await release(sql, lease);
  } catch (error) {
    if (error instanceof LeaseLost) return;
    // Stopped by our side, which is no failure of the collector.
    if (signal.aborted) return release(sql, lease);
    const failure = explainFailure(error);
    if (await recordFailure(sql, lease, failure ?? 'An unexpected error occurred.')) {
      ctx.log.warn({ reason: failure, err: error }, 'audit records not sent to the collector; they will be sent again');
    }
  }
}

function explainFailure(error: unknown): string | undefined {
  const expected = [OutboundFailure, CollectorRefusal, HeadBroken].some((kind) => error instanceof kind);
  return expected && error instanceof Error ? error.message : undefined;
}

/** A head that is behind means that the log was replaced by another one, which the collector does not have. */
async function readNext({ db, system_keys, log }: CollectorContext): Promise<ExportedRow[]> {
  const sql = db.system.pooled;
  const head = await readHead(db.system, system_keys.key('audit.chain'));
  const [stored] = await sql<{ position: number }[]>`SELECT position FROM audit_collector`;
  const replaced = (stored?.position ?? 0) > head.position;
  if (replaced) log.error('the audit log ends before what was sent to the collector; all of it is sent again');
  const first = replaced ? 1 : (stored?.position ?? 0) + 1;
  const after = { position: first, id: first_id };
  return readChainRange(sql, { until: forever }, { after, up_to: head.position, limit: batch });
}

const first_id = '0'.repeat(32);
/** The last time that an id can contain. */
const forever = new Date(2 ** 48 - 1);

/** Claims the row if there is something to send. A time that is too far in the future was set by a clock that was ahead. */
async function claim({ pooled: sql }: Sql, owner: string, lease_ms: number): Promise<Lease[]> {
  const end = sql`clock_timestamp() + ${lease_ms}::float8 * interval '1 millisecond'`;
  const latest_retry = sql`clock_timestamp() + ${2 * retry.max_ms}::float8 * interval '1 millisecond'`;
  const rows = await sql<{ fence: number }[]>`
    UPDATE audit_collector SET owner = ${owner}, fence = fence + 1, locked_until = ${end}
     WHERE (locked_until IS NULL OR locked_until NOT BETWEEN clock_timestamp() AND ${end})
       AND next_at NOT BETWEEN clock_timestamp() AND ${latest_retry}
       AND position <> (SELECT position FROM audit_head)
    RETURNING fence`;
  return rows.map(({ fence }) => ({ id: lease_id, client_id: '', fence }));
}

async function extend({ pooled: sql }: Sql, leases: readonly Lease[], lease_ms: number): Promise<Set<string>> {
  const rows = await sql`UPDATE audit_collector
      SET locked_until = clock_timestamp() + ${lease_ms}::float8 * interval '1 millisecond'
    WHERE fence = ANY (${leases.map(({ fence }) => fence)}::bigint[]) AND locked_until IS NOT NULL RETURNING 1`;
  return new Set(rows.length > 0 ? [lease_id] : []);
}

async function release(sql: Query, { fence }: Lease): Promise<void> {
  await sql`UPDATE audit_collector SET owner = NULL, locked_until = NULL WHERE fence = ${fence}`;
}

/** Returns whether it is the first failure in a row, which is logged. */
async function recordFailure(sql: Query, { fence }: Lease, failure: string): Promise<boolean> {
  const [row] = await sql<{ failures: number }[]>`
    UPDATE audit_collector SET owner = NULL, locked_until = NULL, failure = ${failure}, failures = failures + 1,
        failing_since = coalesce(failing_since, now()),
        next_at = clock_timestamp() + least(${retry.first_ms} * 2 ^ least(failures, 20), ${retry.max_ms})
          * interval '1 millisecond'
     WHERE fence = ${fence} RETURNING failures`;
  return row?.failures === 1;
}

/**
 * How many records the collector does not have yet, how old the oldest of them is, and how long ago the collector has
 * accepted some: null if it never has.
 */
export type CollectorBacklog = {
  waiting: number;
  lag_s: number;
  accepted_s: number | null;
  failing_since: Date | null;
  failure: string | null;
};

export async function readBacklog(sql: Query): Promise<CollectorBacklog> {
  const [row] = await sql<CollectorBacklog[]>`
    SELECT failing_since, failure, extract(epoch FROM now() - accepted_at)::float8 AS accepted_s, greatest((SELECT position FROM audit_head) - sent.position, 0)::float8 AS waiting,
           coalesce(extract(epoch FROM now() - (SELECT at FROM audit_records
             WHERE audit_records.position > sent.position AND audit_records.position <= (SELECT position FROM audit_head)
             ORDER BY audit_records.position LIMIT 1)), 0)::float8 AS lag_s
      FROM audit_collector AS sent`;
  return row ?? { waiting: 0, lag_s: 0, accepted_s: null, failing_since: null, failure: null };
}

type Send = (records: readonly ExportedRow[], signal: AbortSignal) => Promise<void>;

async function openCollector({
  config,
  base_url,
}: CollectorContext): Promise<{ send: Send; close(): Promise<void> } | undefined> {
  const { audit_collector_url: address, audit_collector_headers: headers } = config;
  if (!address) return undefined;
  const tls = await loadTls(config);
  const host = new URL(base_url).hostname;
  const name = config.otel_service_name;
  if (address.protocol === 'syslog') {
    const server = { host: address.host, port: address.port, tls };
    const frame = (record: ExportedRow) =>
      frameMessage({ ...describe(record), hostname: host, app_name: name, message_id: record.action });
    return { send: (records, signal) => sendSyslog(server, records.map(frame), signal), close: async () => {} };
  }
  // The operator chose this host, so it may be private.
  const outbound = createOutbound({ sandbox: false, allow: [new URL(address.url).host], tls });
  const source = { service_name: name, service_version: version, host, scope: 'chartwire.audit' };
  const send: Send = (records, signal) =>
    sendLogs(outbound, { url: address.url, headers }, composeLogs(source, records.map(toOtlp)), signal);
  return { send, close: outbound.close };
}

/** Without the line break of an export. */
function describe(record: ExportedRow) {
  const severity = isRefused(record.outcome) ? ('warning' as const) : ('info' as const);
  return { severity, at: record.at, sequence: record.position ?? 0, text: toJson(record).trimEnd() };
}

/** Neither a status of success nor the state of a job that is done. */
function isRefused(outcome: string): boolean {
  return /^[45]\d\d$/.test(outcome) || /fail|refused|denied|partial|needs_review/.test(outcome);
}

function toOtlp(record: ExportedRow): OtlpLog {
  const { severity, at, sequence, text } = describe(record);
  return {
    ...{ at, severity, observed_at: new Date(), event_name: record.action, body: text },
    attributes: {
      'chartwire.audit.sequence': sequence,
      'chartwire.audit.id': record.id,
      'chartwire.audit.action': record.action,
      'chartwire.audit.outcome': record.outcome,
      'chartwire.audit.actor_kind': record.actor_kind,
      'chartwire.audit.actor': record.actor,
      'chartwire.audit.client': record.client,
      'client.address': record.address,
    },
  };
}

/** Reads the files of the settings. Throws a StartFailure that names the setting. */
export async function loadTls(config: Config): Promise<TlsFiles> {
  const files = [
    ['ca', 'AUDIT_COLLECTOR_CA_FILE', config.audit_collector_ca_file],
    ['cert', 'AUDIT_COLLECTOR_CERT_FILE', config.audit_collector_cert_file],
    ['key', 'AUDIT_COLLECTOR_KEY_FILE', config.audit_collector_key_file],
  ] as const;
  const tls: TlsFiles = {};
  for (const [field, name, file] of files) {
    if (file === undefined) continue;
    tls[field] = await readFile(file, 'utf8').catch((cause: unknown) => {
      throw new StartFailure(`${name} is set, but ${file} cannot be read.`, { cause });
    });
    if (!tls[field].includes('-----BEGIN')) throw new StartFailure(`${name}: ${file} is not a PEM file.`);
  }
  try {
    createSecureContext(tls);
  } catch (cause) {
    const names = files.filter(([field]) => tls[field] !== undefined).map(([, name]) => name);
    throw new StartFailure(
      `The files of ${names.join(', ')} cannot be used: a file is damaged, or the key is not that of the certificate.`,
      { cause },
    );
  }
  return tls;
}

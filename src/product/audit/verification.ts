import { firstIdAt } from '../../catalog/ids.ts';
import type { Query, Sql, Tx } from '../../platform/db/database.ts';
import type { Context } from '../context.ts';
import { type Anchor, type AnchorFile, localAnchorFile, readAnchors } from './anchors.ts';
import {
  type AuditFault,
  type AuditRow,
  createStamp,
  findLastRecord,
  findLinks,
  lastPosition,
  readChain,
  readMisplaced,
  readRecords,
  readUnsealed,
} from './auditRecords.ts';
import { computeLink, type Head, HeadBroken, readHead } from './seals.ts';

export type AuditProgress = { checked: number; total: number };

/** `unsealed`: records that are not in the chain yet. `faults`: the first 100. */
export type AuditVerdict = { ok: boolean; checked: number; unsealed: number; faults: AuditFault[] };

export type VerifyOptions = {
  /** From `collectAnchors`. Without them, a log that was replaced as a whole goes unnoticed. */
  anchors?: AnchorFile;
  onProgress?: (progress: AuditProgress) => void;
  batch?: number;
};

/** Faults reported: one cause can affect many records, and the first ones show where it starts. */
export const faults_max = 100;

/**
 * Walks the whole trail, recomputes every record's MAC and link, and reports what does not match: a changed field, a
 * missing, moved or forged record (also one that was deleted before it joined the chain, or moved where the chain does
 * not lead), a truncated end, a log that no longer contains its anchors, a trigger or rule that could drop records.
 * Reads in batches, each on its own, so that a trail of any length needs little memory and no long transaction.
 */
export async function verifyAudit(
  ctx: AuditContext,
  { anchors, onProgress = () => {}, batch = 2_000 }: VerifyOptions = {},
): Promise<AuditVerdict> {
  const { system } = ctx.db;
  const key = ctx.system_keys.key('audit.chain');
  const findings = createFindings(ctx);
  for (const name of await listAuditTriggers(system)) findings.fault('trigger', null, name);
  const head = await intactHead(system, key);
  if (!head) findings.fault('head_broken', null, null);
  const end = head?.position ?? (await lastPosition(system.pooled));
  const checked = await checkChain(ctx, findings, { head, end, batch, onProgress });
  if (await hasRecordsBeyondHead(ctx, key)) findings.fault('beyond_head', end + 1, null);
  for (const row of await readMisplaced(system.pooled, faults_max)) {
    findings.fault('not_linked', row.position, row.id);
    findings.checkMac(row, row.position);
  }
  const unsealed = await checkUnsealed(system, findings, batch);
  findings.reportAbsent(anchors?.anchors ?? []);
  if (anchors?.changed) findings.fault('anchor_changed', null, null);
  for await (const { position, what } of anchorFaults(system, anchors?.anchors ?? [], end, batch)) {
    findings.fault(what, position, null);
  }
  return { ok: findings.isEmpty(), checked, unsealed, faults: findings.faults };
}

type AuditContext = Pick<Context, 'db' | 'system_keys'>;
type Findings = ReturnType<typeof createFindings>;

/** Collects what does not match while the trail is walked. */
function createFindings({ db: { system }, system_keys }: AuditContext) {
  const { isGenuine } = createStamp(system_keys);
  const faults: AuditFault[] = [];
  let fault_count = 0;
  const fault = (what: AuditFault['what'], position: number | null, id: string | null) => {
    fault_count += 1;
    if (faults.length < faults_max) faults.push({ position, id, what });
  };
  const gaps: Gap[] = [];
  const missing = (after: number, until: number, ids: Pick<Gap, 'after' | 'before'>) => {
    for (let position = after + 1; position < until && faults.length < faults_max; position++) {
      fault('missing', position, null);
      gaps.push({ ...ids, fault: faults.at(-1) });
    }
  };
  const changed = new Set<string>();
  const checkMac = (row: AuditRow, position: number | null) => {
    if (isGenuine(row) || changed.has(row.id)) return;
    if (changed.size < faults_max) changed.add(row.id);
    fault('changed', position, row.id);
  };
  const absent = new Set<string>();
  const checkFollowed = async (rows: readonly AuditRow[]) => {
    const present = new Set(rows.map(({ id }) => id));
    const named = rows.flatMap((row) => (row.follows && isGenuine(row) ? row.follows : []));
    const others = named.filter((id) => !present.has(id));
    for (const row of await readRecords(system.pooled, others)) {
      present.add(row.id);
      // It may have moved to where this verification has already been.
      checkMac(row, row.position);
    }
    for (const id of others) if (!present.has(id) && absent.size < faults_max) absent.add(id);
  };
  const reportAbsent = (anchors: readonly Anchor[]) => {
    for (const id of absent) {
      if (isAccepted(id, anchors)) continue;
      // A record that was part of the chain is one fault, with its position and its id.
      const gap = gaps.find((each) => each.fault?.id === null && each.after < id && id < each.before);
      if (gap?.fault) gap.fault.id = id;
      else fault('missing', null, id);
    }
  };
  return { faults, isEmpty: () => fault_count === 0, fault, missing, checkMac, checkFollowed, reportAbsent };
}

type Chain = { head: Head | undefined; end: number } & Required<Pick<VerifyOptions, 'batch' | 'onProgress'>>;

/** Checks the records of the chain up to its end, and returns how many there are. */
async function checkChain(
  { db: { system }, system_keys }: AuditContext,
  findings: Findings,
  { head, end, batch, onProgress }: Chain,
): Promise<number> {
  const key = system_keys.key('audit.chain');
  let checked = 0;
  let before: Head & { id: string } = { position: 0, chain: Buffer.alloc(0), id: first_id };
  for (;;) {
    const rows = await readChain(system.pooled, { after: before, up_to: end, limit: batch });
    for (const row of rows) {
      // After a gap the previous link is unknown; the missing records are reported.
      if (row.position > before.position + 1)
        findings.missing(before.position, row.position, { after: before.id, before: row.id });
      else if (!row.chain?.equals(computeLink(key, before, row.mac).chain))
        findings.fault('not_linked', row.position, row.id);
      findings.checkMac(row, row.position);
      before = { position: row.position, chain: row.chain ?? Buffer.alloc(0), id: row.id };
    }
    await findings.checkFollowed(rows);
    checked += rows.length;
    onProgress({ checked, total: end });
    if (rows.length < batch) break;
  }
  if (before.position < end) findings.missing(before.position, end + 1, { after: before.id, before: last_id });
  else if (head && !before.chain.equals(head.chain)) findings.fault('not_linked', head.position, null);
  return checked;
}

/** Checks the records that are not in the chain yet, and returns how many there are. */
async function checkUnsealed(system: Sql, findings: Findings, batch: number): Promise<number> {
  let unsealed = 0;
  for (let after = first_id; ; ) {
    const rows = await readUnsealed(system.pooled, after, batch);
    for (const row of rows) findings.checkMac(row, null);
    await findings.checkFollowed(rows);
    unsealed += rows.length;
    after = rows.at(-1)?.id ?? after;
    if (rows.length < batch) return unsealed;
  }
}

const first_id = '0'.repeat(32);
const last_id = 'f'.repeat(32);

/** A missing position, and the ids of the records around it. */
type Gap = { fault: AuditFault | undefined; after: string; before: string };

/** Whether a record was created before an operator accepted a restored log as it was. */
function isAccepted(id: string, anchors: readonly Anchor[]): boolean {
  return anchors.some(({ reset_at }) => reset_at !== null && id < firstIdAt(new Date(reset_at)));
}

/** The anchors of DATA_DIR, of AUDIT_ANCHOR_FILE and of further files. Read them before the log, which grows meanwhile. */
export async function collectAnchors(
  { config, system_keys }: Pick<Context, 'config' | 'system_keys'>,
  files: readonly string[] = [],
): Promise<AnchorFile> {
  const key = system_keys.key('audit.chain');
  const all = [localAnchorFile(config.data_dir), config.audit_anchor_file, ...files];
  const contents = await Promise.all(all.filter((file) => file !== undefined).map((file) => readAnchors(file, key)));
  return { anchors: contents.flatMap(({ anchors }) => anchors), changed: contents.some(({ changed }) => changed) };
}

/** Anchors that the log does not contain. */
async function* anchorFaults(
  system: Sql,
  anchors: readonly Anchor[],
  end: number,
  batch: number,
): AsyncGenerator<Pick<AuditFault, 'position' | 'what'>> {
  for (let start = 0; start < anchors.length; start += batch) {
    const some = anchors.slice(start, start + batch).filter(({ position }) => position > 0);
    const links = await findLinks(
      system.pooled,
      some.map(({ position }) => position),
    );
    const chains = new Map(links.map(({ position, chain }) => [position, chain]));
    for (const { position, chain } of some) {
      if (position > end) yield { position, what: 'rolled_back' };
      else if (!chains.get(position)?.equals(chain)) yield { position, what: 'anchor_mismatch' };
    }
  }
}

/** Whether sealed records exist beyond the head. One snapshot, because the sealer changes both together. */
async function hasRecordsBeyondHead(ctx: Pick<Context, 'db'>, key: Buffer): Promise<boolean> {
  return ctx.db.system.begin('BEGIN ISOLATION LEVEL REPEATABLE READ', async (tx) => {
    const head = await intactHead(tx, key);
    return head !== undefined && (await lastPosition(tx)) > head.position;
  });
}

async function intactHead(sql: Sql | Tx, key: Buffer): Promise<Head | undefined> {
  try {
    return await readHead(sql, key);
  } catch (error) {
    if (error instanceof HeadBroken) return undefined;
    throw error;
  }
}

type VerificationContext = Pick<Context, 'config' | 'db' | 'system_keys' | 'log' | 'metrics' | 'audit'>;

const entry = { client_id: null, actor_kind: 'system', actor: 'service', action: 'audit.verify' } as const;

/** Verifies the whole log if no process has done so within AUDIT_VERIFY_HOURS. The result is in the log itself. */
export async function verifyIfDue(ctx: VerificationContext): Promise<void> {
  const last = await findLastRecord(ctx.db.system, { actions: [entry.action], actor: entry.actor });
  // A record that someone forged or changed postpones nothing.
  const last_at = last && createStamp(ctx.system_keys).isGenuine(last) ? last.at.getTime() : 0;
  const due_at = last_at + ctx.config.audit_verify_hours * 3_600_000;
  if (Date.now() < due_at) return;
  const verdict = await verifyAudit(ctx, { anchors: await collectAnchors(ctx) });
  ctx.metrics.audit_intact.set({ check: 'chain' }, verdict.ok ? 1 : 0);
  const { checked, faults } = verdict;
  if (!verdict.ok)
    ctx.log.error({ reason: faults[0]?.what }, 'the audit log was tampered with: run chartwire audit verify');
  await ctx.audit.record({
    ...entry,
    outcome: verdict.ok ? 'ok' : 'failed',
    detail: { checked, ...(verdict.ok ? {} : { faults: faults.slice(0, 5) }) },
  });
}

/**
 * Triggers and rules on the tables of the audit log, by name. The service creates none: each of them could drop or change
 * records before they are stored, which their MACs do not show.
 */
export async function listAuditTriggers(sql: Query): Promise<string[]> {
  const rows = await sql<{ name: string }[]>`
    SELECT format('trigger %s on %s', tgname, relname) AS name FROM pg_trigger JOIN pg_class ON pg_class.oid = tgrelid
     WHERE relname = ANY (${audit_tables}) AND relnamespace = 'public'::regnamespace AND NOT tgisinternal
    UNION ALL
    SELECT format('rule %s on %s', rulename, tablename) FROM pg_rules
     WHERE tablename = ANY (${audit_tables}) AND schemaname = 'public'
     ORDER BY name`;
  return rows.map(({ name }) => name);
}

const audit_tables = ['audit_records', 'audit_head'];

import { createHmac, randomBytes } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { createOutbound } from '../../platform/security/outbound.ts';
import type { Context } from '../context.ts';
import { type AuditFault, findLinks } from './auditRecords.ts';
import { type Head, HeadBroken, readHead } from './seals.ts';

export type AuditAnchor = {
  /**
   * Checks that the log still contains what was anchored, then anchors its head. The anchor is written after the head
   * is committed, so that a crash in between leaves an older anchor, which the log still contains.
   */
  advance(): Promise<void>;
  close(): Promise<void>;
};

type AnchorContext = Pick<Context, 'config' | 'db' | 'system_keys' | 'log' | 'metrics' | 'audit'>;

/** AUDIT_ANCHOR_FILE and AUDIT_ANCHOR_URL get the head at most this often; DATA_DIR/audit.anchor always has it. */
const copies_ms = 60_000;

/** Opens the anchor of this process. Processes on other machines have their own, in their own DATA_DIR. */
export async function openAnchor(ctx: AnchorContext, now: () => number = Date.now): Promise<AuditAnchor> {
  const { config, db, log, metrics } = ctx;
  const key = ctx.system_keys.key('audit.chain');
  const file = localAnchorFile(config.data_dir);
  const copies = openCopies(ctx);
  let last = await newestAnchor(config, key);
  let reported: AuditFault['what'] | undefined;
  let copied = { at: Number.NEGATIVE_INFINITY, position: 0 };

  const report = async (fault: AuditFault['what'] | undefined) => {
    metrics.audit_intact.set({ check: 'anchor' }, fault === undefined ? 1 : 0);
    if (fault === reported) return;
    reported = fault;
    if (fault === undefined) return log.info('the audit log matches its anchor again');
    log.error({ reason: fault }, 'the audit log does not match its anchor: run chartwire audit verify');
    const entry = { client_id: null, actor_kind: 'system', actor: 'service', action: 'audit.anchor' } as const;
    await ctx.audit.record({ ...entry, outcome: fault, detail: { anchored: last?.anchor?.position ?? null } });
  };
  const copy = async (anchor: Anchor) => {
    if (anchor.position === copied.position || now() - copied.at < copies_ms) return;
    copied = { at: now(), position: anchor.position };
    await copies.send(anchorLine(key, anchor));
  };

  return {
    advance: async () => {
      const head = await intactHead(db.system, key);
      let fault = await findFault(ctx, head, last);
      if (fault !== undefined) {
        // An operator may have accepted a restored log in the meantime.
        const stored = await newestAnchor(config, key);
        if ((stored.anchor?.reset_at ?? '') > (last.anchor?.reset_at ?? '')) {
          last = stored;
          fault = await findFault(ctx, head, last);
        }
      }
      await report(fault);
      if (fault !== undefined || head === undefined || head.position === 0) return;
      if (head.position !== last.anchor?.position) {
        const anchor = { ...head, at: new Date(now()).toISOString(), reset_at: last.anchor?.reset_at ?? null };
        await writeAnchor(file, anchorLine(key, anchor));
        last = { anchor, changed: false };
      }
      if (last.anchor) await copy(last.anchor);
    },
    close: copies.close,
  };
}

/** Accepts the log as it is now, after a restore from a backup. Earlier anchors no longer count. */
export async function resetAnchor(
  ctx: Pick<Context, 'config' | 'db' | 'system_keys'>,
): Promise<{ from: number | null; to: number }> {
  const { config, db, system_keys } = ctx;
  const key = system_keys.key('audit.chain');
  const before = await newestAnchor(config, key);
  const head = await readHead(db.system, key);
  const at = new Date().toISOString();
  const line = anchorLine(key, { ...head, at, reset_at: at });
  await writeAnchor(localAnchorFile(config.data_dir), line);
  if (config.audit_anchor_file) await appendAnchor(config.audit_anchor_file, line);
  return { from: before.anchor?.position ?? null, to: head.position };
}

type Newest = { anchor?: Anchor | undefined; changed: boolean };

/** The newest anchor of DATA_DIR and AUDIT_ANCHOR_FILE: a container may have lost the first one. */
async function newestAnchor(config: AnchorContext['config'], key: Buffer): Promise<Newest> {
  const files = [localAnchorFile(config.data_dir), config.audit_anchor_file].filter((each) => each !== undefined);
  const contents = await Promise.all(files.map((each) => readAnchors(each, key)));
  const anchors = contents
    .flatMap(({ anchors }) => anchors.slice(-1))
    .sort((a, b) => (toSortKey(a) < toSortKey(b) ? -1 : 1));
  return { anchor: anchors.at(-1), changed: contents.some(({ changed }) => changed) };
}

function toSortKey({ reset_at, position }: Anchor): string {
  return `${reset_at ?? ''} ${String(position).padStart(20, '0')}`;
}

async function findFault(
  { db }: Pick<Context, 'db'>,
  head: Head | undefined,
  { anchor, changed }: Newest,
): Promise<AuditFault['what'] | undefined> {
  if (head === undefined) return 'head_broken';
  if (changed) return 'anchor_changed';
  if (anchor === undefined || anchor.position === 0) return undefined;
  if (anchor.position > head.position) return 'rolled_back';
  const chain = anchor.position === head.position ? head.chain : await chainAt(db, anchor.position);
  return chain?.equals(anchor.chain) ? undefined : 'anchor_mismatch';
}

async function chainAt(db: Context['db'], position: number): Promise<Buffer | undefined> {
  const [link] = await findLinks(db.system, [position]);
  return link?.chain ?? undefined;
}

async function intactHead(system: Context['db']['system'], key: Buffer): Promise<Head | undefined> {
  try {
    return await readHead(system, key);
  } catch (error) {
    if (error instanceof HeadBroken) return undefined;
    throw error;
  }
}

/** The operator's copies. A failure is logged, and the next head is sent a minute later. */
function openCopies({ config, log }: Pick<AnchorContext, 'config' | 'log'>) {
  const { audit_anchor_file: file, audit_anchor_url: url } = config;
  // The operator chose this host, so it may be private.
  const outbound = url ? createOutbound({ sandbox: false, allow: [new URL(url).host] }) : undefined;
  const attempt = async (reason: string, work: () => Promise<unknown>) => {
    await work().catch((error: unknown) => log.warn({ reason, err: error }, 'audit anchor not copied'));
  };
  const post = async (line: string) => {
    if (!url || !outbound) return;
    const { status } = await outbound.fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: line,
      timeout_ms: 15_000,
      response_bytes_max: 1_000,
    });
    if (status < 200 || status > 299) throw new Error(`The receiver of the audit anchor returned ${status}.`);
  };
  let posting: Promise<void> = Promise.resolve();
  let closed: Promise<void> | undefined;
  return {
    send: async (line: string) => {
      if (file) await attempt('AUDIT_ANCHOR_FILE', () => appendAnchor(file, line));
      // Not awaited: a slow receiver must not delay the chaining of records.
      posting = posting.then(() => attempt('AUDIT_ANCHOR_URL', () => post(line)));
    },
    close: () => {
      closed ??= posting.then(() => outbound?.close());
      return closed;
    },
  };
}

/**
 * A copy of the head of the audit log outside the database, with a MAC. If the database no longer contains it, the log
 * was cut off, replaced, or restored from an older copy.
 */
export type Anchor = Head & {
  at: string;
  /** When an operator accepted a restored log as it was. Anchors from before that time no longer count. */
  reset_at: string | null;
};

/** The anchors of a file that count, oldest first, and whether a line was changed or belongs to another database. */
export type AnchorFile = { anchors: Anchor[]; changed: boolean };

export function localAnchorFile(data_dir: string): string {
  return join(data_dir, 'audit.anchor');
}

export function anchorLine(key: Buffer, anchor: Anchor): string {
  const { position, chain, at, reset_at } = anchor;
  return JSON.stringify({ position, chain: chain.toString('hex'), at, reset_at, mac: anchorMac(key, anchor) });
}

/** Reads a file of anchors, one JSON object per line. A line that a crash cut short is skipped. */
export async function readAnchors(file: string, key: Buffer): Promise<AnchorFile> {
  let content: AnchorFile = { anchors: [], changed: false };
  let reset_at = '';
  try {
    for await (const line of createInterface({ input: createReadStream(file), crlfDelay: Number.POSITIVE_INFINITY })) {
      const parsed = parseLine(line);
      if (parsed === undefined) continue;
      if (anchorMac(key, parsed.anchor) !== parsed.mac) {
        content.changed = true;
        continue;
      }
      if ((parsed.anchor.reset_at ?? '') > reset_at) {
        reset_at = parsed.anchor.reset_at ?? '';
        content = { anchors: [], changed: false };
      }
      content.anchors.push(parsed.anchor);
    }
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error;
  }
  return content;
}

/** Replaces the file in one step, so that a crash leaves the old or the new anchor. */
export async function writeAnchor(file: string, line: string): Promise<void> {
  const draft = `${file}.${randomBytes(6).toString('hex')}`;
  try {
    const handle = await open(draft, 'wx', 0o600);
    try {
      await handle.writeFile(`${line}\n`);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(draft, file);
  } finally {
    await rm(draft, { force: true });
  }
}

/** Appends a line with one write, which works on files that the system only allows to be appended to (chattr +a). */
export async function appendAnchor(file: string, line: string): Promise<void> {
  const handle = await open(file, 'a', 0o600);
  try {
    // The line break comes first as well: the last line may have been cut short by a crash.
    await handle.writeFile(`\n${line}\n`);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

function anchorMac(key: Buffer, { position, chain, at, reset_at }: Anchor): string {
  const text = JSON.stringify(['anchor', position, chain.toString('hex'), at, reset_at]);
  return createHmac('sha256', key).update(text).digest('hex');
}

function parseLine(line: string): { anchor: Anchor; mac: string } | undefined {
  let fields: unknown;
  try {
    fields = JSON.parse(line);
  } catch {
    return undefined;
  }
  const { position, chain, at, reset_at = null, mac } = Object(fields);
  const valid = Number.isSafeInteger(position) && [chain, at, mac].every((each) => typeof each === 'string');
  if (!valid || !(reset_at === null || typeof reset_at === 'string')) return undefined;
  return { anchor: { position, chain: Buffer.from(chain, 'hex'), at, reset_at }, mac };
}

import { once } from 'node:events';
import { open } from 'node:fs/promises';
import { resolve } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { StartFailure } from '../../catalog/errors.ts';
import { type FourEyesAction, needsSecondPerson } from '../../catalog/fourEyes.ts';
import type { Config } from '../../catalog/settings/config.ts';
import { type Database, openDatabase } from '../../platform/db/database.ts';
import { type DatabaseServer, openServer } from '../../platform/db/openServer.ts';
import { type Keys, loadKeys } from '../../platform/security/keys.ts';
import { openKeyUnwraps } from '../../platform/security/keyUnwraps.ts';
import { resetAnchor } from '../../product/audit/anchors.ts';
import type { AuditFault, ExportRange } from '../../product/audit/auditRecords.ts';
import { type ExportFault, type ExportFormat, exportChain, verifyExport } from '../../product/audit/exports.ts';
import { openAudit, recordRotation } from '../../product/audit/openAudit.ts';
import { sealLastRecords } from '../../product/audit/seals.ts';
import { collectAnchors, verifyAudit } from '../../product/audit/verification.ts';
import { checkIsNew, writeFinishedFile } from '../../product/backup/createBackup.ts';
import type { Audit, Context } from '../../product/context.ts';
import { type JsonOption, printProgress, printResult } from './output.ts';

const fault_texts: Record<AuditFault['what'], string> = {
  changed: 'was changed',
  not_linked: 'does not follow the previous record',
  missing: 'is missing',
  beyond_head: 'is after the end of the chain',
  head_broken: 'The end of the chain was changed or removed',
  rolled_back: 'was anchored, but the log ends before it: records were removed, or an older copy was restored',
  anchor_mismatch: 'is not the record that was anchored at this position',
  anchor_changed: 'An anchor was changed, or belongs to another database',
  trigger: 'can drop or change records before they are stored: remove it',
};

const export_fault_texts: Record<ExportFault['what'], string> = {
  changed: fault_texts.changed,
  not_linked: fault_texts.not_linked,
  unreadable: 'is not a line of an export',
};

/** Verifies the audit log and its anchors, and prints what does not match. Exit code 1 if anything does not. */
export async function verifyAuditCommand(
  config: Config,
  files: readonly string[],
  output: JsonOption = {},
): Promise<void> {
  const verdict = await withAudit(config, async (db, audit, { system_keys }) => {
    const anchors = await collectAnchors({ config, system_keys }, files);
    const result = await verifyAudit({ db, system_keys }, { anchors });
    const outcome = result.ok ? 'ok' : 'failed';
    const detail = { checked: result.checked, ...(result.ok ? {} : { faults: result.faults.slice(0, 5) }) };
    await audit.record({ client_id: null, ...command_line, action: 'audit.verify', outcome, detail });
    return { ...result, anchors: anchors.anchors.length };
  });
  const { ok, checked, unsealed, anchors } = verdict;
  const lines = [
    `Records: ${checked} (${unsealed} more are not in the chain yet). Anchors: ${anchors}.`,
    ...verdict.faults.map(describe),
    ok ? 'The audit log is unchanged, in order and complete.' : 'The audit log was tampered with.',
  ];
  const faults = verdict.faults.map(({ position, id, what }) => ({
    ...{ position, what },
    ...(what === 'trigger' && { name: id }),
    ...(what === 'missing' && { id }),
  }));
  printResult(output, { ok, checked, unsealed, anchors, faults }, `${lines.join('\n')}\n`);
  if (!ok) process.exitCode = 1;
}

/** Verifies a file of `audit export --format jsonl`, with the keys of this installation. This is recorded too. */
export async function verifyExportCommand(config: Config, file: string, output: JsonOption = {}): Promise<void> {
  const lines = await open(file).catch((cause: unknown) => {
    throw new StartFailure(`--export: cannot read the file ${file}.`, { cause });
  });
  const { ok, checked, unsealed, gaps, faults } = await withAudit(config, async (_db, audit, { system_keys }) => {
    const result = await verifyExport({ system_keys }, lines.createReadStream());
    const outcome = result.ok ? 'ok' : 'failed';
    const detail = { export: true, checked: result.checked };
    await audit.record({ client_id: null, ...command_line, action: 'audit.verify', outcome, detail });
    return result;
  }).finally(() => lines.close());
  const text = [
    `Records: ${checked} (${unsealed} without a position in the chain). Gaps: ${gaps}.`,
    ...faults.map(({ position, what }) => `Record ${position ?? 'without position'} ${export_fault_texts[what]}`),
    ok ? 'The records are unchanged.' : 'The export was changed, or belongs to another installation.',
  ];
  const listed_faults = faults.map(({ position, what }) => ({ position, what }));
  printResult(output, { ok, checked, unsealed, gaps, faults: listed_faults }, `${text.join('\n')}\n`);
  if (!ok) process.exitCode = 1;
}

/** Accepts the audit log as it is, after a restore from a backup. This is recorded. */
export async function reanchorAuditCommand(config: Config, output: JsonOption = {}): Promise<void> {
  const { from, to } = await withAudit(config, (db, audit, { system_keys }) =>
    reanchor({ config, db, audit, system_keys }, 'command'),
  );
  printResult(
    output,
    { from, to },
    `The audit log is accepted up to record ${to}. It was anchored at ${from ?? 'no record'} before.\n`,
  );
}

/** Anchors the audit log at its present end, and records why. */
export async function reanchor(
  ctx: Pick<Context, 'config' | 'db' | 'audit' | 'system_keys'>,
  reason: 'command' | 'restore',
): Promise<{ from: number | null; to: number }> {
  const moved = await resetAnchor(ctx).catch((cause: unknown) => {
    throw new StartFailure('The audit log has no valid end. Restore the tables audit_records and audit_head.', {
      cause,
    });
  });
  const detail = { ...moved, reason };
  await ctx.audit.record({ client_id: null, ...command_line, action: 'audit.reanchor', outcome: 'accepted', detail });
  return moved;
}

function describe({ position, id, what }: AuditFault): string {
  if (what === 'trigger') return `The ${id} ${fault_texts[what]}`;
  if (what === 'head_broken' || what === 'anchor_changed') return fault_texts[what];
  // A record that is missing is known by its id, from the records after it.
  const named = what === 'missing' && id !== null;
  if (position === null) return `${named ? `The new record ${id}` : 'A new record'} ${fault_texts[what]}`;
  return `Record ${position}${named ? ` (${id})` : ''} ${fault_texts[what]}`;
}

type Values = JsonOption & {
  format: ExportFormat;
  since?: string | undefined;
  until?: string | undefined;
  client?: string | undefined;
  output?: string | undefined;
  force?: boolean | undefined;
};

/**
 * Writes records of the audit log to a file or the standard output. Needs the same memory for a log of any length. The
 * export is recorded before the first record is written.
 */
export async function exportAuditCommand(config: Config, values: Values): Promise<void> {
  const { format, output, force = false } = values;
  if (values.json && output === undefined) throw new StartFailure('--json needs --output FILE for the records.');
  const [since, until = new Date()] = [parseTime('--since', values.since), parseTime('--until', values.until)];
  const file = output === undefined ? undefined : resolve(output);
  if (file !== undefined && !force) await checkIsNew(file, ' To replace it, add --force.');
  const records = await withAudit(config, async (db, audit) => {
    const client_id = values.client === undefined ? undefined : await findClient(db, values.client);
    const detail = { since: since?.toISOString() ?? null, until: until.toISOString(), format };
    const entry = { client_id: client_id ?? null, ...command_line, action: 'audit.export', outcome: 'ok', detail };
    await audit.record(entry);
    const range: ExportRange = { since, until, client_id };
    return file === undefined
      ? printExport(exportChain({ db }, range, format))
      : writeExport(file, exportChain({ db }, range, format), force);
  });
  if (file === undefined) printProgress(`Records: ${records}.`);
  else printResult(values, { file, format, records }, `${file}: ${records} records.\n`);
}

type Parts = AsyncGenerator<{ text: string; records: number }>;

/** Prints an export, and returns the number of records. */
export async function printExport(parts: Parts): Promise<number> {
  let count = 0;
  for await (const { text, records } of parts) {
    if (!process.stdout.write(text)) await once(process.stdout, 'drain');
    count += records;
  }
  return count;
}

/** Writes an export to a file, and returns the number of records. */
export async function writeExport(to: string, parts: Parts, overwrite: boolean): Promise<number> {
  let count = 0;
  const texts = async function* () {
    for await (const { text, records } of parts) {
      yield text;
      count += records;
    }
  };
  await writeFinishedFile(to, (file) => pipeline(Readable.from(texts()), file.createWriteStream({ flush: true })), {
    overwrite,
  });
  return count;
}

/** A date means its start in UTC, the zone of all times of the log. */
function parseTime(option: string, text: string | undefined): Date | undefined {
  if (text === undefined) return undefined;
  const at_ms = Date.parse(text);
  const has_zone = /^\d{4}-\d\d-\d\d(T[\d:.]+(Z|[+-]\d\d:\d\d))?$/.test(text);
  // No record is older than 1970, where the times in ids start.
  if (has_zone && !Number.isNaN(at_ms)) return new Date(Math.max(0, at_ms));
  throw new StartFailure(`${option} must be a date or a time with its zone, such as 2031-03-03T14:00:00Z.`);
}

/** The actor in the audit log. */
export const command_line = { actor_kind: 'system', actor: 'command line' } as const;

/**
 * For the audit record of a command whose action needs a second person in the dashboard. Who runs commands on the server
 * can do anything there, so they are recorded, not refused.
 */
export function withoutSecondPerson(
  { four_eyes }: Pick<Config, 'four_eyes'>,
  action: FourEyesAction,
): { without_second_person: true } | undefined {
  return needsSecondPerson(four_eyes, action) ? { without_second_person: true } : undefined;
}

/** Opens the database and the audit log for a command. Works whether or not the service is running. */
export async function withAudit<T>(
  config: Config,
  work: (db: Database, audit: Audit, keys: Keys, server: DatabaseServer) => Promise<T>,
): Promise<T> {
  const server = await openServer(config, () => {});
  const db = openDatabase(server.roles, 2);
  const print = (text: string) => void process.stderr.write(text);
  // A count must not keep a command from its work.
  const unwraps = openKeyUnwraps(db.system, 'command', () => {});
  try {
    await db.checkRoles();
    const keys = await loadKeys(config, db.system, { print, record: recordRotation, onUnwrap: unwraps.count });
    const audit = await openAudit(db, keys.system_keys);
    try {
      return await work(db, audit, keys, server);
    } finally {
      await audit.close();
      // A running service adds them too. A broken chain must not keep the command from reporting it.
      await sealLastRecords({ db, system_keys: keys.system_keys }).catch((error: Error) => print(`${error.message}\n`));
    }
  } finally {
    await unwraps.close();
    await db.close();
    await server.release();
  }
}

/** The id of the client that the option --client names. */
export async function findClient(db: Database, client_id: string | undefined): Promise<string> {
  const [client] = await db.system<{ id: string }[]>`SELECT id FROM clients WHERE public_id = ${client_id ?? ''}`;
  if (!client) throw new StartFailure('--client must be the client_id of an existing client.');
  return client.id;
}

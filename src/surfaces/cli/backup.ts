import { mkdir, readFile, rm, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { StartFailure } from '../../catalog/errors.ts';
import type { Config } from '../../catalog/settings/config.ts';
import { connect, type DatabaseAddress } from '../../platform/db/database.ts';
import { unfinishedFolder } from '../../platform/db/embedded/cluster.ts';
import { isKeyProvided } from '../../platform/security/keyCommand.ts';
import { collectAnchors, verifyAudit } from '../../product/audit/verification.ts';
import type { ArchiveEnd } from '../../product/backup/archive.ts';
import { createBackup } from '../../product/backup/createBackup.ts';
import { extractBackup, restoreBackup } from '../../product/backup/restoreBackup.ts';
import type { Context } from '../../product/context.ts';
import { countUnfinishedWrites, insertRestore } from '../../product/jobs/jobs.ts';
import { cancelRestoredApprovals } from '../../product/operators/approvals.ts';
import { startGeneration } from '../../product/records/changes.ts';
import { command_line, reanchor, withAudit } from './audit.ts';
import { type JsonOption, printResult, showProgress } from './output.ts';

type BackupValues = JsonOption & {
  to?: string | undefined;
  'passphrase-file'?: string | undefined;
  verify?: boolean | undefined;
  portable?: boolean | undefined;
};

const labels = {
  rewrite: 'Rewriting tables with erased data',
  copy: 'Copying the database',
  check: 'Checking the backup',
} as const;

/** Writes an encrypted backup of the embedded database. Works whether or not the service is running. */
export async function backupCommand(config: Config, values: BackupValues): Promise<void> {
  if (!values.to) throw new StartFailure('A file is required: chartwire backup --to FILE');
  if (config.database_url) {
    throw new StartFailure(
      'chartwire backup is for the embedded database. For the server of DATABASE_URL, see docs/guides/backups.md.',
    );
  }
  const to = resolve(values.to);
  const passphrase = await readPassphrase(values['passphrase-file'], { confirmed: true });
  const progress = showProgress();
  const end = await createBackup(config, {
    to,
    passphrase,
    portable: values.portable ?? false,
    onProgress: (what, done, total) => progress(labels[what], done, total),
  });
  const { size } = await stat(to);
  const { files, bytes, backup_at } = end;
  if (!values.json) {
    const from = `${files} files (${megabytes(bytes)} MB uncompressed)`;
    process.stdout.write(`${to}: ${megabytes(size)} MB, ${from}, as of ${backup_at}.\n`);
  }
  const verified = values.verify ? await verifyOnScratchServer(config, to, passphrase) : null;
  const has_master_key = !isKeyProvided(config);
  printResult(
    values,
    { file: to, bytes: size, database_files: files, database_bytes: bytes, backup_at, verified, has_master_key },
    `${verified ? verifiedText(verified) : ''}${has_master_key ? '' : master_key_notice}`,
  );
}

const master_key_notice = 'MASTER_KEY is not in the backup: without it, credentials in it cannot be decrypted.\n';

type Verified = { tables: number; rows: number; audit_records: number };

function verifiedText({ tables, rows, audit_records }: Verified): string {
  return `Verified on a scratch server: ${tables} tables with ${rows} rows, ${audit_records} audit records.\n`;
}

/** Restores the backup next to the database, starts a server on it, reads every table and verifies the audit log. */
async function verifyOnScratchServer(config: Config, file: string, passphrase: string): Promise<Verified> {
  const data_dir = unfinishedFolder(resolve(config.data_dir));
  const progress = showProgress();
  try {
    await mkdir(data_dir, { mode: 0o700 });
    // Anchors outside the backup may be newer than it.
    const scratch = { ...config, data_dir, audit_anchor_file: undefined };
    const end = await extractBackup(scratch, file, passphrase, (done, total) => progress('Restoring', done, total));
    const result = await withAudit(scratch, async (db, _audit, { system_keys }, server) => {
      const counts = await countRows(server.owner);
      const anchors = await collectAnchors({ config: scratch, system_keys }, []);
      return { ...counts, audit: await verifyAudit({ db, system_keys }, { anchors }) };
    });
    checkAudit(result.audit, end);
    return { tables: result.tables, rows: result.rows, audit_records: result.audit.checked };
  } finally {
    await rm(data_dir, { recursive: true, force: true });
  }
}

function checkAudit({ ok, checked }: { ok: boolean; checked: number }, end: ArchiveEnd): void {
  if (!ok) throw new StartFailure('The audit log in the backup is not intact: run chartwire audit verify.');
  if (checked < end.audit_position) {
    throw new StartFailure(`The backup is missing audit records: it has ${checked} of at least ${end.audit_position}.`);
  }
}

/** Reads all rows, which also checks PostgreSQL's checksums of their pages. */
async function countRows(owner: DatabaseAddress): Promise<{ tables: number; rows: number }> {
  const sql = connect(owner, { max: 1 });
  try {
    const tables = await sql<{ name: string }[]>`
      SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public' ORDER BY tablename`;
    let rows = 0;
    for (const { name } of tables) {
      const [row] = await sql<{ n: number }[]>`SELECT count(*) AS n FROM ${sql(name)}`;
      rows += row?.n ?? 0;
    }
    return { tables: tables.length, rows };
  } finally {
    await sql.end({ timeout_ms: 5_000 });
  }
}

function megabytes(bytes: number): string {
  return (bytes / 1_000_000).toFixed(1);
}

type RestoreValues = JsonOption & {
  from?: string | undefined;
  'data-dir'?: string | undefined;
  'passphrase-file'?: string | undefined;
};

/** Restores a backup into an empty folder, marks the database as restored, and says what may have been lost. */
export async function restoreCommand(
  load: (settings: Record<string, string>) => Config,
  values: RestoreValues,
): Promise<void> {
  if (!values.from) throw new StartFailure('A file is required: chartwire restore --from FILE --data-dir DIR');
  if (!values['data-dir']) throw new StartFailure('An empty folder is required: --data-dir DIR');
  const data_dir = resolve(values['data-dir']);
  const config = load({ DATA_DIR: data_dir, DATABASE_URL: '' });
  const passphrase = await readPassphrase(values['passphrase-file'], { confirmed: false });
  const progress = showProgress();
  const restored = await restoreBackup(
    config,
    { from: resolve(values.from), passphrase, onProgress: (done, total) => progress('Restoring', done, total) },
    (unfinished, { backup_at }) => markRestored(unfinished, new Date(backup_at)),
  );
  printResult(values, { data_dir, ...restored }, `${notice(restored)}\nStart the service with DATA_DIR=${data_dir}\n`);
}

/** Marks a database that other tools restored, such as pg_restore. */
export async function markRestoredCommand(
  config: Config,
  time: string | undefined,
  output: JsonOption = {},
): Promise<void> {
  const backup_at = new Date(time ?? '');
  if (Number.isNaN(backup_at.getTime()) || backup_at.getTime() > Date.now()) {
    throw new StartFailure('--backup-time must be the time of the backup, such as 2031-03-03T02:00:00Z.');
  }
  const restored = await markRestored(config, backup_at);
  printResult(output, restored, notice(restored));
}

type Restored = { backup_at: Date; unfinished_jobs: number };

/**
 * Marks the database before the service uses it: unfinished jobs may have run after the backup. The end of the audit log
 * is accepted, because the log ends before what was anchored after the backup.
 */
async function markRestored(config: Config, backup_at: Date): Promise<Restored> {
  return withAudit(config, async (db, audit, { system_keys }, server) => {
    const unfinished_jobs = await countUnfinishedWrites(db.system);
    await asOwner(server.owner, backup_at, unfinished_jobs);
    await reanchor({ config, db, audit, system_keys }, 'restore');
    await cancelRestoredApprovals({ db, audit });
    const entry: Parameters<Context['audit']['record']>[0] = {
      client_id: null,
      ...command_line,
      action: 'database.restore',
      outcome: 'restored',
      detail: { backup_at: backup_at.toISOString(), unfinished_jobs },
    };
    await audit.record(entry);
    return { backup_at, unfinished_jobs };
  });
}

async function asOwner(owner: DatabaseAddress, backup_at: Date, unfinished_jobs: number): Promise<void> {
  const sql = connect(owner, { max: 1 });
  try {
    await insertRestore(sql, backup_at, unfinished_jobs);
    await startGeneration(sql);
  } finally {
    await sql.end({ timeout_ms: 5_000 });
  }
}

function notice({ backup_at, unfinished_jobs }: Restored): string {
  return `The database is as of ${backup_at.toISOString()}. Anything that happened later is missing from it:
- Unfinished jobs: ${unfinished_jobs}. Each looks up its writes in the EMR before it sends anything. If the EMR cannot be
  searched, the job ends as needs_review.
- Requests accepted after that time are lost, with their jobs, events and Idempotency-Keys. What they wrote is in the EMR.
  If a client resends one, even with the same key, it is written again.
- Webhooks that were sent after that time may be sent again. Those of lost jobs cannot be listed or resent.
- Account links, token rotations and revocations, operator removals and patient erasures made after that time are undone.
  Repeat those that are still needed.
- Legal holds that were placed after that time are missing. Place them again before you start the service.
- Open approvals are canceled. What still needs a second person must be requested again.
`;
}

/** A backup contains all health data and may be kept for years: short passphrases can be guessed. */
const length_min = 12;

/**
 * The passphrase of a backup: the first line of a file, or typed on the terminal without being shown. `confirmed`: for a
 * new backup, it is typed twice and must be long enough.
 */
export async function readPassphrase(file: string | undefined, { confirmed }: { confirmed: boolean }): Promise<string> {
  const passphrase = file === undefined ? await typed('Passphrase: ') : await firstLine(file);
  if (!confirmed) return passphrase;
  if (passphrase.length < length_min) {
    throw new StartFailure(`The passphrase must have at least ${length_min} characters.`);
  }
  if (file === undefined && (await typed('Repeat it: ')) !== passphrase) {
    throw new StartFailure('The passphrases do not match.');
  }
  return passphrase;
}

async function firstLine(file: string): Promise<string> {
  const text = await readFile(file, 'utf8').catch((cause: unknown) => {
    throw new StartFailure(`--passphrase-file: cannot read the file ${file}.`, { cause });
  });
  const [line = ''] = text.split(/\r?\n/);
  if (line === '') throw new StartFailure(`--passphrase-file: the first line of ${file} is empty.`);
  return line;
}

async function typed(question: string): Promise<string> {
  if (!process.stdin.isTTY) throw new StartFailure('A passphrase is required: --passphrase-file FILE');
  process.stderr.write(question);
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input: process.stdin, output: silent, terminal: true });
  try {
    return await lines.question('');
  } finally {
    lines.close();
    process.stderr.write('\n');
  }
}

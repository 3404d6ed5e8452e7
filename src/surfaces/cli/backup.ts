import { mkdir, rm, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { collectAnchors, verifyAudit } from '../../product/audit/verification.ts';
import type { ArchiveEnd } from '../../product/backup/archive.ts';
import { createBackup } from '../../product/backup/createBackup.ts';
import { extractBackup } from '../../product/backup/restoreBackup.ts';
import { StartFailure } from '../../catalog/errors.ts';
import type { Config } from '../../catalog/settings/config.ts';
import { connect, type DatabaseAddress } from '../../platform/db/database.ts';
import { unfinishedFolder } from '../../platform/db/embedded/cluster.ts';
import { type JsonOption, printResult } from './output.ts';
import { readPassphrase } from './passphrase.ts';
import { showProgress } from './progress.ts';
import { withAudit } from './withAudit.ts';

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
  const has_master_key = !config.master_key;
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
    const found = await withAudit(scratch, async (db, _audit, { system_keys }, server) => {
      const counts = await countRows(server.owner);
      const anchors = await collectAnchors({ config: scratch, system_keys }, []);
      return { ...counts, audit: await verifyAudit({ db, system_keys }, { anchors }) };
    });
    checkAudit(found.audit, end);
    return { tables: found.tables, rows: found.rows, audit_records: found.audit.checked };
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

import { mkdir, rm, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { collectAnchors, verifyAudit } from '../audit/verifyAudit.ts';
import type { ArchiveEnd } from '../backup/archive.ts';
import { createBackup } from '../backup/createBackup.ts';
import { extractBackup } from '../backup/readBackup.ts';
import type { Config } from '../config.ts';
import { connect, type DatabaseAddress } from '../db/database.ts';
import { unfinishedFolder } from '../db/embedded/cluster.ts';
import { StartFailure } from '../errors.ts';
import { readPassphrase } from './passphrase.ts';
import { showProgress } from './progress.ts';
import { withAudit } from './withAudit.ts';

type Values = {
  to?: string | undefined;
  'passphrase-file'?: string | undefined;
  verify?: boolean | undefined;
};

const labels = { copy: 'Copying the database', check: 'Checking the backup' } as const;

/** Writes an encrypted backup of the embedded database. Works whether or not the service is running. */
export async function backupCommand(config: Config, values: Values): Promise<void> {
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
    onProgress: (what, done, total) => progress(labels[what], done, total),
  });
  const { size } = await stat(to);
  process.stdout.write(
    `${to}: ${megabytes(size)} MB, ${end.files} files of ${megabytes(end.bytes)} MB, as of ${end.backup_at}.\n`,
  );
  if (values.verify) await verifyOnScratchServer(config, to, passphrase);
  if (config.master_key) {
    process.stdout.write('MASTER_KEY is not in the backup: without it, credentials in it cannot be decrypted.\n');
  }
}

/** Restores the backup next to the database, starts a server on it, reads every table and verifies the audit log. */
async function verifyOnScratchServer(config: Config, file: string, passphrase: string): Promise<void> {
  const data_dir = unfinishedFolder(resolve(config.data_dir));
  const progress = showProgress();
  try {
    await mkdir(data_dir, { mode: 0o700 });
    const end = await extractBackup(file, passphrase, data_dir, (done, total) => progress('Restoring', done, total));
    // Anchors outside the backup may be newer than it.
    const scratch = { ...config, data_dir, audit_anchor_file: undefined };
    const found = await withAudit(scratch, async (db, _audit, { system_keys }, server) => {
      const counts = await countRows(server.owner);
      const anchors = await collectAnchors({ config: scratch, system_keys }, []);
      return { ...counts, audit: await verifyAudit({ db, system_keys }, { anchors }) };
    });
    checkAudit(found.audit, end);
    process.stdout.write(
      `Verified on a scratch server: ${found.tables} tables with ${found.rows} rows, ${found.audit.checked} audit records.\n`,
    );
  } finally {
    await rm(data_dir, { recursive: true, force: true });
  }
}

function checkAudit({ ok, checked }: { ok: boolean; checked: number }, end: ArchiveEnd): void {
  if (!ok) throw new StartFailure('The audit log in the backup is not intact: run chartwire audit verify.');
  if (checked < end.audit_position) {
    throw new StartFailure(`The backup lacks audit records: it has ${checked} of at least ${end.audit_position}.`);
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

import { resolve } from 'node:path';
import { restoreBackup } from '../../product/backup/restoreBackup.ts';
import { StartFailure } from '../../catalog/errors.ts';
import type { Config } from '../../catalog/settings/config.ts';
import type { Context } from '../../product/context.ts';
import { connect, type DatabaseAddress } from '../../platform/db/database.ts';
import { countUnfinishedWrites, insertRestore } from '../../product/jobs/restores.ts';
import { reanchor } from './audit.ts';
import { type JsonOption, printResult } from './output.ts';
import { readPassphrase } from './passphrase.ts';
import { showProgress } from './progress.ts';
import { command_line, withAudit } from './withAudit.ts';

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
`;
}

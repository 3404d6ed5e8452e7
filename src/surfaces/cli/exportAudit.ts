import { once } from 'node:events';
import { resolve } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ExportRange } from '../../product/audit/auditRecords.ts';
import { exportChain, type ExportFormat } from '../../product/audit/exports.ts';
import { checkIsNew, writeFinishedFile } from '../../product/backup/createBackup.ts';
import { StartFailure } from '../../catalog/errors.ts';
import type { Config } from '../../catalog/settings/config.ts';
import { findClient } from './findClient.ts';
import { type JsonOption, printProgress, printResult } from './output.ts';
import { command_line, withAudit } from './withAudit.ts';

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
  const [since, until = new Date()] = [timeOf('--since', values.since), timeOf('--until', values.until)];
  const file = output === undefined ? undefined : resolve(output);
  if (file !== undefined && !force) await checkIsNew(file, ' To replace it, add --force.');
  const records = await withAudit(config, async (db, audit) => {
    const client_id = values.client === undefined ? undefined : await findClient(db, values.client);
    const detail = { since: since?.toISOString() ?? null, until: until.toISOString(), format };
    const entry = { client_id: client_id ?? null, ...command_line, action: 'audit.export', outcome: 'ok', detail };
    await audit.record(entry);
    const range: ExportRange = { since, until, client_id };
    return file === undefined
      ? print(exportChain({ db }, range, format))
      : writeFile(file, exportChain({ db }, range, format), force);
  });
  if (file === undefined) printProgress(`Records: ${records}.`);
  else printResult(values, { file, format, records }, `${file}: ${records} records.\n`);
}

type Parts = ReturnType<typeof exportChain>;

async function print(parts: Parts): Promise<number> {
  let count = 0;
  for await (const { text, records } of parts) {
    if (!process.stdout.write(text)) await once(process.stdout, 'drain');
    count += records;
  }
  return count;
}

async function writeFile(to: string, parts: Parts, overwrite: boolean): Promise<number> {
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
function timeOf(option: string, text: string | undefined): Date | undefined {
  if (text === undefined) return undefined;
  const at_ms = Date.parse(text);
  const has_zone = /^\d{4}-\d\d-\d\d(T[\d:.]+(Z|[+-]\d\d:\d\d))?$/.test(text);
  // No record is older than 1970, where the times in ids start.
  if (has_zone && !Number.isNaN(at_ms)) return new Date(Math.max(0, at_ms));
  throw new StartFailure(`${option} must be a date or a time with its zone, such as 2031-03-03T14:00:00Z.`);
}

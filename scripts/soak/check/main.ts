/**
 * Checks the invariants of a finished run and prints each with its count. Reads only the database, the EMR's ledger, and
 * the files in which clients and receivers noted what they were sent. The last line of its output is the result as JSON;
 * exit code 1 if an invariant is broken.
 */
import { parseArgs } from 'node:util';
import { connect } from '../../../src/platform/db/database.ts';
import { parseDatabaseUrl } from '../../../src/platform/db/openServer.ts';
import { print, RunError, runMain } from '../../cluster/programs.ts';
import {
  type Acknowledged,
  type CachedRead,
  type Interruption,
  type LedgerEntry,
  type Received,
  readLedger,
  readLines,
  readLog,
  type TokenUse,
} from './evidence.ts';
import { invariants } from './invariants.ts';

/** One line of the result. */
export type Checked = { name: string; rows: readonly number[]; checked: number; violations: number };

const shown_max = 5;
const option = { type: 'string' } as const;
const several = { type: 'string', multiple: true } as const;

await runMain(async () => {
  const { values } = parseArgs({
    options: {
      ...{ database: option, 'database-log': option, emr: option, 'control-token': option },
      ...{ acknowledged: option, received: option, reads: option, interruptions: option },
      ...{ ledger: several, tokens: several },
    },
  });
  const { database = '', emr = '', 'control-token': control_token = '', ledger = [], tokens = [] } = values;
  const { acknowledged = '', received = '', reads = '', interruptions = '', 'database-log': log_file = '' } = values;
  const sql = connect(parseDatabaseUrl('--database', database), { max: 2 });
  const evidence = {
    sql,
    acknowledged: await readLines<Acknowledged>(acknowledged),
    received: await readLines<Received>(received),
    ledger: [...(await readLedger(emr, control_token)), ...(await readAll<LedgerEntry>(ledger))],
    token_uses: await readAll<TokenUse>(tokens),
    interruptions: await readLines<Interruption>(interruptions),
    reads: await readLines<CachedRead>(reads),
    database_log: await readLog(log_file),
  };
  const result: Checked[] = [];
  for (const { name, rows, check } of invariants) {
    const { checked, violations } = await check(evidence);
    const examples = violations.length > 0 ? `: ${violations.slice(0, shown_max).join(', ')}` : '';
    print(
      `${violations.length === 0 ? 'ok      ' : 'VIOLATED'} ${name}: ${violations.length} of ${checked}${examples}`,
    );
    result.push({ name, rows, checked, violations: violations.length });
  }
  await sql.end({ timeout_ms: 2_000 });
  process.stdout.write(`${JSON.stringify(result)}\n`);
  if (result.some(({ violations }) => violations > 0)) throw new RunError('An invariant is broken; see above.');
});

async function readAll<T>(files: readonly string[]): Promise<T[]> {
  return (await Promise.all(files.map((file) => readLines<T>(file)))).flat();
}

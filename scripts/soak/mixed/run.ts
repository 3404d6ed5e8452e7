import { createReadStream, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import { print, startSystemProgram, until } from '../../cluster/programs.ts';
import { root } from '../../serviceProcess.ts';
import { type Interruption, type Received, readLines } from '../check/evidence.ts';
import { token_pattern } from '../check/invariants.ts';
import type { Checked } from '../check/main.ts';
import { createAccounts, startRelinking } from './accounts.ts';
import { causeFaults, type Measured } from './faults.ts';
import { type Installation, startInstallation } from './installation.ts';
import { createInterruptionLog } from './interruptions.ts';
import { type Load, startLoad } from './load.ts';
import { signInOperator } from './operator.ts';
import { startReader } from './reader.ts';

/** What a mixed run found. `invariants` and `problems` say whether a promise was broken. */
export type MixedResult = {
  acknowledged: Record<string, number>;
  failed_requests: Record<string, number>;
  faults: Record<string, number>;
  relinked: number;
  run_again: number;
  rewrapped_keys: number;
  syncs: number;
  /** Renewals that a killed process did not finish, so that the account may have had to ask for a sign-in. */
  interrupted_renewals: number;
  /** Only of outages that did not overlap with another one. */
  resumed_ms: number[];
  database_back_ms: number[];
  webhook_attempts: { received: number; failed: number };
  log_bytes: number;
  invariants: Checked[];
  problems: string[];
};

const pause_ms = 400;
const failing_receivers = 0.3;
const queue_max = 250;
const drain_timeout_ms = 600_000;
/** The promises 1 and 4. */
const resumed_ms_max = 30_000;
const database_back_ms_max = 10_000;
const progress_ms = 15_000;

/** Writes of several clients while everything fails, then a drain, then the checks. */
export async function runMixed(options: { folder: string; seed: number; minutes: number }): Promise<MixedResult> {
  const { folder, seed } = options;
  const files = evidenceFiles(folder);
  for (const file of Object.values(files)) writeFileSync(file, '');
  const installation = await startInstallation(folder, seed);
  try {
    const accounts = await createAccounts(installation);
    const operator = await signInOperator(installation.sandbox);
    print(`mixed run: ${accounts.length} accounts are linked; ${options.minutes.toFixed(1)} minutes of faults follow`);
    const until_ms = Date.now() + options.minutes * 60_000;
    const queue = watchQueue(installation);
    const load = startLoad(installation.sandbox.base_url, accounts, {
      ...{ seed, file: files.acknowledged, pause_ms, isFull: queue.isFull },
    });
    const interruptions = createInterruptionLog(installation, files.interruptions);
    const relinking = startRelinking(installation, accounts, interruptions.relink);
    const reader = startReader(installation, accounts, { seed, file: files.reads });
    const progress = setInterval(() => print(`${sum(load.acknowledged)} writes acknowledged`), progress_ms);
    const measured: Measured = {
      faults: new Map(),
      resumed_ms: [],
      database_back_ms: [],
      outages: { current: 0, total: 0 },
      run_again: 0,
      rewrapped_keys: 0,
      syncs: 0,
    };
    installation.receivers.send({ failing: failing_receivers });
    await causeFaults({ installation, accounts, operator, load, interruptions, measured }, { seed, until: until_ms });
    await load.stop();
    queue.stop();
    clearInterval(progress);
    print(`the load has ended: ${sum(load.acknowledged)} writes acknowledged; waiting for the jobs and webhooks`);
    await drain(installation);
    await Promise.all([relinking.stop(), reader.stop()]);
    const invariants = await runChecker(installation, folder);
    const audit = verifyAudit(installation);
    const { log_bytes, lines } = await searchLogs(folder);
    return {
      acknowledged: Object.fromEntries(load.acknowledged),
      failed_requests: Object.fromEntries(load.failed),
      faults: Object.fromEntries(measured.faults),
      relinked: relinking.relinked(),
      run_again: measured.run_again,
      rewrapped_keys: measured.rewrapped_keys,
      syncs: measured.syncs,
      interrupted_renewals: await countInterruptedRenewals(files.interruptions),
      resumed_ms: measured.resumed_ms,
      database_back_ms: measured.database_back_ms,
      webhook_attempts: await countAttempts(installation),
      log_bytes,
      invariants,
      problems: [...audit, ...lines, ...unexpectedResponses(load), ...lateRecoveries(measured)],
    };
  } finally {
    await installation.stop();
  }
}

/** What clients, receivers and faults write down, by the checker's option. */
function evidenceFiles(folder: string) {
  const names = ['acknowledged', 'received', 'reads', 'interruptions'] as const;
  const files = names.map((name) => [name, join(folder, `${name}.ndjson`)]);
  return Object.fromEntries(files) as Record<(typeof names)[number], string>;
}

async function countInterruptedRenewals(file: string): Promise<number> {
  const lines = await readLines<Interruption>(file);
  return lines.flatMap((line) => (line.kind === 'process' ? line.renewals : [])).length;
}

/** Keeps the queue short on a slow machine: work left at the end of the run only prolongs it. */
function watchQueue({ sql }: Installation): { isFull(): boolean; stop(): void } {
  let waiting = 0;
  const timer = setInterval(async () => {
    const rows = await sql<{ n: number }[]>`SELECT count(*) AS n FROM jobs WHERE finished_at IS NULL`.catch(() => []);
    waiting = rows[0]?.n ?? waiting;
  }, 1_000);
  return { isFull: () => waiting > queue_max, stop: () => clearInterval(timer) };
}

/** Ends the faults and waits until every job has finished and every webhook was delivered. */
async function drain({ sql, receivers, control }: Installation): Promise<void> {
  receivers.send({ failing: 0 });
  await until('the EMR has no faults', () => control('DELETE', '/control/faults').then(() => true));
  await until(
    'all jobs have finished and all webhooks were delivered',
    async () => {
      // As if time passed: retries are due after up to a day.
      await sql`UPDATE lanes SET ready_at = now() WHERE ready_at > now() AND locked_until IS NULL`;
      await sql`UPDATE deliveries SET ready_at = now() WHERE ready_at > now() AND locked_until IS NULL`;
      await sql`SELECT pg_notify('chartwire_jobs', ''), pg_notify('chartwire_deliveries', '')`;
      const [row] = await sql<{ jobs: number; deliveries: number }[]>`
        SELECT (SELECT count(*) FROM jobs WHERE finished_at IS NULL) AS jobs,
               (SELECT count(*) FROM deliveries WHERE status = 'pending') AS deliveries`;
      if (row?.jobs === 0 && row.deliveries === 0) return true;
      print(`${row?.jobs} jobs and ${row?.deliveries} deliveries are left`);
      await pause(2_000);
      return false;
    },
    drain_timeout_ms,
  ).catch((error: Error) => print(error.message));
}

/** Runs the checker, a program of its own. It prints its findings; the last line is the result. */
async function runChecker(installation: Installation, folder: string): Promise<Checked[]> {
  const { database_url, database_log_file, sandbox, fhir_emrs } = installation;
  const args: [string, string][] = [
    ['database', database_url],
    ['database-log', database_log_file],
    ['emr', sandbox.larkspur.url],
    ['control-token', sandbox.larkspur.control_token],
    ...Object.entries(evidenceFiles(folder)),
    ...fhir_emrs.flatMap(({ ledger_file, token_file }): [string, string][] => [
      ['ledger', ledger_file],
      ['tokens', token_file],
    ]),
  ];
  const options = args.map(([name, value]) => `--${name}=${value}`);
  const program = join(root, 'dist/scripts/soak/check/main.js');
  const checker = startSystemProgram([process.execPath, program, ...options], { log_file: join(folder, 'check.log') });
  await until('the checker has ended', () => !checker.running(), 300_000);
  const output = checker.output();
  process.stdout.write(output.slice(0, output.lastIndexOf('\n[') + 1));
  return JSON.parse(/^\[.*\]$/m.exec(output)?.[0] ?? '[]');
}

/** What the receivers noted: how many requests they got, and how many of those they failed. */
async function countAttempts({ receivers }: Installation): Promise<MixedResult['webhook_attempts']> {
  const lines = await readLines<Received>(receivers.file);
  return { received: lines.length, failed: lines.filter(({ status }) => status === null || status >= 400).length };
}

function verifyAudit({ command }: Installation): string[] {
  try {
    print(command(['audit', 'verify']).trim());
    return [];
  } catch (error) {
    return [`the audit log could not be verified: ${(error as Error).message}`];
  }
}

/** Searches the logs of the service for the texts of the writes, which stand for health data. */
async function searchLogs(folder: string): Promise<{ log_bytes: number; lines: string[] }> {
  const pattern = new RegExp(token_pattern);
  const files = readdirSync(folder).filter((name) => name.endsWith('.log') && !/^(emr|check)/.test(name));
  const lines: string[] = [];
  for (const name of files) {
    for await (const line of createInterface(createReadStream(join(folder, name)))) {
      if (pattern.test(line)) lines.push(`${name} contains data of a patient`);
    }
  }
  return { log_bytes: files.reduce((bytes, name) => bytes + statSync(join(folder, name)).size, 0), lines };
}

/** 403 while an account is expired, 429 and 503 are documented; the load sends nothing that is refused otherwise. */
function unexpectedResponses({ failed }: Load): string[] {
  return [...failed]
    .filter(([kind]) => /^\d/.test(kind) && !/^(403|409|429|503)/.test(kind))
    .map(([kind, times]) => `${times} responses were ${kind}`);
}

/** Times of single outages only: those that overlap may take longer. */
function lateRecoveries({ resumed_ms, database_back_ms }: Measured): string[] {
  const late = (what: string, times_ms: readonly number[], limit_ms: number) =>
    times_ms.filter((ms) => ms > limit_ms).map((ms) => `${what} after ${ms} ms, not within ${limit_ms}`);
  return [
    ...late('the work of a worker was resumed', resumed_ms, resumed_ms_max),
    ...late('writes were accepted again', database_back_ms, database_back_ms_max),
  ];
}

function sum(counts: ReadonlyMap<string, number>): number {
  return [...counts.values()].reduce((total, count) => total + count, 0);
}

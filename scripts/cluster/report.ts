import { describeMachine } from '../machine.ts';
import type { Findings } from './invariants.ts';
import { postgres_programs, run } from './programs.ts';
import type { RollingRestart } from './rolling.ts';

/** One failure of the primary under load. */
export type Failure = {
  fault: string;
  /** The longest time without an acknowledged write. */
  downtime_ms: number;
  /** Until the first job finished. */
  jobs_back_ms: number;
  /** Whether another node became the primary. */
  failed_over: boolean;
};

export function reportPage(result: {
  failures: readonly Failure[];
  rolling: RollingRestart;
  findings: Findings;
  failed_requests: ReadonlyMap<string, number>;
}): string {
  const { findings, rolling } = result;
  const several = byFault(result.failures).size < result.failures.length;
  const repeated = [...result.failed_requests].map(([kind, count]) => `${count} × ${kind}`).join(', ') || 'none';
  return `# Cluster run

Written by \`npm run cluster\`. The setup and the settings are described in [High availability](../guides/high-availability.md).

| | |
|---|---|
| Date | ${new Date().toISOString().slice(0, 10)} |
| Machine | ${describeMachine()}, shared by all nodes |
| Versions | ${versions().join('; ')} |
| Nodes | 3, each with etcd, Patroni and PostgreSQL in a network namespace; synchronous replication |
| Service | 3 processes with the API, 3 with a worker |

## Failures of the primary

| Failure | Times | New primary | Writes back after | Jobs back after |
|---|---|---|---|---|
${[...byFault(result.failures)].map(faultRow).join('\n')}

${several ? 'Times are the median and the longest. ' : ''}The first time is the longest without an acknowledged write. The second is until the first job finished; what ended within a second after the failure counts as in progress before it. The limit for the first is 30 s.

## Rolling restart

${rolling.restarted} processes restarted one after the other behind HAProxy, under load: ${rolling.acknowledged.length} writes acknowledged, ${rolling.failed_requests} requests failed.

## Afterwards

| Check | Count |
|---|---|
| Acknowledged writes | ${findings.acknowledged} |
| Lost: not in the database, or not in the EMR | ${findings.lost} |
| Applied twice in the EMR, by its ledger | ${findings.applied_twice} |
| Accepted twice under one key | ${findings.accepted_twice} |
| Jobs without exactly one terminal event | ${findings.events_wrong} |
| Jobs that did not succeed | ${findings.not_succeeded} |

Requests that failed during the failures, and that the client repeated with their \`Idempotency-Key\`: ${repeated}.
`;
}

/** What a program that starts the run looks for in its output. */
export const summary_start = 'result: ';

/** The run in one line. */
export function summarize(failures: readonly Failure[], { acknowledged }: Findings): string {
  const failed_over = failures.filter((failure) => failure.failed_over).length;
  const longest = seconds(Math.max(...failures.map(({ downtime_ms }) => downtime_ms)));
  const in_place = failures.length - failed_over;
  return `${failed_over} failovers, ${in_place} restarts in place, ${acknowledged} writes acknowledged; writes back within ${longest}: 0 violations`;
}

function byFault(failures: readonly Failure[]): Map<string, Failure[]> {
  const groups = new Map<string, Failure[]>();
  for (const failure of failures) groups.set(failure.fault, [...(groups.get(failure.fault) ?? []), failure]);
  return groups;
}

function faultRow([fault, failures]: [string, Failure[]]): string {
  const failed_over = failures.filter((failure) => failure.failed_over).length;
  const in_place = failed_over === 0 ? 'no, restarted in place' : `${failed_over} of ${failures.length}`;
  const primary = failed_over === failures.length ? 'yes' : in_place;
  const times = (key: 'downtime_ms' | 'jobs_back_ms') => medianAndLongest(failures.map((failure) => failure[key]));
  return `| ${[fault, failures.length, primary, times('downtime_ms'), times('jobs_back_ms')].join(' | ')} |`;
}

function medianAndLongest(times_ms: number[]): string {
  const sorted = times_ms.toSorted((a, b) => a - b);
  const longest = seconds(sorted.at(-1) ?? 0);
  return sorted.length === 1 ? longest : `${seconds(sorted[Math.floor(sorted.length / 2)] ?? 0)}, ${longest}`;
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}

function versions(): string[] {
  const commands = [
    [`${postgres_programs}/postgres`, '--version'],
    ['patroni', '--version'],
    ['etcd', '--version'],
    ['/usr/sbin/haproxy', '-v'],
  ];
  const printed = commands.map((command) =>
    (run(command).split('\n')[0] ?? '').replaceAll(/ - https.*| \(.*?\)/g, '').trim(),
  );
  return [...printed, `Node ${process.versions.node}`];
}

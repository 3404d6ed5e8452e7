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

| Failure | New primary | Writes back after | Jobs back after |
|---|---|---|---|
${result.failures.map(failureRow).join('\n')}

The first time is the longest without an acknowledged write. The second is until the first job finished; what ended within a second after the failure counts as in progress before it. The limit for the first is 30 s.

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

function failureRow({ fault, failed_over, downtime_ms, jobs_back_ms }: Failure): string {
  const cells = [fault, failed_over ? 'yes' : 'no, restarted in place', seconds(downtime_ms), seconds(jobs_back_ms)];
  return `| ${cells.join(' | ')} |`;
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

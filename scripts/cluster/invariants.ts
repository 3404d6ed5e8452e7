import type { Sql } from '../../sql/connect.ts';
import type { Sandbox } from '../../src/surfaces/sandbox/seedSandbox.ts';
import type { Acknowledged } from './load.ts';
import { print, RunError, until } from './programs.ts';

/** What was found in the database and in Larkspur's ledger after the load. All but `acknowledged` must be 0. */
export type Findings = {
  acknowledged: number;
  /** Acknowledged, but not in the database, or not applied in the EMR. */
  lost: number;
  /** Writes that the EMR applied more than once. */
  applied_twice: number;
  /** Writes for which there are two jobs, although they were repeated with one key. */
  accepted_twice: number;
  /** Jobs without an event, or with more than one. */
  events_wrong: number;
  /** Jobs that ended otherwise than succeeded. */
  not_succeeded: number;
};

type JobRow = { job_id: string; reason: string; operation_id: string; state: string; events: number };

const drain_timeout_ms = 180_000;

/**
 * Waits until every job has finished, then compares what was acknowledged with the database and Larkspur's ledger. A
 * superuser reads the database, because policies apply to the owner as well.
 */
export async function checkInvariants(
  superuser: Sql,
  sandbox: Sandbox,
  acknowledged: readonly Acknowledged[],
): Promise<Findings> {
  await until('all jobs finished', () => allFinished(superuser), drain_timeout_ms);
  const rows = await superuser<JobRow[]>`
    SELECT jobs.id::text AS job_id, operations.input ->> 'reason' AS reason, jobs.state,
           replace(operations.id::text, '-', '') AS operation_id,
           (SELECT count(*)::int FROM events WHERE events.job_id = jobs.id) AS events
      FROM jobs JOIN operations ON operations.id = jobs.operation_id
     WHERE jobs.type = 'telephone_encounter.create'`;
  const markers = await appliedMarkers(sandbox);
  const applied = new Set(markers.map((marker) => marker.split('-')[0]));
  const jobs = new Map(rows.map((row) => [row.job_id, row]));
  const lost = acknowledged.filter(({ job_id, reason }) => {
    const job = jobs.get(`${job_id}`);
    return job?.reason !== reason || !applied.has(job.operation_id);
  });
  return {
    acknowledged: acknowledged.length,
    lost: lost.length,
    applied_twice: repetitions(markers),
    accepted_twice: repetitions(rows.map((row) => row.reason)),
    events_wrong: rows.filter((row) => row.events !== 1).length,
    not_succeeded: rows.filter((row) => row.state !== 'succeeded').length,
  };
}

async function allFinished(superuser: Sql): Promise<boolean> {
  const [row] = await superuser<{ open: boolean }[]>`
    SELECT EXISTS (SELECT FROM jobs WHERE state IN ('queued', 'running')) AS open`;
  return row?.open === false;
}

/** One per applied write: `<operation id>-<step>`. */
async function appliedMarkers({ larkspur }: Sandbox): Promise<string[]> {
  const response = await fetch(`${larkspur.url}/control/ledger`, {
    headers: { 'control-token': larkspur.control_token },
  });
  const { entries } = (await response.json()) as { entries: { marker: string; applied: boolean }[] };
  return entries.filter(({ applied }) => applied).map(({ marker }) => marker);
}

function repetitions(values: readonly string[]): number {
  return values.length - new Set(values).size;
}

/** Prints the findings and throws if any of them breaks a promise. */
export function requireClean(findings: Findings): void {
  const { acknowledged, ...violations } = findings;
  print(`${acknowledged} writes acknowledged; ${JSON.stringify(violations)}`);
  if (Object.values(violations).some((count) => count > 0)) throw new RunError('The run broke a promise; see above.');
}

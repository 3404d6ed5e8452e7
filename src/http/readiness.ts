import type { Context } from '../product/context.ts';
import { isMigrated } from '../platform/db/migrate.ts';
import { gone_after_s } from '../platform/db/processes.ts';

/** The state of this process, apart from its database. */
export type Health = {
  started: () => boolean;
  /** About to stop. */
  draining: () => boolean;
  /** Whether its own workers run. Undefined if it has none. */
  workers: () => boolean | undefined;
  /** Whether its last heartbeat could be stored. */
  writable: () => boolean;
};

/** What needs attention although requests are served. Codes only: anyone may read them. */
export const readiness_warnings = ['no_workers', 'emr_unreachable', 'endpoint_failing'] as const;
export type ReadinessWarning = (typeof readiness_warnings)[number];

/**
 * `degraded`: serves requests, but something else does not work. An API process without any worker stays in its load
 * balancer: it stores writes, which run once a worker is back.
 */
export type Readiness = {
  status: 'ready' | 'degraded' | 'not ready';
  checks: Record<'started' | 'accepting' | 'database' | 'migrations' | 'writable' | 'workers', boolean>;
  warnings: ReadinessWarning[];
};

export async function readReadiness(ctx: Context, health: Health): Promise<Readiness> {
  const { in_database, ...database } = await readDatabase(ctx);
  const own_workers = health.workers();
  const required = {
    started: health.started(),
    accepting: !health.draining(),
    ...database,
    writable: database.database && health.writable(),
  };
  const workers = own_workers ?? in_database.workers;
  const warnings = readiness_warnings.filter((warning) => (warning === 'no_workers' ? !workers : in_database[warning]));
  const ready = Object.values(required).every(Boolean) && own_workers !== false;
  const status = !ready ? 'not ready' : warnings.length > 0 ? 'degraded' : 'ready';
  return { status, checks: { ...required, workers }, warnings };
}

type InDatabase = { workers: boolean; emr_unreachable: boolean; endpoint_failing: boolean };

/** Shorter failures are retried without anyone having to know. */
const tolerated_s = 30;

/** On connections of its own: requests and sign-ins that use up the others must not make a process look dead. */
async function readDatabase({ db }: Pick<Context, 'db'>): Promise<{
  database: boolean;
  migrations: boolean;
  in_database: InDatabase;
}> {
  const unknown = { workers: false, emr_unreachable: false, endpoint_failing: false };
  try {
    if (!(await isMigrated(db.probes))) return { database: true, migrations: false, in_database: unknown };
    const [in_database = unknown] = await db.probes<InDatabase[]>`
      SELECT EXISTS (SELECT FROM processes WHERE working AND seen_at > now() - make_interval(secs => ${gone_after_s}))
               AS workers,
             EXISTS (SELECT FROM emr_outages WHERE last_failure_at >= since + make_interval(secs => ${tolerated_s}))
               AS emr_unreachable,
             EXISTS (SELECT FROM webhook_endpoints WHERE status = 'enabled'
                AND failing_since <= now() - make_interval(secs => ${tolerated_s})) AS endpoint_failing`;
    return { database: true, migrations: true, in_database };
  } catch {
    return { database: false, migrations: false, in_database: unknown };
  }
}

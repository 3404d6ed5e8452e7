import type { Database, Fragment, Sql, Tx } from '../db/database.ts';

/** The jobs that ended within a stretch of time. `taken`: how many took about `taken_base` to which power of seconds. */
export type Period = {
  at: Date;
  succeeded: number;
  partial: number;
  failed: number;
  needs_review: number;
  taken: [power: number, jobs: number][];
};

/** Neighboring durations differ by a tenth, so that what is read from them is within a twentieth. */
export const taken_base = 1.1;
export const period_s = 1800;
/** A job's end is timed a moment before it is committed; no transaction takes so long. */
const settled_s = 120;
const kept_days = 7;

/** Straight from the jobs: for a span that is short, or not over yet. */
export function sumUpSince(db: Database, client_id: string, since: Date, width_s: number): Promise<Period[]> {
  return db.search<Period>(client_id, (sql) => sumUp(sql, sql`${since}::timestamptz`, sql`now()`, width_s));
}

/**
 * The half hours of the last week. Those that are over are kept once they were summed up (40 to 200 ms where a
 * million jobs of that week took 4.5 s), the rest is read from the jobs.
 */
export async function readPeriods(db: Database, client_id: string): Promise<Period[]> {
  return db.tenant(client_id, async (tx) => {
    const rest = await keepSettled(tx, client_id);
    const kept = await tx<Period[]>`
      SELECT at, succeeded, partial, failed, needs_review, taken FROM job_periods ORDER BY at`;
    const open = await tx<Period[]>`${sumUp(tx, tx`${rest}::timestamptz`, tx`now()`, period_s)}`;
    return [...kept, ...open];
  });
}

/** Sums up what is over and not kept yet, drops what is too old, and gives where the rest begins. */
async function keepSettled(tx: Tx, client_id: string): Promise<Date> {
  const width = tx`make_interval(secs => ${period_s})`;
  const [span] = await tx<{ since: Date; until: Date }[]>`
    SELECT greatest((SELECT max(at) + ${width} FROM job_periods),
                    date_bin(${width}, now() - make_interval(days => ${kept_days}), 'epoch')) AS since,
           date_bin(${width}, now() - make_interval(secs => ${settled_s}), 'epoch') AS until`;
  if (!span) throw new Error('A query without a table gave no row.');
  if (span.since < span.until) {
    // Of two who look at once the second has nothing to add.
    await tx`INSERT INTO job_periods (client_id, at, succeeded, partial, failed, needs_review, taken)
      SELECT ${client_id}, period.*
        FROM (${sumUp(tx, tx`${span.since}::timestamptz`, tx`${span.until}::timestamptz`, period_s)}) AS period
      ON CONFLICT DO NOTHING`;
    await tx`DELETE FROM job_periods WHERE at < now() - make_interval(days => ${kept_days}, secs => ${period_s})`;
  }
  return span.until;
}

/** One row for every stretch, those in which nothing ended too. */
function sumUp(sql: Sql | Tx, since: Fragment, until: Fragment, width_s: number): Fragment {
  const width = sql`make_interval(secs => ${width_s})`;
  return sql`
    SELECT at, coalesce(sum(n) FILTER (WHERE state = 'succeeded'), 0)::int AS succeeded,
           coalesce(sum(n) FILTER (WHERE state = 'partial'), 0)::int AS partial,
           coalesce(sum(n) FILTER (WHERE state = 'failed'), 0)::int AS failed,
           coalesce(sum(n) FILTER (WHERE state = 'needs_review'), 0)::int AS needs_review,
           coalesce(json_agg(json_build_array(power, n)) FILTER (WHERE n IS NOT NULL), '[]') AS taken
      FROM generate_series(date_bin(${width}, ${since}, 'epoch'), ${until} - interval '1 microsecond', ${width}) AS at
      LEFT JOIN (
        SELECT date_bin(${width}, finished_at, 'epoch') AS at, state, count(*) AS n,
               round(ln(greatest(extract(epoch FROM finished_at - created_at)::float8, 0.001)) / ln(${taken_base}::float8))::int
                 AS power
          FROM jobs WHERE finished_at >= ${since} AND finished_at < ${until} GROUP BY 1, 2, 4
      ) AS ended USING (at)
     GROUP BY at ORDER BY at`;
}

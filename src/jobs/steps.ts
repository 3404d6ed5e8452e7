import type { EmrWrite } from '../connectors/connector.ts';
import { EmrFailure } from '../connectors/connector.ts';
import type { Database } from '../db/database.ts';
import type { Lease } from '../db/lease.ts';
import { holdLane, type Job } from './jobs.ts';

/** A write may have reached the EMR, and this EMR cannot be asked: only a person can tell. */
export class NeedsReview extends Error {
  constructor(step: string) {
    super(`The EMR did not confirm the step '${step.replaceAll('_', ' ')}' and cannot be asked whether it was done.`);
    this.name = 'NeedsReview';
  }
}

export type Steps = {
  /**
   * Performs one write to the EMR once, whatever happens in between: its outcome is stored and given again on later
   * tries; an intent without an outcome is first asked for in the EMR by its marker. `told` is stored with the outcome,
   * for whoever words the end of the job from the outcomes alone; `kept` with the intent, before anything is sent.
   */
  write<Input, Output extends Record<string, unknown>>(
    name: string,
    write: EmrWrite<Input, Output>,
    input: Input,
    more?: { told?: Record<string, unknown>; kept?: Record<string, unknown> },
  ): Promise<Output>;
  /** What was kept with the step's intent, while that is open or done: what the EMR was, or may have been, sent. */
  kept(name: string): Record<string, unknown> | undefined;
  /** Writes a line into the job's timeline. */
  note(name: string, detail?: Record<string, unknown>): Promise<void>;
  /** The outcomes so far, by step. */
  outcomes: ReadonlyMap<string, Record<string, unknown>>;
  /** Whether some write was sent of which we do not know whether it arrived. */
  uncertain(): boolean;
};

/** `detail` of an outcome that changed nothing in the EMR: the step is as good as never begun. */
const not_applied = 'not_applied';

type Detail = Record<string, unknown> | null;
type StepRow = { name: string; kind: 'note' | 'intent' | 'outcome'; detail: Detail; kept: Detail; cleared: boolean };

/**
 * The steps of a job with what earlier tries left behind, also those of earlier jobs of the same operation: what one
 * of them may have written under the operation's marker is not written again. Where a person has looked and found it
 * not done, an EMR that can be asked is asked all the same, and one that cannot is sent it once more.
 */
export async function loadSteps(db: Database, lease: Lease, job: Job): Promise<Steps> {
  const rows = await db.read<StepRow>(
    job.client_id,
    (sql) => sql`
      SELECT step.name, step.kind, step.detail, step.kept, coalesce(run.review_outcome = 'not_done', false) AS cleared
        FROM jobs AS run JOIN job_steps AS step ON step.job_id = run.id
       WHERE run.operation_id = ${job.operation_id} AND step.kind <> 'note' ORDER BY step.n`,
  );
  const open = new Set<string>();
  /** Those of the open ones that a person has found not done. */
  const cleared = new Set<string>();
  /** Those of the open ones that the EMR said it took. */
  const taken = new Set<string>();
  const outcomes = new Map<string, Record<string, unknown>>();
  const kept_with = new Map<string, Record<string, unknown>>();
  const closeUnapplied = (name: string) => {
    open.delete(name);
    kept_with.delete(name);
  };
  for (const row of rows) {
    if (row.kind === 'intent') {
      open.add(row.name);
      if (row.cleared) cleared.add(row.name);
      else cleared.delete(row.name);
      if (row.detail !== null && 'taken' in row.detail) taken.add(row.name);
      else taken.delete(row.name);
      if (row.kept !== null) kept_with.set(row.name, row.kept);
    } else if (row.detail === null || not_applied in row.detail) closeUnapplied(row.name);
    else {
      open.delete(row.name);
      outcomes.set(row.name, row.detail);
    }
  }

  const record = (name: string, kind: StepRow['kind'], detail: Detail, kept: Detail = null) =>
    db.tenant(job.client_id, async (tx) => {
      await holdLane(tx, lease);
      await tx`INSERT INTO job_steps (job_id, client_id, attempt, name, kind, detail, kept)
        VALUES (${job.id}, ${job.client_id}, ${job.attempts}, ${name}, ${kind},
          ${detail === null ? null : JSON.stringify(detail)}::text::json,
          ${kept === null ? null : JSON.stringify(kept)}::text::json)`;
    });
  const noteTaken = async (name: string, marker: string) => {
    taken.add(name);
    await db.tenant(job.client_id, async (tx) => {
      await holdLane(tx, lease);
      await tx`UPDATE job_steps SET detail = ${JSON.stringify({ marker, taken: true })}::text::json
        WHERE job_id = ${job.id} AND attempt = ${job.attempts} AND name = ${name} AND kind = 'intent'`;
    });
  };
  const keep = async <Output extends Record<string, unknown>>(name: string, outcome: Output): Promise<Output> => {
    await record(name, 'outcome', outcome);
    open.delete(name);
    outcomes.set(name, outcome);
    return outcome;
  };

  return {
    outcomes,
    kept: (name) => kept_with.get(name),
    uncertain: () => [...open].some((name) => !cleared.has(name)),
    note: (name, detail) => record(name, 'note', detail ?? null),
    write: async <Input, Output extends Record<string, unknown>>(
      name: string,
      write: EmrWrite<Input, Output>,
      input: Input,
      { told = {}, kept }: { told?: Record<string, unknown>; kept?: Record<string, unknown> } = {},
    ) => {
      const marker = `${job.operation_id}-${name}`;
      const done = outcomes.get(name);
      // What was stored under this name is what this very write returned earlier.
      if (done) return done as Output;
      if (open.has(name)) {
        if (!write.find && !cleared.has(name)) throw new NeedsReview(name);
        const found = await write.find?.(marker, input);
        if (found) return keep(name, { ...found, ...told });
        if (taken.has(name) && !cleared.has(name)) throw unshown();
      }
      await record(name, 'intent', { marker }, kept ?? null);
      open.add(name);
      cleared.delete(name);
      taken.delete(name);
      if (kept) kept_with.set(name, kept);
      try {
        return await keep(name, { ...(await write.send(input, marker)), ...told });
      } catch (error) {
        if (!(error instanceof EmrFailure)) throw error;
        if (error.kind !== 'unknown_outcome') {
          await record(name, 'outcome', { [not_applied]: error.kind });
          closeUnapplied(name);
        } else if (error.accepted) await noteTaken(name, marker);
        throw error;
      }
    },
  };
}

/** It may come to light yet, and is asked for as long as work is tried again; then a person has to look. */
function unshown(): EmrFailure {
  return new EmrFailure('unknown_outcome', 'The EMR took the record and does not show it.');
}

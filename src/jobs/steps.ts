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
   * tries; an intent without an outcome is first asked for in the EMR by its marker. `told` is kept with the outcome,
   * for whoever words the end of the job from the outcomes alone.
   */
  write<Input, Output extends Record<string, unknown>>(
    name: string,
    write: EmrWrite<Input, Output>,
    input: Input,
    told?: Record<string, unknown>,
  ): Promise<Output>;
  /** Writes a line into the job's timeline. */
  note(name: string, detail?: Record<string, unknown>): Promise<void>;
  /** The outcomes so far, by step. */
  outcomes: ReadonlyMap<string, Record<string, unknown>>;
  /** Whether some write was sent of which we do not know whether it arrived. */
  uncertain(): boolean;
};

/** `detail` of an outcome that changed nothing in the EMR: the step is as good as never begun. */
const not_applied = 'not_applied';

type StepRow = { name: string; kind: 'note' | 'intent' | 'outcome'; detail: Record<string, unknown> | null };

/** The steps of a job with what earlier tries left behind. */
export async function loadSteps(db: Database, lease: Lease, job: Job): Promise<Steps> {
  const rows = await db.read<StepRow>(
    job.client_id,
    (sql) => sql`SELECT name, kind, detail FROM job_steps WHERE job_id = ${job.id} AND kind <> 'note' ORDER BY n`,
  );
  const open = new Set<string>();
  const outcomes = new Map<string, Record<string, unknown>>();
  for (const row of rows) {
    if (row.kind === 'intent') open.add(row.name);
    else {
      open.delete(row.name);
      if (row.detail !== null && !(not_applied in row.detail)) outcomes.set(row.name, row.detail);
    }
  }

  const record = (name: string, kind: StepRow['kind'], detail: StepRow['detail']) =>
    db.tenant(job.client_id, async (tx) => {
      await holdLane(tx, lease);
      await tx`INSERT INTO job_steps (job_id, client_id, attempt, name, kind, detail)
        VALUES (${job.id}, ${job.client_id}, ${job.attempts}, ${name}, ${kind},
          ${detail === null ? null : JSON.stringify(detail)}::text::json)`;
    });
  const keep = async <Output extends Record<string, unknown>>(name: string, outcome: Output): Promise<Output> => {
    await record(name, 'outcome', outcome);
    open.delete(name);
    outcomes.set(name, outcome);
    return outcome;
  };

  return {
    outcomes,
    uncertain: () => open.size > 0,
    note: (name, detail) => record(name, 'note', detail ?? null),
    write: async <Input, Output extends Record<string, unknown>>(
      name: string,
      write: EmrWrite<Input, Output>,
      input: Input,
      told: Record<string, unknown> = {},
    ) => {
      const marker = `${job.operation_id}-${name}`;
      const done = outcomes.get(name);
      // What was stored under this name is what this very write returned earlier.
      if (done) return done as Output;
      if (open.has(name)) {
        if (!write.find) throw new NeedsReview(name);
        const found = await write.find(marker, input);
        if (found) return keep(name, { ...found, ...told });
      }
      await record(name, 'intent', { marker });
      open.add(name);
      try {
        return await keep(name, { ...(await write.send(input, marker)), ...told });
      } catch (error) {
        if (error instanceof EmrFailure && error.kind !== 'unknown_outcome') {
          await record(name, 'outcome', { [not_applied]: error.kind });
          open.delete(name);
        }
        throw error;
      }
    },
  };
}

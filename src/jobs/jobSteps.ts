import type { EmrWrite } from '../connectors/connector.ts';
import { EmrFailure } from '../connectors/connector.ts';
import type { Database, Tx } from '../db/database.ts';
import type { Lease } from '../db/lease.ts';
import type { Job } from './jobs.ts';
import { checkLease } from './lanes.ts';
import { findRestored, type RestoredOperation } from './restores.ts';

/** A write may have reached the EMR, and this EMR cannot be searched for it: a person has to check. */
export class NeedsReview extends Error {
  constructor(step: string) {
    super(`The EMR did not confirm the step '${step.replaceAll('_', ' ')}'. Check in the EMR whether it was saved.`);
    this.name = 'NeedsReview';
  }
}

type Data = Record<string, unknown>;

export type Steps = {
  /**
   * Sends one write to the EMR exactly once across all attempts. A stored outcome is returned without sending. An
   * intent without an outcome is first looked up in the EMR by its marker. `with_intent` is stored before the write is
   * sent; `with_outcome` becomes part of the outcome, for handlers that build the event from the outcomes alone.
   */
  write<Input, Output extends Data>(
    name: string,
    write: EmrWrite<Input, Output>,
    input: Input,
    store?: { with_intent?: Data; with_outcome?: Data },
  ): Promise<Output>;
  /** The data stored with a step's intent: what was, or may have been, sent. Undefined if the EMR rejected the step. */
  intentData(name: string): Data | undefined;
  /** Adds the start of this attempt to the job's timeline, with its span. */
  start(traceparent: string | null): Promise<void>;
  /** Adds an entry to the job's timeline. */
  note(name: string, detail?: Data): Promise<void>;
  /** The outcomes so far, by step name. */
  outcomes: ReadonlyMap<string, Data>;
  /** Whether the outcome of a write is unknown, or may have become so by a restore from a backup. */
  hasUnknownOutcome(): boolean;
};

/** Key in the detail of an outcome that changed nothing in the EMR: the step may be sent as if for the first time. */
const not_applied = 'not_applied';

/** Key in the detail of an intent that stands for what a restore from a backup may have lost. */
const lost_by_restore = 'lost_by_restore';

type StepKind = 'note' | 'intent' | 'outcome';
type StepRow = { n: number; name: string; kind: StepKind; detail: Data | null; data: Data | null; cleared: boolean };
type NewStep = { name: string; kind: StepKind; detail?: Data | undefined; data?: Data | undefined };

/**
 * Loads the steps of all jobs of the operation: what an earlier job may have written under the operation's marker must
 * not be written again. If a reviewer found a step not done, an EMR that can be searched is still searched first;
 * otherwise the write is sent once more.
 *
 * After a restore from a backup, what an operation did between the backup and the restore is not known. A step without an
 * outcome then counts as sent: an intent is stored for it, and everything else is the same as after a lost response.
 */
export async function loadSteps(db: Database, lease: Lease, job: Job): Promise<Steps> {
  const [rows, operation] = await Promise.all([readSteps(db, job), findRestored(db, job)]);
  const { open, cleared, accepted, outcomes, intent_data } = readHistory(rows);
  const restored = operation && sinceRestore(rows, operation);

  /** Commits only while this worker holds the lane. */
  const commit = (work: (tx: Tx) => Promise<void>) =>
    db.tenant(job.client_id, async (tx) => {
      await checkLease(tx, lease);
      await work(tx);
    });
  const record = (step: NewStep) => commit((tx) => insertStep(tx, job, step));
  const storeOutcome = async <Output extends Data>(name: string, outcome: Output): Promise<Output> => {
    await record({ name, kind: 'outcome', detail: outcome });
    open.delete(name);
    outcomes.set(name, outcome);
    return outcome;
  };

  return {
    outcomes,
    intentData: (name) => intent_data.get(name),
    hasUnknownOutcome: () => [...open].some((name) => !cleared.has(name)) || restored?.unproven === true,
    start: (traceparent) =>
      record({ name: 'started', kind: 'note', ...(traceparent !== null && { data: { traceparent } }) }),
    note: (name, detail) => record({ name, kind: 'note', detail }),
    write: async <Input, Output extends Data>(
      name: string,
      write: EmrWrite<Input, Output>,
      input: Input,
      { with_intent, with_outcome = {} }: { with_intent?: Data; with_outcome?: Data } = {},
    ) => {
      const marker = `${job.operation_id}-${name}`;
      const done = outcomes.get(name);
      // The outcome stored under this name is what this same write returned.
      if (done) return done as Output;
      if (restored && !restored.names.has(name)) {
        await record({ name, kind: 'intent', detail: { marker, [lost_by_restore]: true } });
        restored.names.add(name);
        open.add(name);
        if (restored.reviewed) cleared.add(name);
      }
      if (open.has(name)) {
        if (!write.find && !cleared.has(name)) throw new NeedsReview(name);
        const found = await write.find?.(marker, input);
        if (found) return storeOutcome(name, { ...found, ...with_outcome });
        if (accepted.has(name) && !cleared.has(name)) throw acceptedButMissing();
      }
      await record({ name, kind: 'intent', detail: { marker }, data: with_intent });
      // Steps run in order: as this one was not in the EMR, neither are later ones.
      if (restored) restored.unproven = false;
      open.add(name);
      cleared.delete(name);
      accepted.delete(name);
      if (with_intent) intent_data.set(name, with_intent);
      try {
        return await storeOutcome(name, { ...(await write.send(input, marker)), ...with_outcome });
      } catch (error) {
        if (!(error instanceof EmrFailure)) throw error;
        if (error.kind !== 'unknown_outcome') {
          await record({ name, kind: 'outcome', detail: { [not_applied]: error.code } });
          open.delete(name);
          intent_data.delete(name);
        } else if (error.accepted) {
          accepted.add(name);
          await commit((tx) => markAccepted(tx, job, name, marker));
        }
        throw error;
      }
    },
  };
}

/** Inserts an entry in the job's timeline. The caller checks the lease in the same transaction. */
export async function insertStep(tx: Tx, job: Job, { name, kind, detail, data }: NewStep): Promise<void> {
  await tx`INSERT INTO job_steps (job_id, client_id, attempt, name, kind, detail, data)
    VALUES (${job.id}, ${job.client_id}, ${job.attempts}, ${name}, ${kind},
      ${detail === undefined ? null : JSON.stringify(detail)}::text::json,
      ${data === undefined ? null : JSON.stringify(data)}::text::json)`;
}

/** Deletes the timelines of these operations' jobs. */
export async function deleteSteps(tx: Tx, operation_ids: readonly string[]): Promise<void> {
  await tx`DELETE FROM job_steps WHERE job_id IN (
    SELECT id FROM jobs WHERE operation_id = ANY (${[...operation_ids]}::uuid[]))`;
}

/** Records on the intent that the EMR accepted the write although its outcome is unknown. */
async function markAccepted(tx: Tx, job: Job, name: string, marker: string): Promise<void> {
  await tx`UPDATE job_steps SET detail = ${JSON.stringify({ marker, accepted: true })}::text::json
    WHERE job_id = ${job.id} AND attempt = ${job.attempts} AND name = ${name} AND kind = 'intent'`;
}

function readSteps(db: Database, job: Job): Promise<StepRow[]> {
  return db.read<StepRow>(
    job.client_id,
    (sql) => sql`
      SELECT step.n, step.name, step.kind, step.detail, step.data, coalesce(run.review_outcome = 'not_done', false) AS cleared
        FROM jobs AS run JOIN job_steps AS step ON step.job_id = run.id
       WHERE run.operation_id = ${job.operation_id} AND step.kind <> 'note' ORDER BY step.n`,
  );
}

function readHistory(rows: StepRow[]) {
  /** Steps with an intent and no outcome. */
  const open = new Set<string>();
  /** Open steps that a reviewer found not done. */
  const cleared = new Set<string>();
  /** Open steps that the EMR reported as accepted. */
  const accepted = new Set<string>();
  const outcomes = new Map<string, Data>();
  const intent_data = new Map<string, Data>();
  for (const { name, kind, detail, data, cleared: found_not_done } of rows) {
    if (kind === 'intent') {
      open.add(name);
      if (found_not_done) cleared.add(name);
      else cleared.delete(name);
      if (detail !== null && 'accepted' in detail) accepted.add(name);
      else accepted.delete(name);
      if (data !== null) intent_data.set(name, data);
    } else if (detail === null || not_applied in detail) {
      open.delete(name);
      intent_data.delete(name);
    } else {
      open.delete(name);
      outcomes.set(name, detail);
    }
  }
  return { open, cleared, accepted, outcomes, intent_data };
}

/**
 * The steps that were looked up or sent since the restore, whose rows can be trusted. `unproven`: the operation may have
 * been carried out after the backup, because no step of it was found missing in the EMR.
 */
function sinceRestore(rows: readonly StepRow[], { last_step, reviewed }: RestoredOperation) {
  const later = rows.filter(({ n }) => n > last_step);
  const sent = later.some(({ kind, detail }) => kind === 'intent' && !(lost_by_restore in (detail ?? {})));
  return { names: new Set(later.map(({ name }) => name)), unproven: !sent && !reviewed, reviewed };
}

/** The record may still appear, so the lookup is retried until the retry schedule ends; then a person has to check. */
function acceptedButMissing(): EmrFailure {
  return new EmrFailure('unknown_outcome', 'The EMR accepted the record but does not return it.');
}

import type { Static, TObject } from 'typebox';
import { EmrFailure } from '../../emr/emrFailure.ts';
import type { SavedField } from '../../emr/operations/operation.ts';
import type { FieldOperation, OperationName, Operations } from '../../emr/operations/operations.ts';
import type { EventData, EventOf } from '../../model/events.ts';
import type { Kind, SourceOf } from '../../model/records/kinds.ts';
import type { EmbeddedFiles } from '../../model/requests/documents.ts';
import type { Database, Tx } from '../../platform/db/database.ts';
import type { Account } from '../accounts/accounts.ts';
import { type ConnectedAccount, connectAccount } from '../accounts/connectAccount.ts';
import type { Context } from '../context.ts';
import { scanUploads } from '../jobs/documentScan.ts';
import { deleteUploads, type ReferenceCheck, readUpload } from '../jobs/enqueue.ts';
import type { JobResult } from '../jobs/finishJob.ts';
import type { Steps } from '../jobs/jobSteps.ts';
import type { Job, JobFailure } from '../jobs/jobs.ts';
import { isOvertaken } from '../jobs/listJobs.ts';
import type { JobHandler, JobRun } from '../jobs/run.ts';
import { type RefreshedRecord, refreshRecords } from '../records/refreshRecords.ts';
import type { SourceRecord } from '../records/storeRecords.ts';

type Erased = Pick<RegisteredWrite, 'job_handler' | 'rerun_rules' | 'dryRun' | 'hasFiles'>;

/** Declares a write. `check` must come before `run`: TypeScript infers the type of `run`'s input from it. */
export function defineWrite<Body extends TObject, Lookups, Needs extends OperationName>(
  declaration: WriteDeclaration<Body, Lookups, Needs>,
): Write<Body, Lookups, Needs> {
  return { ...declaration, ...eraseInput<Static<Body> & Lookups, Needs>(declaration) };
}

/** Declares a write without an endpoint of its own. */
export function defineWriteHandler<Input, Needs extends OperationName>(
  handler: WriteHandler<Input, Needs>,
): WriteHandler<Input, Needs> & Erased {
  return { ...handler, ...eraseInput(handler) };
}

/**
 * The handlers as the job queue calls them. The cast is the only place where a stored input gets its type: jobs of this
 * type are queued by `requestWrite` or by modules next to the write, all of which check the type of the input.
 */
function eraseInput<Input, Needs extends OperationName>(write: WriteHandler<Input, Needs>): Erased {
  const typed = <J extends { input: unknown }>(job: J) => job as J & { input: Input };
  const { rerun, mustWait } = write;
  return {
    job_handler: {
      reads_only: write.reads_only ?? false,
      independent: write.independent ?? false,
      ...(mustWait && { mustWait: (ctx, job) => mustWait(ctx.db, typed(job)) }),
      run: (ctx, run) => runWrite(ctx, run, typed(run.job), write),
      onFailure: (ctx, run, failure) => {
        const job = typed(run.job);
        const { outcomes, intentData } = run.steps;
        const { state, event } = write.onFailure({
          id: job.operation_id,
          input: job.input,
          outcomes,
          intentData,
          failure,
        });
        const succeeded = state === 'succeeded';
        const apply = applyResult(write, { ctx, job, succeeded, outcomes, intentData, failure });
        return { state, error: succeeded ? null : failure, event, apply };
      },
    },
    dryRun: async (ctx, { job, ...connected }) => {
      await runAttempt(ctx, write, { job: typed(job), ...connected, dry: true });
    },
    hasFiles: (input) => write.file_field !== undefined || (write.countFiles?.(typed({ input }).input) ?? 0) > 0,
    rerun_rules: rerun && {
      blocker: (tx, job) => rerun.blocker(tx, typed(job)),
      prepare: (tx, job) => rerun.prepare(tx, typed(job)),
      lock: (tx, job) => rerun.lock(tx, typed(job)),
    },
  };
}

async function runWrite<Input, Needs extends OperationName>(
  ctx: Context,
  run: JobRun,
  job: Job<Input>,
  write: WriteHandler<Input, Needs>,
): Promise<JobResult> {
  const { client_id, operation_id } = job;
  const repeats = job.run_again_of !== null || job.is_edited_copy;
  if (write.overwrites && repeats && (await isOvertaken(ctx.db, job))) {
    throw new EmrFailure('refused', 'A later change to the same patient was requested, and this one would undo it.', {
      code: 'record_changed',
    });
  }
  const { operations, account } = await connectAccount(ctx, job, run.signal);
  const readFile = (position: number) => readUpload(ctx.db, client_id, operation_id, position);
  const attempt = async () => {
    if (takesFiles(write)) await scanUploads(ctx, job, write.countFiles?.(job.input) ?? 1, run.signal);
    return runAttempt(ctx, write, { job, steps: run.steps, operations, account, readFile });
  };
  const { event, store } = takesFiles(write)
    ? await ctx.document_slots.run(client_id, attempt, run.signal)
    : await attempt();
  const { outcomes, intentData } = run.steps;
  const apply = applyResult(write, { ctx, job, succeeded: true, outcomes, intentData }, store);
  return { state: 'succeeded', error: null, event, apply };
}

type Attempted<Input> = Pick<ConnectedAccount, 'operations' | 'account'> &
  Pick<WriteRun<Input, never>, 'readFile'> & {
    job: PlannedJob<Input>;
    steps: Steps;
    /** Nothing is stored. */
    dry?: true;
  };

function takesFiles({ file_field, embedded_files }: Pick<RegisteredWrite, 'file_field' | 'embedded_files'>): boolean {
  return file_field !== undefined || embedded_files !== undefined;
}

function runAttempt<Input, Needs extends OperationName>(
  ctx: Context,
  write: WriteHandler<Input, Needs>,
  { job, steps, operations, account, readFile, dry }: Attempted<Input>,
): Promise<WriteResult> {
  const { client_id, organization_id, operation_id: id, input } = job;
  return write.run({
    id,
    input,
    scope: { client_id, organization_id },
    db: ctx.db,
    emr_user: { name: account.emr_user_name, timezone: account.timezone },
    readFile,
    emr: requireOperations(operations, write.needs),
    steps,
    ourIds: (tables, ehr_ids) => findIds(ctx, job, tables, ehr_ids),
    refresh: async (kind, read) => {
      if (!dry) return refreshRecords(ctx, job, kind, read);
      await read();
      return [];
    },
  });
}

async function findIds(
  { db }: Context,
  { client_id, organization_id }: Pick<Job, 'client_id' | 'organization_id'>,
  tables: readonly string[],
  ehr_ids: readonly string[],
): Promise<Map<string, string>> {
  const ids = new Map<string, string>();
  for (const table of ehr_ids.length > 0 ? tables.toReversed() : []) {
    const rows = await db.read<{ ehr_id: string; id: string }>(
      client_id,
      (sql) => sql`SELECT ehr_id, replace(id::text, '-', '') AS id FROM ${sql(table)}
        WHERE organization_id = ${organization_id} AND ehr_id = ANY (${[...ehr_ids]})`,
    );
    // The first table wins.
    for (const { ehr_id, id } of rows) ids.set(ehr_id, id);
  }
  return ids;
}

/**
 * What to store or delete when the job ends, if anything. A file is deleted when its job ends: either the EMR has it,
 * or it will not be used again.
 */
function applyResult<Input, Needs extends OperationName>(
  write: WriteHandler<Input, Needs>,
  finished: Omit<FinishedWrite<Input>, 'tx'>,
  store?: WriteResult['store'],
): JobResult['apply'] {
  if (!takesFiles(write) && !store && !write.onFinished) return undefined;
  return async (tx) => {
    if (takesFiles(write)) await deleteUploads(tx, finished.job.operation_id);
    await store?.(tx);
    await write.onFinished?.({ tx, ...finished });
  };
}

function requireOperations<Needs extends OperationName>(
  operations: Partial<Operations>,
  needs: readonly Needs[],
): Partial<Operations> & Pick<Operations, Needs> {
  const missing = needs.find((name) => operations[name] === undefined);
  if (missing) throw notOffered(missing);
  return operations as Partial<Operations> & Pick<Operations, Needs>;
}

/** Jobs in the same lane run in order. `earlier`: a lane in which jobs of the same patient may still be waiting. */
export type Lane = { key: string; earlier?: string };

/** One attempt of a write. `id` is the operation's id, which the client knows. */
export type WriteRun<Input, Needs extends OperationName> = {
  id: string;
  input: Input;
  scope: { client_id: string; organization_id: string };
  /** For stored records. */
  db: Database;
  /** The EMR user whose account is used, and the time zone of the EMR instance. */
  emr_user: { name: string; timezone: string };
  /** The operations in `needs`, and all others that this EMR supports. */
  emr: Pick<Operations, Needs> & Partial<Operations>;
  /** A file that was sent with the request, by its position; undefined if there is none. */
  readFile: (position: number) => Promise<Buffer | undefined>;
  steps: Steps;
  /** Our ids of records by their EMR ids. EMR ids that are not in the tables are left out. */
  ourIds: (tables: readonly string[], ehr_ids: readonly string[]) => Promise<ReadonlyMap<string, string>>;
  /** Stores records that `read` returns from the EMR, and returns them as the cache has them then. */
  refresh: <K extends Kind>(
    kind: K,
    read: () => Promise<readonly (SourceOf<K> & SourceRecord)[]>,
  ) => Promise<RefreshedRecord[]>;
};

/** The event of a successful write. `store` runs in the transaction that ends the job. */
export type WriteResult = { event: EventOf; store?: (tx: Tx) => Promise<void> };

export type FailedWrite<Input> = {
  id: string;
  input: Input;
  outcomes: Steps['outcomes'];
  intentData: Steps['intentData'];
  failure: JobFailure;
};

/** A finished write, in the transaction that ends its job. */
export type FinishedWrite<Input> = {
  tx: Tx;
  ctx: Context;
  job: Job<Input>;
  succeeded: boolean;
  outcomes: Steps['outcomes'];
  intentData: Steps['intentData'];
  /** Why the job failed, also if everything requested is in the EMR. */
  failure?: JobFailure;
};

/** What a run needs to know of a job. */
export type PlannedJob<Input = unknown> = Pick<
  Job<Input>,
  'client_id' | 'organization_id' | 'account_id' | 'operation_id' | 'type' | 'input'
>;

export type RerunJob<Input> = Pick<Job<Input>, 'client_id' | 'organization_id' | 'operation_id' | 'input'>;

/** For writes with a stored record whose status follows the job. */
export type RerunRules<Input> = {
  /** Why the record does not allow another run; undefined if it does. */
  blocker: (tx: Tx, job: RerunJob<Input>) => Promise<string | undefined>;
  /** Updates the record in the transaction that queues the run. Throws if the record has changed since the check. */
  prepare: (tx: Tx, job: RerunJob<Input>) => Promise<void>;
  /** Locks the record, before anything is read that decides whether the job can be run again. */
  lock: (tx: Tx, job: RerunJob<Input>) => Promise<void>;
};

/** How a write is executed by a worker, and how its failure is reported. */
export type WriteHandler<Input, Needs extends OperationName> = {
  type: string;
  /** What one job of this type is called in the dashboard. */
  label: string;
  /** What these writes are called in error messages: `<plural_label> are only supported for <EMR name> EMR.` */
  plural_label: string;
  /** The EMR operations that must be available. */
  needs: readonly Needs[];
  /** Those that only a field of the body needs. Where one is missing, requests with the field are rejected. */
  field_needs?: Readonly<Record<string, readonly OperationName[]>>;
  /** The form field of the file, for writes that take one. */
  file_field?: string;
  /** Where the body has files in base64, for writes that take several. */
  embedded_files?: EmbeddedFiles;
  /** How many files belong to such a request. */
  countFiles?: (input: Input) => number;
  /** It runs as a job like a write, but writes nothing to the EMR. */
  reads_only?: boolean;
  /**
   * It adds a record that no other write of the patient refers to: later ones do not wait while the EMR cannot tell
   * whether it arrived.
   */
  independent?: boolean;
  /** Whether a job that could start must wait for a job of another lane. It must not wait for one that waits for it. */
  mustWait?: (db: Database, job: Job<Input>) => Promise<boolean>;
  /** Contains only the happy path; errors are handled by the job runner. */
  run: (run: WriteRun<Input, Needs>) => Promise<WriteResult>;
  /** `succeeded` if everything requested is in the EMR and only our own processing failed afterwards. */
  onFailure: (failed: FailedWrite<Input>) => { state: 'succeeded' | 'partial' | 'failed'; event: EventOf };
  /** Updates the stored record when the job ends, whatever the result. */
  onFinished?: (finished: FinishedWrite<Input>) => Promise<void>;
  /** The write replaces values: an outdated one that is run again would undo later changes. */
  overwrites?: boolean;
  rerun?: RerunRules<Input>;
};

/** A write that clients request through an endpoint of their own. `Lookups` is what `check` finds and stores. */
export type WriteDeclaration<Body extends TObject, Lookups, Needs extends OperationName> = WriteHandler<
  Static<Body> & Lookups,
  Needs
> & {
  body: Body;
  /** The fields of the body that are path parameters. */
  path?: readonly (keyof Static<Body> & string)[];
  /** A complete, valid request. Shown as the example in the API reference. */
  sample: Static<Body>;
  /**
   * The interface defines the write for some EMR products only; other EMRs get an error that names those products.
   * `every_server`: so does a single server that does not support it, because the specification words the error.
   */
  restricted: boolean | 'every_server';
  /** The EMR operation that stores the fields of the body. A field that it does not support is rejected. */
  stored_by: FieldOperation;
  /** The fields that the interface defines for some EMR products only. */
  restricted_fields?: readonly string[];
  /** The fields of a body that ask for something, if that is not evident from the schema. */
  sentFields?: (body: Static<Body>) => readonly string[];
  /** Resolves the request's references. Throws the API error, or returns the lane and what to store with the request. */
  check: (request: {
    ctx: Context;
    account: Account;
    body: Static<Body>;
    files: readonly Buffer[];
  }) => Promise<{ lane: Lane; lookups: Lookups }>;
  /**
   * What `check` does, within the statement that stores the request: a query less for every write. If it does not find
   * everything, `check` follows and throws the error. For writes without a pending record.
   */
  quick_check?: { lane: (body: Static<Body>) => string; lookups: Lookups; references: ReferenceCheck };
  /**
   * Runs in the transaction that accepts the request, before anything is stored: locks what concurrent requests compete
   * for, and compares the request with earlier ones. Throws the API error, or returns what to store with the request.
   */
  compareWithEarlier?: (request: {
    tx: Tx;
    account: Account;
    input: Static<Body> & Lookups;
  }) => Promise<Partial<Lookups>>;
  /** Stores the pending record in the transaction that accepts the request. */
  onAccepted?: (accepted: { tx: Tx; account: Account; id: string; input: Static<Body> & Lookups }) => Promise<void>;
  /** The id that the client gets, if it is not the operation's: that of an existing record. */
  recordId?: (input: Static<Body> & Lookups) => string;
  acceptedResponse: (accepted: {
    id: string;
    job_id: number;
    input: Static<Body> & Partial<Lookups>;
  }) => Record<string, unknown>;
};

/**
 * What the queue and the reference pages need to know about a write. The type of its input is erased: a job's input is
 * read from the database by the write that stored it.
 */
export type RegisteredWrite = {
  type: string;
  label: string;
  needs: readonly OperationName[];
  field_needs?: Readonly<Record<string, readonly OperationName[]>>;
  file_field?: string;
  embedded_files?: EmbeddedFiles;
  reads_only?: boolean;
  overwrites?: boolean;
  body?: TObject;
  stored_by?: FieldOperation;
  restricted_fields?: readonly string[];
  job_handler: JobHandler;
  /** Runs it with steps that write nothing. */
  dryRun: (ctx: Context, run: Attempted<unknown>) => Promise<void>;
  /** Whether a request came with files, without which it cannot be run. */
  hasFiles: (input: unknown) => boolean;
  rerun_rules: RerunRules<unknown> | undefined;
};

export type Write<Body extends TObject, Lookups, Needs extends OperationName> = WriteDeclaration<Body, Lookups, Needs> &
  Erased;

export function patientNotFound(mrn: string): EmrFailure {
  return new EmrFailure('not_found', `Patient with MRN '${mrn}' not found.`, { code: 'patient_not_found' });
}

export function notOffered(operation: OperationName): EmrFailure {
  return new EmrFailure('refused', `This EMR does not offer ${operation}.`, { code: 'not_supported' });
}

/** Why a write failed, in the form that most events use. */
export function failureFields({ code, message }: JobFailure) {
  return { failure_reason: message, reasons: [{ code, description: message }] };
}

/** The fields that the EMR reports as changed, over all steps of a write. */
export function savedFields(outcomes: Iterable<Record<string, unknown>>): SavedField[] {
  return [...outcomes].flatMap((outcome) => (outcome.changes as SavedField[] | undefined) ?? []);
}

/**
 * The `audit_trail` of an event: the fields that changed, and those whose value the EMR did not take. Where
 * the EMR corrected a value: the value sent, and a note with the value saved.
 */
export function auditTrail(fields: SavedField[]): EventData<'patient.updated'>['audit_trail'] {
  const changed = fields.filter(({ before, after, corrected }) => corrected || before !== after);
  return changed.map(({ corrected, ...field }) =>
    corrected
      ? { ...field, after: corrected.sent, note: `${corrected.note} Saved: ${field.after ?? 'nothing'}.` }
      : field,
  );
}

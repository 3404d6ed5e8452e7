import type { Static, TObject } from 'typebox';
import type { Account } from '../accounts/accounts.ts';
import { EmrFailure, type OperationName, type Operations } from '../../emr/connector.ts';
import type { FieldOperation } from '../../emr/fields.ts';
import type { Context } from '../context.ts';
import type { Database, Tx } from '../../platform/db/database.ts';
import type { EventOf } from '../../model/events.ts';
import type { ReferenceCheck } from '../jobs/enqueue.ts';
import type { Steps } from '../jobs/jobSteps.ts';
import type { Job, JobFailure } from '../jobs/jobs.ts';
import type { JobHandler } from '../jobs/run.ts';

/** Jobs in the same lane run in order. `earlier`: a lane in which jobs of the same patient may still be waiting. */
export type Lane = { key: string; earlier?: string };

/** One attempt of a write. `id` is the operation's id, which the client knows. */
export type WriteRun<Input, Needs extends OperationName> = {
  id: string;
  input: Input;
  scope: { client_id: string; organization_id: string };
  /** For reading stored records. */
  db: Database;
  /** The EMR user whose account is used, and the time zone of the EMR instance. */
  emr_user: { name: string; timezone: string };
  /** The operations in `needs`, and all others that this EMR supports. */
  emr: Pick<Operations, Needs> & Partial<Operations>;
  /** The file that was sent with the request. */
  file: Buffer | undefined;
  steps: Steps;
  /** Our ids of records by their EMR ids. EMR ids that are not in the tables are left out. */
  ourIds: (tables: readonly string[], ehr_ids: readonly string[]) => Promise<ReadonlyMap<string, string>>;
};

/** The event of a successful write. `store` runs in the transaction that ends the job. */
export type WriteResult = { event: EventOf; store?: (tx: Tx) => Promise<void> };

export type FailedWrite<Input> = { id: string; input: Input; outcomes: Steps['outcomes']; failure: JobFailure };

/** A finished write, in the transaction that ends its job. */
export type FinishedWrite<Input> = {
  tx: Tx;
  ctx: Context;
  job: Job<Input>;
  succeeded: boolean;
  outcomes: Steps['outcomes'];
  intentData: Steps['intentData'];
};

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
  /** It runs as a job like a write, but writes nothing to the EMR. */
  reads_only?: boolean;
  /**
   * It adds a record that no other write of the patient refers to: later ones do not wait while the EMR cannot tell
   * whether it arrived.
   */
  independent?: boolean;
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
   * `every_server`: so does a single server that lacks it, because the specification words the error.
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
    file: Buffer | undefined;
  }) => Promise<{ lane: Lane; lookups: Lookups }>;
  /**
   * What `check` does, within the statement that stores the request: a query less for every write. If it does not find
   * everything, `check` follows and throws the error. For writes without a pending record.
   */
  quick_check?: { lane: (body: Static<Body>) => string; lookups: Lookups; references: ReferenceCheck };
  /** Stores the pending record in the transaction that accepts the request. */
  onAccepted?: (accepted: { tx: Tx; account: Account; id: string; input: Static<Body> & Lookups }) => Promise<void>;
  /** The id that the client gets, if it is not the operation's: that of an existing record. */
  recordId?: (input: Static<Body> & Lookups) => string;
  acceptedResponse: (ids: { id: string; job_id: number }) => Record<string, unknown>;
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
  overwrites?: boolean;
  body?: TObject;
  stored_by?: FieldOperation;
  restricted_fields?: readonly string[];
  job_handler: JobHandler;
  rerun_rules: RerunRules<unknown> | undefined;
};

export type Write<Body extends TObject, Lookups, Needs extends OperationName> = WriteDeclaration<Body, Lookups, Needs> &
  Pick<RegisteredWrite, 'job_handler' | 'rerun_rules'>;

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

import type { Static, TObject } from 'typebox';
import type { Account } from '../accounts/accounts.ts';
import type { OperationName, Operations } from '../connectors/connector.ts';
import type { Context } from '../context.ts';
import type { Fragment, Sql, Tx } from '../db/database.ts';
import type { EventOf } from '../events.ts';
import type { Steps } from '../jobs/jobSteps.ts';
import type { Job, JobProblem } from '../jobs/jobs.ts';
import type { PatientStatus } from '../model/patient.ts';
import type { PatientRow } from '../records/patientRow.ts';
import { hashToken } from '../security/hash.ts';

/** What a write is carried out with. `id` is the operation's id, which the client knows. */
export type Performance<Body, Needs extends OperationName> = {
  id: string;
  body: Body;
  /** The EMR user whose account is used, and the time zone of the EMR instance. */
  signer: { name: string; timezone: string };
  /** What the write needs is there; of the rest, what this EMR happens to offer. */
  emr: Pick<Operations, Needs> & Partial<Operations>;
  /** The file that came with the request, where the write takes one. */
  file: Buffer | undefined;
  steps: Steps;
  /** Hands the record as the EMR has it to `settle`; it is not stored before. */
  handOver: (record: unknown) => void;
};

/** `before`: another name under which earlier jobs of the same patient may wait, see jobs/enqueue.ts. */
export type Lane = { key: string; before?: string };

/** What a check gives: the lane, and what it found that is to be stored beside the request. */
export type Checked = Lane & { found?: Record<string, unknown> };

/**
 * The lane of a patient. The MRN serves where the cache does not know the patient yet. No EMR's has 200 characters, and
 * an index takes no more than 2,700 bytes: one that is longer serves by its hash.
 */
export function patientLane(mrn: string, patient_id: string | null): Lane {
  const by_mrn = `mrn:${mrn.length <= 200 ? mrn : hashToken(mrn).toString('hex')}`;
  return patient_id === null ? { key: by_mrn } : { key: `patient:${patient_id}`, before: by_mrn };
}

/** The service's id of a patient by MRN, or null: a part of the question by which a write checks its references. */
export function patientIdOf(sql: Sql, account: Account, mrn: string): Fragment {
  return sql`(SELECT id FROM patients WHERE client_id = ${account.client_id}
    AND organization_id = ${account.organization_id} AND mrn = ${mrn} ORDER BY id LIMIT 1)`;
}

/** A write as it stands when it cannot go on. */
export type Stopped<Body> = { id: string; body: Body; outcomes: Steps['outcomes']; problem: JobProblem };

/** Why a write failed, as most of the events say it. */
export function failureOf({ code, message }: JobProblem) {
  return { failure_reason: message, reasons: [{ code, description: message }] };
}

/** A write that is about to be stored, in the transaction that stores it. */
export type Placed<Body> = { tx: Tx; account: Account; id: string; body: Body };

/** A write at its end, in the transaction that ends its job: it did what was asked for exactly when it `succeeded`. */
export type Settled<Body> = {
  tx: Tx;
  ctx: Context;
  job: Job;
  body: Body;
  succeeded: boolean;
  outcomes: Steps['outcomes'];
  kept: Steps['kept'];
  /** What `perform` has handed over. */
  record: unknown;
};

/** How a write is carried out, recovered and announced; one machine does that for all of them. */
export type Carried<Body = never, Needs extends OperationName = OperationName> = {
  type: string;
  /** The EMR operations it needs. */
  needs: readonly Needs[];
  /** The part of the form that holds the file, where the write takes one; and what that file must be. */
  upload?: { field: string; check: (content: Buffer) => Record<string, unknown> };
  /** The good path alone: what it throws is read by the machine. */
  perform: (performance: Performance<Body, Needs>) => Promise<EventOf>;
  /** `succeeded`: everything asked for stands in the EMR already, and only our own bookkeeping went wrong. */
  fail: (stopped: Stopped<Body>) => { state: 'succeeded' | 'partial' | 'failed'; event: EventOf };
  /** What becomes of the record that the service holds. */
  settle?: (settled: Settled<Body>) => Promise<void>;
  /** It replaces values, so that one which is run late would undo what was written since. */
  overwrites?: boolean;
  /** Where a patient's state follows the write: how it moves when that is run again, or undefined where it cannot. */
  again?: {
    patientOf: (operation_id: string, body: Body) => string;
    move: (row: PatientRow) => { status: PatientStatus; open_updates: number } | undefined;
  };
};

/**
 * One thing that may be asked of an EMR. One machine accepts, queues, performs, recovers and announces all of them;
 * a declaration says only what is particular to its own.
 */
export type Write<Body extends TObject = TObject, Needs extends OperationName = OperationName> = Carried<
  Static<Body>,
  Needs
> & {
  body: Body;
  /** Those fields of the body that stand in the path of the request. */
  path?: readonly (keyof Static<Body> & string)[];
  /** What its needs are called together, where an EMR lacks one. */
  label: string;
  /** Of one EMR product by its nature: another one answers `<label> are only supported for <EMR name> EMR.` */
  restricted: boolean;
  /** Of the fields that were sent those that some EMRs only have; another one answers with the first of them. */
  restrictedFields?: (body: Static<Body>) => readonly string[];
  /** References that must resolve now: throws the refusal, or gives the lane: what the write is kept in order by. */
  check: (ctx: Context, account: Account, body: Static<Body>) => Promise<Checked>;
  /** What the service holds of the record from now on. */
  place?: (placed: Placed<Static<Body>>) => Promise<void>;
  accepted: (ids: { id: string; job_id: number }) => Record<string, unknown>;
};

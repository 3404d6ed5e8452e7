import type { Static, TObject } from 'typebox';
import type { Account } from '../accounts/accounts.ts';
import type { OperationName, Operations } from '../connectors/connector.ts';
import type { Context } from '../context.ts';
import type { Fragment, Sql } from '../db/database.ts';
import type { EventOf } from '../events.ts';
import type { JobProblem } from '../jobs/jobs.ts';
import type { Steps } from '../jobs/steps.ts';

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
};

/** `before`: another name under which earlier jobs of the same patient may wait, see jobs/enqueue.ts. */
export type Lane = { key: string; before?: string };

/** What a check gives: the lane, and what it found that is to be stored beside the request. */
export type Checked = Lane & { found?: Record<string, unknown> };

/** The lane of a patient. The MRN serves where the cache does not know the patient yet. */
export function patientLane(mrn: string, patient_id: string | null): Lane {
  const by_mrn = `mrn:${mrn}`;
  return patient_id === null ? { key: by_mrn } : { key: `patient:${patient_id}`, before: by_mrn };
}

/** The service's id of a patient by MRN, or null: a part of the question by which a write checks its references. */
export function patientIdOf(sql: Sql, account: Account, mrn: string): Fragment {
  return sql`(SELECT id FROM patients WHERE client_id = ${account.client_id}
    AND organisation_id = ${account.organisation_id} AND mrn = ${mrn} ORDER BY id LIMIT 1)`;
}

/** A write as it stands when it cannot go on. */
export type Stopped<Body> = { id: string; body: Body; outcomes: Steps['outcomes']; problem: JobProblem };

/**
 * One thing that may be asked of an EMR. One machine accepts, queues, performs, recovers and announces all of them;
 * a declaration says only what is particular to its own.
 */
export type Write<Body extends TObject = TObject, Needs extends OperationName = OperationName> = {
  type: string;
  body: Body;
  /** The EMR operations it needs, and what they are called together where an EMR lacks one. */
  needs: readonly Needs[];
  label: string;
  /** Of one EMR product by its nature: another one answers `<label> are only supported for <EMR name> EMR.` */
  restricted: boolean;
  /** The part of the form that holds the file, where the write takes one; and what that file must be. */
  upload?: { field: string; check: (content: Buffer) => Record<string, unknown> };
  /** References that must resolve now: throws the refusal, or gives the lane: what the write is kept in order by. */
  check: (ctx: Context, account: Account, body: Static<Body>) => Promise<Checked>;
  accepted: (ids: { id: string; job_id: number }) => Record<string, unknown>;
  /** The good path alone: what it throws is read by the machine. */
  perform: (performance: Performance<Static<Body>, Needs>) => Promise<EventOf>;
  /** `succeeded`: everything asked for stands in the EMR already, and only our own bookkeeping went wrong. */
  fail: (stopped: Stopped<Static<Body>>) => { state: 'succeeded' | 'partial' | 'failed'; event: EventOf };
};

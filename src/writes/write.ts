import type { Static, TObject } from 'typebox';
import type { Account } from '../accounts/accounts.ts';
import type { OperationName, Operations } from '../connectors/connector.ts';
import type { Context } from '../context.ts';
import type { EventOf } from '../events.ts';
import type { JobProblem } from '../jobs/jobs.ts';
import type { Steps } from '../jobs/steps.ts';

/** What a write is carried out with. `id` is the operation's id, which the client knows. */
export type Performance<Body, Needs extends OperationName> = {
  id: string;
  body: Body;
  emr: Pick<Operations, Needs>;
  steps: Steps;
};

/** A write as it stands when it cannot go on. */
export type Stopped<Body> = { id: string; body: Body; outcomes: Steps['outcomes']; problem: JobProblem };

/**
 * One thing that may be asked of an EMR. One machine accepts, queues, performs, recovers and announces all of them;
 * a declaration says only what is particular to its own.
 */
export type Write<Body extends TObject = TObject, Needs extends OperationName = OperationName> = {
  type: string;
  body: Body;
  /** The EMR operations it needs; an EMR that lacks one answers `<label> are only supported for <EMR name> EMR.` */
  needs: readonly Needs[];
  label: string;
  /** References that must resolve now: throws the refusal, or gives the id of the patient the lane is for. */
  check: (ctx: Context, account: Account, body: Static<Body>) => Promise<{ patient_id: string | undefined }>;
  /** The patient whose writes are kept in order. */
  patient_mrn: (body: Static<Body>) => string;
  accepted: (ids: { id: string; job_id: number }) => Record<string, unknown>;
  /** The good path alone: what it throws is read by the machine. */
  perform: (performance: Performance<Static<Body>, Needs>) => Promise<EventOf>;
  /** `succeeded`: everything asked for stands in the EMR already, and only our own bookkeeping went wrong. */
  fail: (stopped: Stopped<Static<Body>>) => { state: 'succeeded' | 'partial' | 'failed'; event: EventOf };
};

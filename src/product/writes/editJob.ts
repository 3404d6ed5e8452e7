import type { Tx } from '../../platform/db/database.ts';
import type { Context } from '../context.ts';
import { setEditedFrom } from '../jobs/jobs.ts';
import { type RerunCandidate, readRerunCandidate } from '../jobs/listJobs.ts';
import type { RegisteredWrite } from './defineWrite.ts';
import { blockedByAccount, blockedByLaterChange, blockedByState } from './rerunJob.ts';
import { writes } from './writes.ts';

/** A job that cannot be edited and sent again, and why. */
export class NotEditable extends Error {
  readonly reason: string;

  constructor(reason: string) {
    super(reason);
    this.name = 'NotEditable';
    this.reason = reason;
  }
}

const no_write = 'It writes nothing to the EMR.';

/** A write whose requests can be edited: the client sends its body as it is stored. */
export type EditableWrite = RegisteredWrite & Required<Pick<RegisteredWrite, 'body' | 'stored_by'>>;

/** Why the request of a job cannot be edited and sent again; undefined if it can. */
export function findEditBlocker(job: RerunCandidate): string | undefined {
  return (
    blockedByState(job) ??
    blockedByAccount(job) ??
    (job.input_deleted ? 'Its request was deleted after the retention period. Send a new request.' : undefined) ??
    blockedByWrite(job) ??
    (job.restored ? may_be_saved : undefined)
  );
}

/** An edited copy is a new write, which would not find the earlier one. */
const may_be_saved =
  'The database was restored from a backup since, so it may be saved in the EMR. Run it again instead: what is saved is found there.';

function blockedByWrite(job: RerunCandidate): string | undefined {
  const write = writes.find(({ type }) => type === job.type);
  if (!write || write.reads_only) return no_write;
  if (!isEditable(write))
    return 'A change of an existing record cannot be edited here. Your application sends it again.';
  if (write.hasFiles(job.input))
    return 'The file was removed when the job finished. Your application sends the document again.';
  return blockedByLaterChange(write, job);
}

function isEditable(write: RegisteredWrite): write is EditableWrite {
  return write.body !== undefined && write.stored_by !== undefined;
}

/** The write that a failed job has performed, and the request as it was sent. */
export type Editable = { write: EditableWrite; request: Record<string, unknown> };

/** Throws NotEditable if the request of the job cannot be edited and sent again. */
export function requireEditable(job: RerunCandidate): Editable {
  const reason = findEditBlocker(job);
  if (reason !== undefined) throw new NotEditable(reason);
  const write = writes.find(({ type }) => type === job.type);
  if (!write || !isEditable(write)) throw new NotEditable(no_write);
  return { write, request: readRequest(write, job.input) };
}

/** The request as it was sent: what is stored also has what was looked up for it. */
function readRequest({ body }: EditableWrite, input: unknown): Record<string, unknown> {
  return Object.fromEntries(Object.entries(Object(input)).filter(([name]) => Object.hasOwn(body.properties, name)));
}

/**
 * A context in which a request is accepted as the edited copy of a failed job: each transaction first locks the job and
 * checks again whether it can be edited, and links what it has queued. Of two operators who send a copy at the same time,
 * the second one gets NotEditable; so does who sends one while the job is being run again.
 */
export function asEditedCopy(ctx: Context, { id, client_id }: Pick<RerunCandidate, 'id' | 'client_id'>): Context {
  const { db } = ctx;
  const during =
    (open: Context['db']['tenant']): Context['db']['tenant'] =>
    (tenant_id, work) =>
      open(tenant_id, async (tx) => {
        await lockEditable(tx, id);
        const result = await work(tx);
        const linked = await setEditedFrom(tx, client_id, id);
        if (linked !== 1 && typeof result === 'number') throw new Error('An edited copy was not linked to its job.');
        return result;
      });
  const tenant = during(db.tenant);
  const batched: Context['db']['batched'] = async (tenant_id, batch, entry) => {
    if (batch.kind === 'read') return db.batched(tenant_id, batch, entry);
    const [result] = await tenant(tenant_id, (tx) => batch.run(tx, tenant_id, [entry]));
    // A batch returns a result per entry.
    return result as Awaited<ReturnType<typeof batch.run>>[number];
  };
  return {
    ...ctx,
    db: { ...db, tenant, repeatable: during(db.repeatable), batched, batchedOrAlone: batched },
  };
}

/** Locks the record of the job, then the job, as another run of it does. */
async function lockEditable(tx: Tx, job_id: number): Promise<void> {
  const named = await readRerunCandidate(tx, job_id, { lock: false });
  if (!named) throw new NotEditable('It was deleted.');
  if (!named.input_deleted) await writes.find(({ type }) => type === named.type)?.rerun_rules?.lock(tx, named);
  const job = await readRerunCandidate(tx, job_id, { lock: true });
  if (!job) throw new NotEditable('It was deleted.');
  requireEditable(job);
}

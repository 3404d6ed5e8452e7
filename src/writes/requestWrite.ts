import type { Static, TObject } from 'typebox';
import type { Account } from '../accounts/accounts.ts';
import { offersOf } from '../accounts/offersOf.ts';
import { connectorOf } from '../accounts/openAccount.ts';
import type { Connector, OperationName } from '../connectors/connector.ts';
import type { Context } from '../context.ts';
import { apiError } from '../errors.ts';
import { newId } from '../ids.ts';
import { enqueue, type NewJob } from '../jobs/enqueue.ts';
import type { Lane, Write } from './write.ts';

/**
 * Accepts a write: its references are checked, then everything is stored at once. Gives the ids of the new
 * operation, or undefined when the idempotency key was taken by an earlier request.
 */
export async function requestWrite<Body extends TObject, Needs extends OperationName>(
  ctx: Context,
  account: Account,
  write: Write<Body, Needs>,
  body: Static<Body>,
  idempotency: NewJob['idempotency'],
  file?: Buffer,
  auditStatement?: NewJob['auditStatement'],
): Promise<{ id: string; job_id: number } | undefined> {
  const connector = connectorOf(ctx, account.connector);
  refuseMissing(ctx, account, write);
  refuseRestricted(ctx, connector, write.restrictedFields?.(body) ?? []);
  const told = write.upload && file ? write.upload.check(file) : {};
  const { found, ...lane } = await write.check(ctx, account, body);
  const id = newId();
  // What was found out, of the file and of what the request refers to, is stored with the request.
  const input = { ...body, ...told, ...found } as Static<Body>;
  const job = newJob(connector, account, { id, type: write.type, input }, lane);
  const { place } = write;
  const job_id = place
    ? await ctx.db.tenant(account.client_id, async (tx) => {
        const queued = await enqueue(tx, { ...job, upload: file, idempotency, auditStatement });
        if (queued !== undefined) await place({ tx, account, id, body: input });
        return queued;
      })
    : await enqueue(ctx.db.service.pooled, {
        ...job,
        upload: file,
        idempotency,
        auditStatement,
      });
  if (job_id === undefined) return undefined;
  auditStatement?.committed();
  ctx.notifications.notify('chartwire_jobs');
  return { id, job_id };
}

/** The job of an operation asked for through an account. */
export function newJob(
  connector: Connector,
  account: { client_id: string; organization_id: string; id: string },
  operation: NewJob['operation'],
  lane: Lane,
): NewJob {
  return {
    client_id: account.client_id,
    organization_id: account.organization_id,
    account_id: account.id,
    operation,
    lane: lane.key,
    ...(lane.before === undefined ? {} : { lane_before: lane.before }),
    parallel_max: connector.limits.parallel_max,
  };
}

/**
 * A write that needs what the EMR lacks is refused at once. One that the interface knows for some EMRs only names them,
 * unless it is this very server that lacks it.
 */
export function refuseMissing(
  ctx: Context,
  account: Account,
  write: { label: string; needs: readonly OperationName[]; restricted?: boolean },
): void {
  const connector = connectorOf(ctx, account.connector);
  if (write.restricted && write.needs.some((name) => !connector.offers.includes(name))) {
    throw apiError('restricted_operation', { operation: write.label, emr: offering(ctx, write.needs) });
  }
  const offers = offersOf(ctx, account);
  if (write.needs.every((name) => offers.includes(name))) return;
  throw apiError('operation_not_offered', { operation: write.label.toLowerCase() });
}

/** Fields that an EMR does not have are refused by name rather than dropped. */
export function refuseRestricted(ctx: Context, connector: Connector, fields: readonly string[]): void {
  const [field] = fields;
  if (connector.restricted_fields || field === undefined) return;
  const able = [...ctx.connectors.values()].filter((each) => each.restricted_fields);
  throw apiError('restricted_field', { field, emr: namesOf(able) }, { field });
}

/** Of the EMRs that have it those for which the interface means it: others may have it too, one server or another. */
function offering(ctx: Context, needs: readonly OperationName[]): string {
  const able = [...ctx.connectors.values()].filter((each) => needs.every((name) => each.offers.includes(name)));
  return namesOf(able.filter((each) => each.restricted_fields));
}

function namesOf(connectors: Connector[]): string {
  return connectors.map((connector) => connector.display_name).join(' or ');
}

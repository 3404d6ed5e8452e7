import type { Static, TObject } from 'typebox';
import type { Account } from '../accounts/accounts.ts';
import { connectorOf } from '../accounts/openAccount.ts';
import type { OperationName } from '../connectors/connector.ts';
import type { Context } from '../context.ts';
import { refusal } from '../errors.ts';
import { newId } from '../ids.ts';
import { enqueue, type NewJob } from '../jobs/enqueue.ts';
import type { Write } from './write.ts';

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
): Promise<{ id: string; job_id: number } | undefined> {
  const connector = connectorOf(ctx, account.connector);
  if (write.needs.some((name) => !connector.offers.includes(name))) {
    throw write.restricted
      ? refusal('restricted_operation', { operation: write.label, emr: offering(ctx, write.needs) })
      : refusal('operation_not_offered', { operation: write.label.toLowerCase() });
  }
  const told = write.upload && file ? write.upload.check(file) : {};
  const lane = await write.check(ctx, account, body);
  const id = newId();
  const job_id = await enqueue(ctx.db.service, {
    client_id: account.client_id,
    organisation_id: account.organisation_id,
    account_id: account.id,
    // What the file was found to be is stored with the request, for its content goes first.
    operation: { id, type: write.type, input: { ...body, ...told, ...lane.found } },
    upload: file,
    lane: lane.key,
    ...(lane.before === undefined ? {} : { lane_before: lane.before }),
    parallel_max: connector.limits.parallel_max,
    idempotency,
  });
  if (job_id === undefined) return undefined;
  ctx.bell.ring('chartwire_jobs');
  return { id, job_id };
}

function offering(ctx: Context, needs: readonly OperationName[]): string {
  const able = [...ctx.connectors.values()].filter((each) => needs.every((name) => each.offers.includes(name)));
  return able.map((connector) => connector.display_name).join(' or ');
}

import type { Static, TObject } from 'typebox';
import { apiError } from '../../catalog/errors.ts';
import { newId } from '../../catalog/ids.ts';
import { type Connector, supportsField } from '../../emr/connector.ts';
import type { FieldOperation, OperationName } from '../../emr/operations/operations.ts';
import { collectMrns } from '../../model/events.ts';
import type { Account } from '../accounts/accounts.ts';
import { listCapabilities, requireConnector } from '../accounts/connectAccount.ts';
import type { Context } from '../context.ts';
import { type AuditStatement, acceptJob, enqueue, type NewJob, unknown_reference } from '../jobs/enqueue.ts';
import type { IdempotencyKey } from '../jobs/idempotencyKeys.ts';
import { nameSurvivingChart } from '../records/mergedCharts.ts';
import type { Lane, Write, WriteDeclaration } from './defineWrite.ts';

export type WriteRequest<Body extends TObject, Lookups, Needs extends OperationName> = {
  account: Account;
  write: Write<Body, Lookups, Needs>;
  body: Static<Body>;
  /** The client's own reference. */
  reference: string | null;
  files?: readonly Buffer[] | undefined;
  idempotency?: IdempotencyKey | undefined;
  audit?: AuditStatement | undefined;
  /** Adds the surviving chart, if the request names a merged one. */
  auditPatients?: ((mrns: Iterable<string>) => void) | undefined;
};

type AcceptedWrite<Body extends TObject, Lookups> = { id: string; job_id: number; input: Static<Body> & Lookups };

/**
 * Accepts a write: checks its references, then stores everything in one transaction. Returns the ids of the record and
 * the job, or undefined if the idempotency key is in use.
 */
export function requestWrite<Body extends TObject, Lookups, Needs extends OperationName>(
  ctx: Context,
  request: WriteRequest<Body, Lookups, Needs>,
): Promise<AcceptedWrite<Body, Lookups> | undefined> {
  const attributes = { 'chartwire.job_type': request.write.type, 'chartwire.account_id': request.account.id };
  return ctx.telemetry.span(`accept ${request.write.type}`, { kind: 'producer', attributes }, async () => {
    const accepted = await accept(ctx, request);
    if (accepted)
      ctx.telemetry.annotate({ 'chartwire.job_id': accepted.job_id, 'chartwire.operation_id': accepted.id });
    return accepted;
  });
}

async function accept<Body extends TObject, Lookups, Needs extends OperationName>(
  ctx: Context,
  {
    account,
    write,
    body,
    reference,
    files = [],
    idempotency,
    audit,
    auditPatients,
  }: WriteRequest<Body, Lookups, Needs>,
): Promise<AcceptedWrite<Body, Lookups> | undefined> {
  requireSupported(ctx, account, write);
  requireFields(ctx, account, write.stored_by, body);
  rejectFields(ctx, account, write, write.sentFields?.(body) ?? sentFields(write.body, body));
  const id = newId();
  const describeJob = (lane: Lane, input: unknown): NewJob => ({
    ...newJob(ctx, account, { id, type: write.type, input, reference }, lane),
    uploads: files,
    idempotency,
    auditStatement: audit,
  });
  const accepted = (job_id: number | undefined, input: Static<Body> & Lookups) => {
    if (job_id === undefined) return undefined;
    audit?.committed();
    ctx.notifications.notify('chartwire_jobs', account.client_id);
    return { id, job_id, input };
  };
  const { quick_check, compareWithEarlier, onAccepted } = write;
  if (quick_check) {
    const input = Object.assign({}, body, quick_check.lookups);
    const queued = await acceptJob(ctx, describeJob({ key: quick_check.lane(body) }, input), quick_check.references);
    if (queued !== unknown_reference) return accepted(queued, input);
    // Checked again, to say what is missing. If it has just been synced, the request is accepted after all.
  }
  const request = await nameSurvivingChart(ctx.db, account, body);
  auditPatients?.(collectMrns(request));
  const { lane, lookups } = await write.check({ ctx, account, body: request, files });
  const input = Object.assign({}, request, lookups);
  const job_id =
    onAccepted || compareWithEarlier
      ? await ctx.db.tenant(account.client_id, async (tx) => {
          Object.assign(input, await compareWithEarlier?.({ tx, account, input }));
          const queued = await enqueue(tx, describeJob(lane, input));
          if (queued !== undefined) await onAccepted?.({ tx, account, id, input });
          return queued;
        })
      : await acceptJob(ctx, describeJob(lane, input));
  return accepted(job_id === unknown_reference ? undefined : job_id, input);
}

export function newJob(
  ctx: Pick<Context, 'connectors' | 'telemetry'>,
  account: { client_id: string; organization_id: string; id: string; connector: string },
  operation: NewJob['operation'],
  lane: Lane,
): NewJob {
  return {
    client_id: account.client_id,
    organization_id: account.organization_id,
    account_id: account.id,
    operation,
    lane: lane.key,
    earlier_lane: lane.earlier,
    parallel_max: requireConnector(ctx, account.connector).limits.parallel_max,
    traceparent: ctx.telemetry.traceparent(),
  };
}

/**
 * Rejects a write that needs operations that the EMR does not support. If the interface restricts the write to some EMR
 * products, the error names them, unless it is only this one server that does not support the operation.
 */
export function requireSupported(
  ctx: Context,
  account: Account,
  write: Pick<WriteDeclaration<TObject, unknown, OperationName>, 'plural_label' | 'needs'> & {
    restricted?: boolean | 'every_server';
  },
): void {
  const connector = requireConnector(ctx, account.connector);
  const capabilities = listCapabilities(ctx, account);
  if (write.needs.every((name) => capabilities.includes(name))) return;
  const able = emrsOffering(ctx, write.needs);
  const of_some_servers = write.needs.every((name) => connector.capabilities.includes(name));
  if (able !== '' && write.restricted && (write.restricted === 'every_server' || !of_some_servers)) {
    throw apiError('restricted_operation', { operation: write.plural_label, emr: able });
  }
  throw apiError('operation_not_offered', { operation: write.plural_label.toLowerCase() });
}

/** Rejects a request without a field that is optional in the interface but required by the EMR. */
export function requireFields(
  ctx: Context,
  account: Account,
  stored_by: FieldOperation,
  body: Readonly<Record<string, unknown>>,
): void {
  const required: readonly string[] = requireConnector(ctx, account.connector).required_fields?.[stored_by] ?? [];
  const field = required.find((name) => body[name] === undefined);
  if (field !== undefined) throw apiError('missing_field', { field }, { field });
}

type FieldRules = Pick<
  WriteDeclaration<TObject, unknown, OperationName>,
  'stored_by' | 'restricted_fields' | 'field_needs'
>;

/**
 * Rejects the first field that the EMR cannot store, instead of failing later or dropping it. If the interface restricts
 * the field to some EMR products, the error names those whose servers all have it.
 */
export function rejectFields(
  ctx: Context,
  account: Account,
  { stored_by, restricted_fields = [], field_needs = {} }: FieldRules,
  fields: readonly string[],
): void {
  const connector = requireConnector(ctx, account.connector);
  const capabilities = listCapabilities(ctx, account);
  const hasUnsupportedNeed = (field: string) =>
    field_needs[field]?.some((name) => !capabilities.includes(name)) ?? false;
  const field = fields.find(
    (each) => hasUnsupportedNeed(each) || !supportsField(connector, capabilities, stored_by, each),
  );
  if (field === undefined) return;
  const able = [...ctx.connectors.values()].filter(
    (each) => hasEqualServers(each) && supportsField(each, [], stored_by, field),
  );
  if (!restricted_fields.includes(field) || able.length === 0)
    throw apiError('unsupported_field', { field }, { field });
  throw apiError('restricted_field', { field, emr: joinNames(able) }, { field });
}

/** The fields of a body that request something. `false` and `self` are the same as leaving the field out. */
export function sentFields({ properties }: TObject, body: Record<string, unknown>): string[] {
  return Object.keys(properties).filter((name) => {
    const value = body[name];
    if (value === undefined || value === null || value === '') return false;
    if (typeof value !== 'string') return true;
    const { enum: values, default: usual }: { enum?: unknown; default?: unknown } = properties[name] ?? {};
    return value !== usual && !(value === 'false' && Array.isArray(values));
  });
}

/** The EMRs of which every server supports these operations. */
function emrsOffering(ctx: Context, needs: readonly OperationName[]): string {
  return joinNames(
    [...ctx.connectors.values()].filter(
      (each) => hasEqualServers(each) && needs.every((name) => each.capabilities.includes(name)),
    ),
  );
}

/** Servers of other EMRs, or the rights of their accounts, differ. */
function hasEqualServers({ refreshCapabilities }: Connector): boolean {
  return refreshCapabilities === undefined;
}

function joinNames(connectors: Connector[]): string {
  return connectors.map((connector) => connector.display_name).join(' or ');
}

import type { FastifyRequest } from 'fastify';
import type { TObject } from 'typebox';
import { ApiError, apiError } from '../catalog/errors.ts';
import { needsSecondPerson } from '../catalog/fourEyes.ts';
import type { Tx } from '../platform/db/database.ts';
import { type Client, findClientByPublicId } from '../product/clients/clients.ts';
import type { Context } from '../product/context.ts';
import {
  type Approval,
  cancelApproval,
  findRequester,
  finishApproval,
  requestApproval,
} from '../product/operators/approvals.ts';
import type { Operator } from '../product/operators/operators.ts';
import { requireRole, requireSetup } from './auth/authenticateOperator.ts';
import { type AnyRequest, bodyPart, type Endpoint } from './endpoint.ts';
import { runOnce } from './idempotency.ts';
import { createAudit } from './requestAudit.ts';
import { reader } from './validate.ts';

type Parts = Pick<AnyRequest, 'params' | 'query' | 'body'>;

/** Stores a request that a second person must approve, and throws an error that says so. Others continue. */
export async function requireSecondPerson(
  ctx: Context,
  endpoint: Endpoint,
  request: Pick<FastifyRequest, 'caller' | 'ip' | 'audit'>,
  { params, query, body }: Parts,
): Promise<void> {
  const { second_person } = endpoint;
  const { operator, client } = request.caller ?? {};
  if (!second_person || !operator || !needsSecondPerson(ctx.config.four_eyes, second_person.action)) return;
  const sent = { ctx, operator, client, params, query, body };
  if (second_person.when && !(await second_person.when(sent))) return;
  const { id, expires_at } = await requestApproval(ctx, {
    action: second_person.action,
    client: client?.public_id ?? null,
    subject: (await second_person.describe?.(sent)) ?? null,
    content: { endpoint: endpoint.id, params, query, body: body ?? null },
    operator,
    address: request.ip,
  });
  request.audit?.auditSubject({ detail: { approval: id } });
  throw apiError('approval_required', { until: `${expires_at.toISOString().slice(0, 16).replace('T', ' ')} UTC` });
}

/** The client of an approval; null if it was erased since. */
export async function findApprovalClient(ctx: Context, approval: Approval): Promise<Client | undefined | null> {
  return approval.client === null ? undefined : ((await findClientByPublicId(ctx, approval.client)) ?? null);
}

/** Whether the operator may do what the approval is about. */
export function hasRight(
  ctx: Context,
  endpoint: Endpoint,
  operator: Operator,
  client: Client | undefined | null,
): boolean {
  if (client === null) return false;
  try {
    requireSetup(ctx, endpoint, operator);
    requireRole(endpoint, operator, client);
    return true;
  } catch (error) {
    if (error instanceof ApiError) return false;
    throw error;
  }
}

/** The operator who has requested an approval. If the right was lost since, the approval is canceled. */
export async function requireRequester(
  ctx: Context,
  endpoint: Endpoint,
  approval: Approval,
): Promise<{ operator: Operator; client: Client | undefined }> {
  const operator = await findRequester(ctx.db.system, approval);
  const client = await findApprovalClient(ctx, approval);
  if (operator && client !== null && hasRight(ctx, endpoint, operator, client)) return { operator, client };
  await ctx.db.system.begin(async (tx) => {
    if (!(await cancelApproval(tx, approval.id, 'requester_changed'))) return;
    await ctx.audit.recordInTransaction(tx, {
      ...{ client_id: null, actor_kind: 'system', actor: 'approvals', action: 'approval.end', outcome: 'cancelled' },
      ...{ subject: approval.id, detail: { reason: 'requester_changed' } },
    });
  });
  throw apiError('approval_right_lost');
}

/**
 * Runs what was approved, in the name of the operator who requested it. The approval is marked as executed in the
 * transaction that stores the audit record of the action, so it runs once.
 */
export async function runApproval(
  ctx: Context,
  endpoint: Endpoint,
  approval: Approval,
  address: string,
): Promise<unknown> {
  const { operator, client } = await requireRequester(ctx, endpoint, approval);
  const { params, query, body } = readStored(endpoint, approval);
  const actor = { client_id: client?.id ?? null, actor_kind: 'operator', actor: operator.email } as const;
  const audit = createAudit(ctx, { endpoint, actor, params, request_id: undefined, address });
  const auditSubject: AnyRequest['auditSubject'] = ({ detail = {}, ...fields }) => {
    const { id, content_hash, decided_by } = approval;
    audit.auditSubject({ ...fields, detail: { ...detail, approval: id, approved_by: decided_by, content_hash } });
  };
  auditSubject({});
  const recordInTransaction = async (tx: Tx) => {
    await finishApproval(tx, approval.id);
    await audit.recordInTransaction(tx);
  };
  const request: AnyRequest = {
    ...{ ctx, headers: {}, address, client, operator },
    ...{ account: undefined, link: undefined, practice: undefined, limited_to: undefined },
    ...{ scope: requireRole(endpoint, operator, client), params, query, body, files: [], idempotency: undefined },
    // For streams, which cannot need a second person.
    isStillAllowed: async () => true,
    ...{ auditPatients: audit.auditPatients, auditSubject, auditStatement: undefined, recordInTransaction },
    inTransaction: (work) =>
      runOnce(ctx, client?.id ?? '', undefined, async (tx) => {
        const result = await work(tx);
        await recordInTransaction(tx);
        return result;
      }),
  };
  const response = await endpoint.handle(request);
  // A handler that only reads has no transaction of its own.
  if (!audit.in_transaction) await ctx.db.system.begin(recordInTransaction);
  return response;
}

/** By the schema of now: the service may have been updated since the request was stored. */
function readStored(endpoint: Endpoint, { content }: Approval): Parts {
  const none = { type: 'object', properties: {} } as TObject;
  const body = content.body === null ? undefined : reader(endpoint.body ?? none, bodyPart(endpoint))(content.body);
  return { params: content.params, query: content.query, body };
}

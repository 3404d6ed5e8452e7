import { Type } from 'typebox';
import { apiError } from '../../../catalog/errors.ts';
import { parseId } from '../../../catalog/ids.ts';
import { findApprovalClient, hasRight, requireRequester, runApproval } from '../../../http/approvals.ts';
import { type Endpoint, endpoint } from '../../../http/endpoint.ts';
import { nullable, success } from '../../../model/fields.ts';
import type { Client } from '../../../product/clients/clients.ts';
import type { Context } from '../../../product/context.ts';
import {
  type Approval,
  cancelApproval,
  decideApproval,
  findApproval,
  listApprovals,
} from '../../../product/operators/approvals.ts';
import { mayApprove } from '../../../product/operators/approvers.ts';
import type { Operator } from '../../../product/operators/operators.ts';
import { type ApprovalRow, approval_row, decision } from './schema.ts';

/** Every operator has these endpoints: which approvals exist for an operator depends on the right to do what they are about. */
const declared = { surface: 'dashboard', auth: 'operator', role: 'support', reach: 'own' } as const;
const params = Type.Object({ id: Type.String() });

/** The approvals of actions that need a second person. `targets`: the endpoints of these actions, among others. */
export function approvalsEndpoints(targets: readonly Endpoint[]): readonly Endpoint[] {
  const by_id = new Map(targets.map((target) => [target.id, target]));
  const requireVisible = async (ctx: Context, operator: Operator, text: string): Promise<Visible> => {
    const id = parseId(text);
    const approval = id && (await findApproval(ctx, id));
    const visible = approval && (await toVisible(ctx, operator, approval, by_id));
    if (!visible) throw apiError('record_not_found', { noun: 'Approval', id: text });
    return visible;
  };
  return [
    endpoint({
      ...declared,
      id: 'dashboard.approvals.list',
      method: 'GET',
      path: '/dashboard/api/approvals',
      // Read every minute for the number in the menu. It shows no health data.
      audited: false,
      summary: 'List actions that wait for a second person, and those that ended last',
      response: Type.Object({ success, approvals: Type.Array(approval_row) }),
      handle: async ({ ctx, operator }) => {
        const approvals = await listApprovals(ctx);
        const visible = await Promise.all(approvals.map((each) => toVisible(ctx, operator, each, by_id)));
        return {
          success: true,
          approvals: visible.flatMap((each) => (each ? [describeApproval(operator, each)] : [])),
        };
      },
    }),
    endpoint({
      ...declared,
      id: 'dashboard.approvals.approve',
      fresh_sign_in: true,
      method: 'POST',
      path: '/dashboard/api/approvals/{id}/approve',
      summary: 'Approve an action that another operator has requested; unless it returns a secret, it runs now',
      params,
      body: decision,
      response: Type.Object({ success, executed: Type.Boolean() }),
      errors: ['record_not_found', 'approval_over', 'approval_own', 'approval_right_lost'],
      handle: async ({ ctx, params, operator, body, address, auditSubject, recordInTransaction }) => {
        const visible = await requireVisible(ctx, operator, params.id);
        const { approval, target } = visible;
        requireDecider(operator, visible);
        await requireRequester(ctx, target, approval);
        await ctx.db.system.begin(async (tx) => {
          const seen = { id: approval.id, content_hash: body.content_hash };
          await decideApproval(ctx, tx, seen, { operator_id: operator.id, state: 'approved' });
          auditSubject(describeForAudit(approval));
          await recordInTransaction(tx);
        });
        if (target.second_person?.returns_secret) return { success: true, executed: false };
        await runApproval(ctx, target, { ...approval, decided_by: operator.email }, address);
        return { success: true, executed: true };
      },
    }),
    endpoint({
      ...declared,
      id: 'dashboard.approvals.refuse',
      fresh_sign_in: true,
      method: 'POST',
      path: '/dashboard/api/approvals/{id}/refuse',
      summary: 'Refuse an action that another operator has requested',
      params,
      body: decision,
      response: Type.Object({ success }),
      errors: ['record_not_found', 'approval_over', 'approval_own'],
      handle: async ({ ctx, params, operator, body, auditSubject, recordInTransaction }) => {
        const visible = await requireVisible(ctx, operator, params.id);
        requireDecider(operator, visible);
        await ctx.db.system.begin(async (tx) => {
          const seen = { id: visible.approval.id, content_hash: body.content_hash };
          await decideApproval(ctx, tx, seen, { operator_id: operator.id, state: 'refused' });
          auditSubject(describeForAudit(visible.approval));
          await recordInTransaction(tx);
        });
        return { success: true };
      },
    }),
    endpoint({
      ...declared,
      id: 'dashboard.approvals.withdraw',
      method: 'POST',
      path: '/dashboard/api/approvals/{id}/withdraw',
      summary: 'Withdraw an action that you have requested',
      params,
      body: Type.Object({}),
      response: Type.Object({ success }),
      errors: ['record_not_found', 'approval_over'],
      handle: async ({ ctx, params, operator, auditSubject, recordInTransaction }) => {
        const { approval } = await requireVisible(ctx, operator, params.id);
        if (approval.requester_id !== operator.id) {
          throw apiError('record_not_found', { noun: 'Approval', id: params.id });
        }
        await ctx.db.system.begin(async (tx) => {
          if (!(await cancelApproval(tx, approval.id, 'withdrawn'))) throw apiError('approval_over');
          auditSubject(describeForAudit(approval));
          await recordInTransaction(tx);
        });
        return { success: true };
      },
    }),
    endpoint({
      ...declared,
      id: 'dashboard.approvals.run',
      fresh_sign_in: true,
      method: 'POST',
      path: '/dashboard/api/approvals/{id}/run',
      summary:
        'Run an action that was approved: one that returns a secret, or that did not succeed when it was approved',
      params,
      body: Type.Object({}),
      response: Type.Object({
        success,
        /** The response of the action, for the operator who has requested it. */
        result: nullable(Type.Record(Type.String(), Type.Unknown())),
      }),
      errors: ['record_not_found', 'approval_over', 'approval_own', 'approval_right_lost'],
      handle: async ({ ctx, params, operator, address }) => {
        const visible = await requireVisible(ctx, operator, params.id);
        if (!mayRun(operator, visible)) throw apiError('approval_own');
        if (visible.approval.state !== 'approved') throw apiError('approval_over');
        const response = await runApproval(ctx, visible.target, visible.approval, address);
        const { success: _, ...result } = Object(response);
        return { success: true, result: visible.approval.requester_id === operator.id ? result : null };
      },
    }),
  ];
}

/** An approval that exists for an operator, with the endpoint that runs it, and its client unless that was erased. */
type Visible = { approval: Approval; target: Endpoint; client: Client | undefined | null; right: boolean };

async function toVisible(
  ctx: Context,
  operator: Operator,
  approval: Approval,
  targets: ReadonlyMap<string, Endpoint>,
): Promise<Visible | undefined> {
  const target = targets.get(approval.endpoint);
  if (!target) return undefined;
  const client = await findApprovalClient(ctx, approval);
  // Who may request an action may be less than who can approve it.
  const right = mayApprove(operator, approval.action, client?.id) && hasRight(ctx, target, operator, client);
  // Who approved the erasure of a client remains visible to owners.
  const past = client === null && operator.role === 'owner' && operator.all_clients;
  return right || past || approval.requester_id === operator.id ? { approval, target, client, right } : undefined;
}

/** Not whom it is about either: an operator must not approve the reset of their own account. */
function mayDecide(operator: Operator, { approval, right }: Visible): boolean {
  const { requester_id, content } = approval;
  const about_operator = approval.client === null && parseId(String(content.params.id ?? '')) === parseId(operator.id);
  return right && requester_id !== operator.id && !about_operator;
}

function requireDecider(operator: Operator, visible: Visible): void {
  if (!mayDecide(operator, visible)) throw apiError('approval_own');
}

function mayRun(operator: Operator, { approval, target }: Visible): boolean {
  const by_approver = approval.decider_id === operator.id && !target.second_person?.returns_secret;
  return approval.requester_id === operator.id || by_approver;
}

function describeApproval(operator: Operator, visible: Visible): ApprovalRow {
  const { approval, target, client } = visible;
  const { id, action, subject, content, content_hash, state, requested_by, requested_at, expires_at } = approval;
  const { decided_by, decided_at, reason } = approval;
  const open = Date.parse(expires_at) > Date.now();
  const { client_id: _, ...named } = content.params;
  return {
    ...{ id, action, summary: target.summary, subject, content_hash, requested_by, requested_at, expires_at },
    ...{ decided_by, decided_at, reason },
    state: open || !['pending', 'approved'].includes(state) ? state : 'expired',
    client: approval.client === null ? null : { client_id: approval.client, name: client?.name ?? null },
    content: Object.entries({ ...named, ...content.query, ...content.body }).map(([name, value]) => ({
      name,
      value: typeof value === 'string' ? value : JSON.stringify(value),
    })),
    own: approval.requester_id === operator.id,
    can_decide: open && state === 'pending' && mayDecide(operator, visible),
    can_run: open && state === 'approved' && mayRun(operator, visible),
    returns_secret: target.second_person?.returns_secret === true,
  };
}

function describeForAudit({ id, endpoint, client, content_hash, requested_by }: Approval) {
  return { subject: id, detail: { endpoint, client, content_hash, requested_by } };
}

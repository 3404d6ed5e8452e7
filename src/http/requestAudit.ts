import type { FastifyRequest } from 'fastify';
import { parseId } from '../catalog/ids.ts';
import { agent_user_agent } from '../catalog/version.ts';
import type { Tx } from '../platform/db/database.ts';
import type { AuditEntry, Context } from '../product/context.ts';
import type { NewJob } from '../product/jobs/enqueue.ts';
import type { Caller } from './auth/authenticate.ts';
import type { Auth, Endpoint, EndpointRequest } from './endpoint.ts';

/** Collects a request's audit record while the request is handled. */
export type RequestAudit = Pick<
  EndpointRequest<Auth, undefined, undefined, undefined>,
  'auditPatients' | 'auditSubject'
> & {
  entry(status: number): AuditEntry;
  /** The job that the request queued or is about. */
  jobId(): number | null | undefined;
  /** The record as part of the statement that queues a job. */
  auditStatement: NonNullable<NewJob['auditStatement']>;
  /** Stores the record in the transaction of a change. */
  recordInTransaction: (tx: Tx) => Promise<void>;
  recorded: boolean;
  /** The record was stored in a transaction, which was committed if the response is a success. */
  in_transaction: boolean;
};

declare module 'fastify' {
  interface FastifyRequest {
    audit?: RequestAudit;
  }
}

/**
 * Stores the audit record of a request before its response is sent; if that fails, the response is not sent. A request
 * that changed something has stored its record in the same transaction already (`inTransaction`, `recordInTransaction`,
 * `auditStatement`). Not recorded: endpoints with `audited: false`, and requests over the rate limit, which were not
 * handled and would cost more to record than to reject.
 */
export async function recordResponse(ctx: Context, { audit }: FastifyRequest, status: number): Promise<void> {
  if (!audit || audit.recorded || (audit.in_transaction && status < 400) || status === 429) return;
  // Set first: if storing the record fails, the error response is not recorded either.
  audit.recorded = true;
  await ctx.audit.record(audit.entry(status));
}

/** Returns undefined if the caller is anonymous or the endpoint is not audited. */
export function createRequestAudit(ctx: Context, request: FastifyRequest, caller: Caller): RequestAudit | undefined {
  const { endpoint } = request.routeOptions.config;
  const actor = findActor(caller, request.params);
  if (!endpoint || endpoint.audited === false || !actor) return undefined;
  const { id: request_id, ip: address, params } = request;
  const user_agent = request.headers['user-agent'];
  return createAudit(ctx, { endpoint, actor, params, request_id, address, user_agent });
}

type Audited = {
  endpoint: Endpoint;
  actor: Actor;
  params: unknown;
  request_id: string | undefined;
  address: string;
  user_agent?: string | undefined;
};

/** The audit record of a call to an endpoint. */
export function createAudit(
  ctx: Context,
  { endpoint, actor, params, request_id, address, user_agent }: Audited,
): RequestAudit {
  const accepted = endpoint.accepted_status ?? 200;
  const mrns = new Set<string>();
  let fields: Parameters<RequestAudit['auditSubject']>[0] = readSubject(params);
  // `chartwire mcp` says so. Other programs that pass data to a model do not.
  const is_agent = actor.actor_kind === 'client' && user_agent?.split('/')[0] === agent_user_agent.split('/')[0];
  let queued: AuditEntry | undefined;
  const audit: RequestAudit = {
    recorded: false,
    in_transaction: false,
    auditPatients: (patients) => {
      for (const mrn of patients) if (mrn) mrns.add(mrn);
    },
    auditSubject: (more) => {
      fields = { ...fields, ...more };
    },
    entry: (status) => ({
      ...actor,
      action: endpoint.id,
      outcome: String(status),
      request_id,
      address,
      ...fields,
      ...(is_agent && { detail: { agent: true, ...fields.detail } }),
      mrns,
    }),
    jobId: () => fields.job_id,
    recordInTransaction: async (tx) => {
      await ctx.audit.recordInTransaction(tx, audit.entry(accepted));
      audit.in_transaction = true;
    },
    auditStatement: {
      entry: (operation_id) => {
        queued = { ...audit.entry(accepted), subject: operation_id };
        return queued;
      },
      insert: (...statement) => ctx.audit.recordStatement(...statement),
      committed: () => {
        audit.recorded = true;
        if (queued) ctx.audit.confirm(queued);
      },
    },
  };
  return audit;
}

export type Actor = Pick<AuditEntry, 'client_id' | 'actor_kind' | 'actor' | 'account_id'>;

export function findActor({ client, account, link, practice, operator }: Caller, params: unknown): Actor | undefined {
  const client_id = client?.id ?? null;
  if (operator) {
    const { account_id = '' } = params as { account_id?: string };
    return { client_id, actor_kind: 'operator', actor: operator.email, account_id: parseId(account_id) };
  }
  if (!client) return undefined;
  if (practice) {
    return { client_id, actor_kind: 'practice', actor: practice.user_id, account_id: practice.account_id };
  }
  if (link) {
    const { user_id: actor, account_id, created_in } = link.purpose;
    return { client_id, actor_kind: created_in === 'practice_page' ? 'practice' : 'link', actor, account_id };
  }
  return { client_id, actor_kind: 'client', actor: client.public_id, account_id: account?.id };
}

/** The record named by the path, if it is one of our ids. Anything else could be an MRN sent by mistake. */
function readSubject(params: unknown): Pick<AuditEntry, 'subject' | 'job_id'> {
  const { id = '', job_id = '' } = params as { id?: string; job_id?: string };
  if (/^\d{1,15}$/.test(job_id)) return { job_id: Number(job_id) };
  const subject = /^wh_[0-9a-f]{24}$/.test(id) ? id : parseId(id);
  return subject === undefined ? {} : { subject };
}

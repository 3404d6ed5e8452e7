import type { FastifyRequest } from 'fastify';
import type { AuditEntry, Context } from '../context.ts';
import type { Tx } from '../db/database.ts';
import { parseId } from '../ids.ts';
import type { NewJob } from '../jobs/enqueue.ts';
import type { Known } from './authenticate.ts';
import type { Auth, EndpointRequest } from './endpoint.ts';

/** What a request leaves in the audit trail, gathered while it is answered. */
export type Trail = Pick<EndpointRequest<Auth, undefined, undefined, undefined>, 'auditPatients' | 'auditSubject'> & {
  entry(status: number): AuditEntry;
  /** The record as a part of the statement that queues a job. */
  auditStatement: NonNullable<NewJob['auditStatement']>;
  /** The record as a part of the transaction that makes a change. */
  recordInTransaction: (tx: Tx) => Promise<void>;
  recorded: boolean;
  /** It went with a transaction, which stands if the answer is a good one. */
  carried: boolean;
};

declare module 'fastify' {
  interface FastifyRequest {
    trail?: Trail;
  }
}

/**
 * Records the request of a known caller; called before its answer is sent, and what cannot be recorded is not sent. A
 * request that has changed something is recorded in that very transaction instead (`once`, `recordIn`, `beside`). Left out are
 * endpoints that show no health data and change nothing (`audited: false`), and requests over the rate limit: those
 * were not looked at, and recording them would cost more than answering.
 */
export async function recordAnswer(ctx: Context, { trail }: FastifyRequest, status: number): Promise<void> {
  if (!trail || trail.recorded || (trail.carried && status < 400) || status === 429) return;
  // Set first: when the record fails, the answer that says so is not recorded either.
  trail.recorded = true;
  await ctx.audit.record(trail.entry(status));
}

/** The trail of a request whose caller is known. */
export function openTrail(ctx: Context, request: FastifyRequest, known: Known): Trail | undefined {
  const { endpoint } = request.routeOptions.config;
  const caller = callerOf(known, request.params);
  if (!endpoint || endpoint.audited === false || !caller) return undefined;
  const mrns = new Set<string>();
  let told: Parameters<Trail['auditSubject']>[0] = subjectOf(request.params);
  const trail: Trail = {
    recorded: false,
    carried: false,
    auditPatients: (seen) => {
      for (const mrn of seen) if (mrn) mrns.add(mrn);
    },
    auditSubject: (what) => {
      told = { ...told, ...what };
    },
    entry: (status) => ({
      ...caller,
      action: endpoint.id,
      outcome: String(status),
      request_id: request.id,
      ...told,
      mrns,
    }),
    recordInTransaction: async (tx) => {
      await ctx.audit.recordInTransaction(tx, trail.entry(200));
      trail.carried = true;
    },
    auditStatement: {
      insert: (sql, operation_id, condition) =>
        ctx.audit.recordStatement(sql, { ...trail.entry(200), subject: operation_id }, condition),
      committed: () => {
        trail.recorded = true;
      },
    },
  };
  return trail;
}

type Caller = Pick<AuditEntry, 'client_id' | 'actor_kind' | 'actor' | 'account_id'>;

function callerOf({ client, account, link, operator }: Known, params: unknown): Caller | undefined {
  const client_id = client?.id ?? null;
  if (operator) {
    const { account_id = '' } = params as { account_id?: string };
    return { client_id, actor_kind: 'operator', actor: operator.email, account_id: parseId(account_id) };
  }
  if (!client) return undefined;
  if (link) return { client_id, actor_kind: 'link', actor: link.purpose.user_id, account_id: link.purpose.account_id };
  return { client_id, actor_kind: 'client', actor: client.public_id, account_id: account?.id };
}

/** What the path names, if it is an id of ours: whatever else stands there may be an MRN by mistake. */
function subjectOf(params: unknown): Pick<AuditEntry, 'subject' | 'job_id'> {
  const { id = '', job_id = '' } = params as { id?: string; job_id?: string };
  if (/^\d{1,15}$/.test(job_id)) return { job_id: Number(job_id) };
  const subject = /^wh_[0-9a-f]{24}$/.test(id) ? id : parseId(id);
  return subject === undefined ? {} : { subject };
}

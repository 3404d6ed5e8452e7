import type { FastifyRequest } from 'fastify';
import type { ApiError } from '../../catalog/errors.ts';
import type { Client } from '../../product/clients/clients.ts';
import type { Context } from '../../product/context.ts';
import type { Endpoint } from '../endpoint.ts';
import { rateLimiter } from '../limits/rateLimit.ts';

/** A request that is refused because of where it came from. `genuine`: its secret is one of the client's. */
type OriginRefusal = { client: Client; refused: ApiError; genuine: boolean };

export type RecordRefusal = (
  endpoint: Pick<Endpoint, 'id'>,
  request: Pick<FastifyRequest, 'id' | 'ip'>,
  refusal: OriginRefusal,
) => void;

declare module 'fastify' {
  interface FastifyInstance {
    recordRefusal: RecordRefusal;
  }
}

/** Records of a client at once, and one more in each minute: a stolen secret must not fill the audit log. */
const records_at_once = 20;
const records_per_second = 1 / 60;
/** More clients than have limits; beyond that, counts of omitted records are forgotten. */
const clients_max = 10_000;

/**
 * Counts refused requests, and records those whose secret is valid: then a secret was stolen, or an application was moved.
 * Each record has the number of requests that were not recorded since the one before. Without waiting, so that the time
 * of the response does not show whether the secret was valid.
 */
export function createRefusalRecords(ctx: Pick<Context, 'metrics' | 'audit' | 'log'>): RecordRefusal {
  const limit = rateLimiter(records_per_second, records_at_once);
  const omitted = new Map<string, number>();
  return (endpoint, { id, ip }, { client, refused, genuine }) => {
    const { code, status } = refused;
    ctx.metrics.refused_origins.inc({ code });
    if (!genuine) return;
    const before = omitted.get(client.id) ?? 0;
    if (!limit(client.id).allowed) {
      if (omitted.size >= clients_max) omitted.clear();
      omitted.set(client.id, before + 1);
      return;
    }
    omitted.delete(client.id);
    const actor = { client_id: client.id, actor_kind: 'client', actor: client.public_id } as const;
    const entry = { ...actor, action: endpoint.id, outcome: String(status), request_id: id, address: ip };
    ctx.audit
      .record({ ...entry, detail: { refused: code, ...(before > 0 && { not_recorded: before }) } })
      .catch((error: unknown) => ctx.log.error({ err: error, code }, 'a refused request could not be recorded'));
  };
}

import type { FastifyReply, FastifyRequest } from 'fastify';
import { apiError } from '../../catalog/errors.ts';
import { type RateLimiter, rateLimiter, type SharedLimits } from './rateLimit.ts';

type Quota = {
  /** What it counts, in the error message. */
  label: string;
  per_minute?: number;
  /** Requests of a client that may run at the same time, and how large their bodies may be. */
  at_once?: { requests: number; body_bytes_max: number };
};

/**
 * What one client may request of endpoints that cost more than others, beyond its rate limit. An endpoint declares the
 * one it counts against (`quota`); endpoints that name the same one share it.
 */
export const quotas = {
  live_fetches: { label: '300 live fetches and dry runs per minute', per_minute: 300 },
  referral_documents: {
    label: '4 referrals with documents at once',
    at_once: { requests: 4, body_bytes_max: 25 * 1_048_576 },
  },
  directory_searches: { label: '300 directory searches per minute', per_minute: 300 },
} as const satisfies Record<string, Quota>;

export type QuotaName = keyof typeof quotas;

/** What an endpoint declares (endpoint.ts). */
type Counted = { quota?: QuotaName; method: string };

/** Counts requests against their quotas, or throws `quota_exceeded`. */
export type QuotaLimiter = (request: FastifyRequest, reply: FastifyReply, endpoint: Counted, client_id: string) => void;

/** The limits are shared with the other API processes, as the rate limit is. */
export function createQuotas(shared: Pick<SharedLimits, 'share'>): QuotaLimiter {
  const limiters = Object.fromEntries(
    Object.entries<Quota>(quotas).map(([name, quota]) => [name, createLimiter(quota, name, shared)]),
  );
  return (request, reply, endpoint, client_id) => {
    for (const name of listQuotas(endpoint, request)) limiters[name]?.(client_id, reply);
  };
}

/** The quotas of a request. A dry run costs as much as its write to receive, and asks the EMR as a live fetch does. */
function listQuotas({ quota, method }: Counted, { query }: FastifyRequest): Set<QuotaName> {
  const names = new Set<QuotaName>(quota === undefined ? [] : [quota]);
  return isDryRun(method, query) ? names.add('live_fetches') : names;
}

/** Whether a write is only to be checked. Decided before the query is validated, so any value but `false` counts. */
export function isDryRun(method: string, query: unknown): boolean {
  const { dry_run = 'false' } = (query ?? {}) as { dry_run?: unknown };
  return method !== 'GET' && String(dry_run).trim() !== 'false';
}

/** The largest body of an endpoint whose quota allows larger ones than others have. */
export function quotaBodyMax({ quota }: Pick<Counted, 'quota'>): number | undefined {
  const declared: Quota | undefined = quota && quotas[quota];
  return declared?.at_once?.body_bytes_max;
}

function createLimiter(quota: Quota, name: string, { share }: Pick<SharedLimits, 'share'>) {
  const { label, per_minute, at_once } = quota;
  if (at_once) return limitRunning(label, at_once.requests, share(`quota:${name}`, slotLimiter(at_once.requests)));
  const limit = share(`quota:${name}`, rateLimiter((per_minute ?? 0) / 60, per_minute ?? 0));
  return (client_id: string) => {
    const { allowed, reset_s } = limit(client_id);
    if (!allowed) throw exceeded(label, reset_s);
  };
}

/** Slots of a process that ends without giving them back are free again after a minute. */
function slotLimiter(requests: number): RateLimiter {
  return rateLimiter(requests / 60, requests);
}

/** The bucket counts what other processes run; those of this process are counted exactly, however long they take. */
function limitRunning(label: string, requests: number, slots: RateLimiter) {
  const running = new Map<string, number>();
  return (client_id: string, reply: FastifyReply) => {
    const now = running.get(client_id) ?? 0;
    if (now >= requests || !slots(client_id).allowed) throw exceeded(label, slot_retry_after_s);
    running.set(client_id, now + 1);
    reply.raw.once('close', () => {
      const left = (running.get(client_id) ?? 1) - 1;
      if (left > 0) running.set(client_id, left);
      else running.delete(client_id);
      slots.refund(client_id);
    });
  };
}

/** A body of 25 MB takes a few seconds to arrive. */
const slot_retry_after_s = 2;

function exceeded(quota: string, retry_after_s: number) {
  return apiError('quota_exceeded', { quota }, { retry_after_s });
}

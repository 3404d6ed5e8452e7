import { setTimeout as pause } from 'node:timers/promises';
import type { Connector, EmrEndpoint } from '../../emr/connector.ts';
import { EmrFailure } from '../../emr/emrFailure.ts';
import type { Sql } from '../../platform/db/database.ts';
import type { Context } from '../context.ts';

/** A limit that was not reached for so long is measured anew. */
const valid_days = 7;

export type RequestBudget = {
  /** Counts a request before it is sent. One too many waits for the next minute, unless it is urgent. */
  take: (signal?: AbortSignal) => Promise<void>;
  /** The EMR rejected a request as one too many, and did not say when to try again. */
  exceeded: () => Promise<void>;
};

type CountedContext = Pick<Context, 'db'> & Partial<Pick<Context, 'metrics'>>;
type CountedCalls = {
  connector: Pick<Connector, 'name' | 'limits'>;
  emr_app_id: string | null;
  /** A person waits: nothing waits for the next minute, and the EMR may reject a request instead. */
  urgent: boolean;
  onRequest?: () => void;
};

/**
 * The same endpoint with its requests counted, whatever they are for: signing in, tokens, searches and files. Vendors
 * count all of them. Where servers differ, they also take part in what is measured about the EMR's limit.
 */
export function countRequests(
  ctx: CountedContext,
  endpoint: EmrEndpoint,
  { connector, emr_app_id, urgent, onRequest = () => {} }: CountedCalls,
): EmrEndpoint {
  const { outbound } = endpoint;
  const differs = connector.limits.measured_max !== undefined;
  const budget = differs ? openRequestBudget(ctx, countedBy(endpoint, emr_app_id), { urgent }) : undefined;
  return {
    ...endpoint,
    budget: urgent ? undefined : budget,
    outbound: {
      ...outbound,
      fetch: async (url, request) => {
        await budget?.take(request.signal);
        onRequest();
        ctx.metrics?.emr_requests.inc({ emr: connector.name });
        return outbound.fetch(url, request);
      },
    },
  };
}

/** Whose requests the vendor counts together. */
export function countedBy(
  { address, requests_counted_per }: Pick<EmrEndpoint, 'address' | 'requests_counted_per'>,
  emr_app_id: string | null,
): string {
  const per_app = requests_counted_per === 'app' && emr_app_id !== null;
  return per_app ? `emr_app:${emr_app_id}` : address.replace(/\/+$/, '');
}

/**
 * The requests that an EMR takes per clock minute. Until it rejects one without saying when to try again, they are only
 * counted. From then on, all processes share what it took in a minute, and wait for the next one.
 */
export function openRequestBudget(
  { db }: Pick<Context, 'db'>,
  counted_by: string,
  { urgent }: { urgent: boolean },
): RequestBudget {
  const sql = db.system;
  let limited: boolean | undefined;
  const sent = { minute: 0, requests: 0 };
  return {
    take: async (signal) => {
      const minute = Math.floor(Date.now() / minute_ms);
      if (sent.minute !== minute) Object.assign(sent, { minute, requests: 0 });
      sent.requests++;
      limited ??= await isLimited(sql, counted_by);
      while (limited && !(await takeRequest(sql, counted_by, urgent))) {
        await waitForNextMinute(sql, signal);
        limited = await isLimited(sql, counted_by);
      }
    },
    exceeded: async () => {
      await storeLimit(sql, counted_by, sent.requests - 1);
      limited = true;
    },
  };
}

const minute_ms = 60_000;

/** What is known about the limit of an EMR: about how many requests it takes per minute, once that is confirmed. */
export async function readRequestLimit(sql: Sql, counted_by: string): Promise<number | undefined> {
  const [row] = await sql<{ per_minute: number }[]>`SELECT per_minute FROM emr_request_budgets
    WHERE counted_by = ${counted_by} AND confirmations >= ${confirmations_min}
      AND limited_at > now() - make_interval(days => ${valid_days})`;
  return row?.per_minute;
}

async function isLimited(sql: Sql, counted_by: string): Promise<boolean> {
  const [row] = await sql`SELECT FROM emr_request_budgets
    WHERE counted_by = ${counted_by} AND limited_at > now() - make_interval(days => ${valid_days})`;
  return row !== undefined;
}

/**
 * Counts a request. False if the minute is used up: the EMR rejected one, or takes no more as far as that is confirmed. A
 * minute that was used up without a rejection raises the limit a little. One that is urgent counts in any case.
 */
async function takeRequest(sql: Sql, counted_by: string, urgent: boolean): Promise<boolean> {
  const [row] = await sql`
    UPDATE emr_request_budgets SET minute = date_trunc('minute', now()),
      blocked = blocked AND minute = date_trunc('minute', now()),
      requests = CASE WHEN minute < date_trunc('minute', now()) THEN 1 ELSE requests + 1 END,
      per_minute = CASE WHEN minute < date_trunc('minute', now()) AND requests >= per_minute AND NOT blocked
        THEN per_minute + greatest(1, per_minute / 20) ELSE per_minute END
    WHERE counted_by = ${counted_by} AND (${urgent} OR minute < date_trunc('minute', now())
      OR (NOT blocked AND (confirmations < ${confirmations_min} OR requests < greatest(per_minute, ${per_minute_min}))))
    RETURNING counted_by`;
  return row !== undefined;
}

/** One rejection may be due to the requests of others, which we do not count. */
const confirmations_min = 2;
/** An EMR that rejects even fewer is used nevertheless: it would not be useful otherwise. */
const per_minute_min = 10;

/**
 * Notes that the EMR takes no more requests in this minute, and how many it took. Two rejections at about the same number
 * confirm it. A much lower number says nothing: others may have used the EMR, and its clock may differ from ours.
 */
async function storeLimit(sql: Sql, counted_by: string, sent: number): Promise<void> {
  await sql`
    INSERT INTO emr_request_budgets AS known (counted_by, per_minute, minute, requests)
    VALUES (${counted_by}, ${sent}, date_trunc('minute', now()), ${sent})
    ON CONFLICT (counted_by) DO UPDATE SET limited_at = now(), minute = date_trunc('minute', now()), blocked = true,
      requests = known.requests - 1,
      per_minute = CASE WHEN known.minute = date_trunc('minute', now())
        AND known.requests - 1 >= known.per_minute * 0.9 THEN known.requests - 1 ELSE known.per_minute END,
      confirmations = CASE WHEN known.requests - 1 > known.per_minute * 1.1 THEN 1
        WHEN known.requests - 1 >= known.per_minute * 0.9 THEN known.confirmations + 1 ELSE known.confirmations END
    -- The rejections of other processes in the same minute say no more.
    WHERE NOT (known.blocked AND known.minute = date_trunc('minute', now()))`;
}

async function waitForNextMinute(sql: Sql, signal: AbortSignal | undefined): Promise<void> {
  const [row] = await sql<{ ms: number }[]>`
    SELECT extract(epoch FROM date_trunc('minute', now()) + interval '1 minute' - now())::float8 * 1000 AS ms`;
  // Not all at the same moment.
  const retry_after_ms = (row?.ms ?? minute_ms) + 50 + Math.random() * 500;
  try {
    await pause(retry_after_ms, undefined, { signal });
  } catch (cause) {
    throw new EmrFailure('unavailable', 'The EMR is receiving too many requests.', { retry_after_ms, cause });
  }
}

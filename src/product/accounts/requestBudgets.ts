import { setTimeout as pause } from 'node:timers/promises';
import type { EmrEndpoint } from '../../emr/connector.ts';
import { EmrFailure } from '../../emr/emrFailure.ts';
import type { Sql } from '../../platform/db/database.ts';
import type { Context } from '../context.ts';

type RequestBudget = NonNullable<EmrEndpoint['budget']>;

/** A limit that was not reached for so long is measured anew. */
const valid_days = 7;

/**
 * The requests that an EMR's address takes per clock minute. Until it rejects one without saying when to try again, they
 * are only counted. From then on, all processes share what it took in a minute, and wait for the next one.
 */
export async function openRequestBudget(
  { db }: Pick<Context, 'db'>,
  emr_address: string,
  signal: AbortSignal,
): Promise<RequestBudget> {
  const sql = db.system;
  let limited = await isLimited(sql, emr_address);
  const sent = { minute: 0, requests: 0 };
  return {
    take: async () => {
      const minute = Math.floor(Date.now() / minute_ms);
      if (sent.minute !== minute) Object.assign(sent, { minute, requests: 0 });
      sent.requests++;
      while (limited && !(await takeRequest(sql, emr_address))) {
        await pause(await untilNextMinute(sql), undefined, { signal }).catch((cause: unknown) => {
          throw new EmrFailure('unavailable', 'The EMR is receiving too many requests.', { cause });
        });
      }
    },
    exceeded: async () => {
      await storeLimit(sql, emr_address, sent.requests - 1);
      limited = true;
    },
  };
}

const minute_ms = 60_000;

async function isLimited(sql: Sql, emr_address: string): Promise<boolean> {
  const [row] = await sql`SELECT FROM emr_request_budgets
    WHERE emr_address = ${emr_address} AND limited_at > now() - make_interval(days => ${valid_days})`;
  return row !== undefined;
}

/**
 * Counts a request. False if the minute is used up: the EMR rejected one, or takes no more as far as that is confirmed. A
 * minute that was used up without a rejection raises the limit a little.
 */
async function takeRequest(sql: Sql, emr_address: string): Promise<boolean> {
  const [row] = await sql`
    UPDATE emr_request_budgets SET minute = date_trunc('minute', now()), blocked = false,
      requests = CASE WHEN minute < date_trunc('minute', now()) THEN 1 ELSE requests + 1 END,
      per_minute = CASE WHEN minute < date_trunc('minute', now()) AND requests = per_minute AND NOT blocked
        THEN per_minute + greatest(1, per_minute / 20) ELSE per_minute END
    WHERE emr_address = ${emr_address} AND (minute < date_trunc('minute', now())
      OR (NOT blocked AND (confirmations < ${confirmations_min} OR requests < greatest(per_minute, ${per_minute_min}))))
    RETURNING emr_address`;
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
async function storeLimit(sql: Sql, emr_address: string, sent: number): Promise<void> {
  await sql`
    INSERT INTO emr_request_budgets AS known (emr_address, per_minute, minute, requests)
    VALUES (${emr_address}, ${sent}, date_trunc('minute', now()), ${sent})
    ON CONFLICT (emr_address) DO UPDATE SET limited_at = now(), minute = date_trunc('minute', now()), blocked = true,
      requests = known.requests - 1,
      per_minute = CASE WHEN known.minute = date_trunc('minute', now())
        AND known.requests - 1 >= known.per_minute * 0.9 THEN known.requests - 1 ELSE known.per_minute END,
      confirmations = CASE WHEN known.requests - 1 > known.per_minute * 1.1 THEN 1
        WHEN known.requests - 1 >= known.per_minute * 0.9 THEN known.confirmations + 1 ELSE known.confirmations END
    -- The rejections of other processes in the same minute say no more.
    WHERE NOT (known.blocked AND known.minute = date_trunc('minute', now()))`;
}

/** Not all at the same moment. */
async function untilNextMinute(sql: Sql): Promise<number> {
  const [row] = await sql<{ ms: number }[]>`
    SELECT extract(epoch FROM date_trunc('minute', now()) + interval '1 minute' - now())::float8 * 1000 AS ms`;
  return (row?.ms ?? minute_ms) + 50 + Math.random() * 500;
}

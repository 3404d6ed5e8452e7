import { newId } from '../../catalog/ids.ts';
import type { Sql, Tx } from '../../platform/db/database.ts';
import { alert_days } from './alerts.ts';

export const channel_names = ['email', 'webhook'] as const;
export type ChannelName = (typeof channel_names)[number];

/** The ids of the alerts that a message is about, by what happened to them. */
export type MessageAlerts = { opened: string[]; reminded: string[]; resolved: string[] };

/** A message that this process sends now. `attempts` includes this one. */
export type ClaimedMessage = MessageAlerts & { id: string; digest: boolean; attempts: number };

/** A message about an alert, for the dashboard. */
export type SentMessage = {
  alert_id: string;
  channel: ChannelName;
  /** Null: not sent yet, or given up. */
  sent_at: string | null;
  state: 'sent' | 'pending' | 'retrying' | 'failed';
};

/** The last message of a channel that was sent, and the problem of the last attempt if it failed. */
export type ChannelHealth = { channel: ChannelName; last_sent_at: string | null; problem: string | null };

/** If a process dies while it sends a message, another process takes over after this time. Longer than any attempt. */
const claim_s = 120;

/** Queues a message for each channel. One that exists for this day, for a digest, is not queued again. */
export async function queueMessages(
  tx: Tx,
  channels: readonly ChannelName[],
  { opened, reminded, resolved }: MessageAlerts,
  { now, digest_on = null }: { now: Date; digest_on?: string | null },
): Promise<void> {
  for (const channel of channels) {
    await tx`
      INSERT INTO alert_messages (id, channel, opened, reminded, resolved, digest_on, created_at, ready_at)
      VALUES (${newId()}, ${channel}, ${opened}::uuid[], ${reminded}::uuid[], ${resolved}::uuid[], ${digest_on}::date,
        ${now}, ${now})
      ON CONFLICT (channel, digest_on) DO NOTHING`;
  }
}

/** Takes the next due message of a channel. Another process gets it only if this one does not record a result in time. */
export async function claimMessage(system: Sql, channel: ChannelName, now: Date): Promise<ClaimedMessage | undefined> {
  const [row] = await system.pooled<ClaimedMessage[]>`
    UPDATE alert_messages SET attempts = attempts + 1, ready_at = ${now}::timestamptz + make_interval(secs => ${claim_s})
     WHERE id = (SELECT id FROM alert_messages WHERE channel = ${channel} AND ready_at <= ${now}
                  ORDER BY ready_at, id LIMIT 1 FOR UPDATE SKIP LOCKED)
    RETURNING id, opened, reminded, resolved, digest_on IS NOT NULL AS digest, attempts`;
  return row;
}

/** Records an attempt. It does not count if another process has claimed the message meanwhile. */
export async function recordAttempt(
  system: Sql,
  { id, attempts }: Pick<ClaimedMessage, 'id' | 'attempts'>,
  result: { sent_at: Date | null; problem: string | null; retry_at: Date | null },
): Promise<void> {
  await system.pooled`
    UPDATE alert_messages SET sent_at = ${result.sent_at}, problem = ${result.problem}, ready_at = ${result.retry_at}
     WHERE id = ${id} AND attempts = ${attempts} AND sent_at IS NULL`;
}

/** The messages about the opening of these alerts, oldest first. */
export function listMessagesOf(system: Sql, alert_ids: readonly string[]): Promise<SentMessage[]> {
  return system.pooled<SentMessage[]>`
    SELECT alert.id AS alert_id, channel, iso(sent_at) AS sent_at,
           CASE WHEN sent_at IS NOT NULL THEN 'sent' WHEN ready_at IS NULL THEN 'failed'
                WHEN problem IS NOT NULL THEN 'retrying' ELSE 'pending' END AS state
      FROM unnest(${[...alert_ids]}::uuid[]) AS alert (id) JOIN alert_messages ON alert.id = ANY (opened)
     ORDER BY created_at, channel`;
}

export function readChannelHealth(system: Sql): Promise<ChannelHealth[]> {
  return system.pooled<ChannelHealth[]>`
    SELECT channel, iso(max(sent_at)) AS last_sent_at,
           (array_agg(problem ORDER BY created_at DESC) FILTER (WHERE attempts > 0))[1] AS problem
      FROM alert_messages GROUP BY channel`;
}

/** Deletes old messages. */
export async function purgeMessages(system: Sql): Promise<void> {
  await system`DELETE FROM alert_messages WHERE created_at < now() - make_interval(days => ${alert_days})`;
}

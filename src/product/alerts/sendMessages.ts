import { newId } from '../../catalog/ids.ts';
import type { Context } from '../context.ts';
import { type ChannelName, type ClaimedMessage, claimMessage, recordAttempt } from './alertMessages.ts';
import { readAlertTexts } from './alerts.ts';
import { type Attempt, type Channel, openChannels } from './channels.ts';
import type { Message } from './message.ts';

type SendContext = Pick<Context, 'config' | 'base_url' | 'webhook_outbound' | 'db' | 'log'>;

/** The pauses between attempts. After the last one, a day later, delivery is abandoned. */
const retry_minutes = [1, 2, 5, 15, 30, 60, 120, 240, 480, 480] as const;

/** Sends every message that is due. Channels do not wait for each other. */
export async function sendMessages(ctx: SendContext, now: () => Date = () => new Date()): Promise<void> {
  await Promise.all(openChannels(ctx).map((channel) => sendDue(ctx, channel, now)));
}

/** Sends a test message through every channel at once, and returns the results. */
export async function sendTest(
  ctx: Pick<Context, 'config' | 'base_url' | 'webhook_outbound'>,
): Promise<(Attempt & { channel: ChannelName; target: string })[]> {
  const message: Message = { id: newId(), kind: 'test', opened: [], reminded: [], resolved: [] };
  return Promise.all(
    openChannels(ctx).map(async (channel) => {
      const { name, target } = channel;
      return { channel: name, target, ...(await channel.send(message, 1)) };
    }),
  );
}

async function sendDue(ctx: SendContext, channel: Channel, now: () => Date): Promise<void> {
  for (;;) {
    const claimed = await claimMessage(ctx.db.system, channel.name, now());
    if (!claimed) return;
    await recordAttempt(ctx.db.system, claimed, await attempt(ctx, channel, claimed, now));
  }
}

async function attempt(
  ctx: SendContext,
  channel: Channel,
  claimed: ClaimedMessage,
  now: () => Date,
): Promise<Parameters<typeof recordAttempt>[2]> {
  const message = await readMessage(ctx, claimed);
  if (message.opened.length + message.reminded.length + message.resolved.length === 0) {
    return { sent_at: null, problem: null, retry_at: null };
  }
  const { sent, problem } = await channel.send(message, claimed.attempts);
  if (problem !== null) {
    const fields = { reason: channel.name, attempt: claimed.attempts, problem };
    ctx.log.error(fields, sent ? 'alert message sent with a problem' : 'alert message not sent');
  }
  if (sent) return { sent_at: now(), problem, retry_at: null };
  const pause_min = retry_minutes[claimed.attempts - 1];
  const retry_at = pause_min === undefined ? null : new Date(now().getTime() + pause_min * 60_000);
  return { sent_at: null, problem, retry_at };
}

/** The message with the texts of its alerts as they are now. */
async function readMessage({ db }: SendContext, claimed: ClaimedMessage): Promise<Message> {
  const { id, digest, opened, reminded, resolved } = claimed;
  const texts = await readAlertTexts(db.system.pooled, [...opened, ...reminded, ...resolved]);
  const among = (ids: readonly string[]) => texts.filter((text) => ids.includes(text.id));
  return {
    id,
    kind: digest ? 'digest' : 'changes',
    opened: among(opened),
    reminded: among(reminded),
    resolved: among(resolved),
  };
}

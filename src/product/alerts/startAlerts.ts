import { type ScheduledTasks, startScheduledTasks } from '../../platform/worker/scheduledTasks.ts';
import type { Context } from '../context.ts';
import { purgeMessages } from './alertMessages.ts';
import { purgeAlerts } from './alerts.ts';
import { evaluateAlerts } from './evaluateAlerts.ts';
import { sendMessages } from './sendMessages.ts';

/** Alerts are evaluated by processes of every role: without a worker, another process must report the stalled queue. */
export function startAlerts(ctx: Context): ScheduledTasks {
  const tasks = [
    { name: 'alerts', every_ms: 15_000, run: () => evaluateAlerts(ctx) },
    // Apart from the evaluation, which must not wait for a mail server.
    { name: 'alert_messages', every_ms: 5_000, run: () => sendMessages(ctx) },
    { name: 'alert_purge', every_ms: 60 * 60_000, run: () => purge(ctx) },
  ];
  return startScheduledTasks(tasks, (name, error) =>
    ctx.log.error({ reason: name, err: error }, 'scheduled task failed'),
  );
}

async function purge({ db }: Pick<Context, 'db'>): Promise<void> {
  await Promise.all([purgeAlerts(db.system), purgeMessages(db.system)]);
}

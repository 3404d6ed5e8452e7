import type { Context } from '../context.ts';
import { endPreparations } from './operatorInvitations.ts';
import { endOperatorSessions } from './operatorSessions.ts';
import { disableInactive, hasOwner, listInactive } from './operators.ts';

/**
 * Disables the operators who have not been used for `OPERATOR_INACTIVE_DAYS`, as an owner would, and returns their ids.
 * Runs every few minutes, and before each sign-in is accepted. The owner who was active last stays.
 */
export async function disableInactiveOperators(
  ctx: Pick<Context, 'db' | 'config' | 'audit' | 'notifications'>,
): Promise<readonly string[]> {
  const days = ctx.config.operator_inactive_days;
  if (days === 0 || (await listInactive(ctx.db.system, days)).length === 0) return [];
  const disabled = await ctx.db.system.begin(async (tx) => {
    // The owners first, as everywhere else. Listed again, because they may have changed meanwhile.
    await hasOwner(tx);
    const inactive = await listInactive(tx, days);
    if (inactive.length === 0) return [];
    for (const { id } of inactive) {
      await disableInactive(tx, id);
      await endOperatorSessions(tx, id);
      await endPreparations(ctx, tx, id);
    }
    const entry = { client_id: null, actor_kind: 'system', actor: 'inactivity', action: 'operator.disable' } as const;
    const detail = { days };
    await ctx.audit.recordInTransaction(
      tx,
      ...inactive.map(({ id }) => ({ ...entry, outcome: 'disabled', subject: id, detail })),
    );
    return inactive.map(({ id }) => id);
  });
  for (const id of disabled) ctx.notifications.notify('chartwire_operators', id);
  return disabled;
}

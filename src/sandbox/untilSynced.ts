import { setTimeout as pause } from 'node:timers/promises';
import { findAccountByToken } from '../accounts/accounts.ts';
import type { Context } from '../context.ts';

const patience_ms = 20_000;

/** Waits for the first sync, so that the first call a newcomer pastes finds its provider, and the first list all of its records. */
export async function untilSynced(ctx: Context, access_token: string): Promise<void> {
  const account = await findAccountByToken(ctx, access_token);
  const deadline = Date.now() + patience_ms;
  while (account?.status === 'active' && Date.now() < deadline) {
    const [row] = await ctx.db.read<{ done: boolean }>(
      account.client_id,
      (sql) => sql`SELECT synced_at IS NOT NULL AS done FROM organizations WHERE id = ${account.organization_id}`,
    );
    if (row?.done) return;
    await pause(50);
  }
}

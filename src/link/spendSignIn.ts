import type { Context } from '../context.ts';
import { apiError } from '../errors.ts';
import { countSignIn } from './linkTokens.ts';

/** Refused past a number of tries. The count is committed before the EMR is asked. */
export async function spendSignIn(ctx: Context, client_id: string, link_token: string): Promise<void> {
  const spent = await ctx.db.tenant(client_id, (tx) => countSignIn(tx, link_token));
  if (spent === 'exhausted') throw apiError('link_exhausted');
  if (spent === 'gone') throw apiError('link_token_invalid', undefined, { field: 'link_token' });
}

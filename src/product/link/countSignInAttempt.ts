import { apiError } from '../../catalog/errors.ts';
import type { Context } from '../context.ts';
import { countSignIn } from './linkTokens.ts';

/** Counts a sign-in attempt and throws when the limit is exceeded. Committed before the EMR is called. */
export async function countSignInAttempt(ctx: Context, client_id: string, link_token: string): Promise<void> {
  const spent = await ctx.db.tenant(client_id, (tx) => countSignIn(tx, link_token));
  if (spent === 'exhausted') throw apiError('link_exhausted');
  if (spent === 'gone') throw apiError('link_token_invalid', undefined, { field: 'link_token' });
}

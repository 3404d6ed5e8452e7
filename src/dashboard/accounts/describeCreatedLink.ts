import type { Context } from '../../context.ts';
import { link_token_minutes } from '../../link/linkTokens.ts';
import type { MadeLink } from '../../model/dashboard/accounts.ts';

/** A link as it is sent to a clinic: at the address under which the service is known to the outside. */
export function describeMadeLink(ctx: Context, link_token: string): MadeLink {
  const minutes = link_token_minutes;
  return {
    url: `${ctx.config.base_url}/link?token=${link_token}`,
    minutes,
    expires_at: new Date(Date.now() + minutes * 60_000).toISOString(),
  };
}

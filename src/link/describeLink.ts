import { connectorOf } from '../accounts/openAccount.ts';
import type { Context } from '../context.ts';
import type { LinkPurpose } from './linkTokens.ts';
import { storedCredentials } from './storedCredentials.ts';

/** What a person is asked for, and for what: enough to draw the page, and nothing secret. */
export async function describeLink(ctx: Context, purpose: LinkPurpose) {
  const connector = connectorOf(ctx, purpose.connector);
  const stored = await ctx.db.tenant(purpose.client_id, (tx) => storedCredentials(ctx, tx, purpose));
  return {
    emr: connector.display_name,
    organisation: purpose.org_id,
    emr_host: new URL(purpose.emr_address).host,
    update: purpose.account_id !== null,
    fields: connector.credential_fields.map(({ name, label, secret, autocomplete }) => ({
      name,
      label,
      secret,
      autocomplete,
      known: Boolean(stored[name]),
      value: secret ? null : (stored[name] ?? null),
    })),
    resend_code: connector.resend_code ?? false,
    language: purpose.language,
    returns: purpose.callback_url !== null,
  };
}

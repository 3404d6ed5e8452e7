import { connectorOf } from '../accounts/openAccount.ts';
import type { SignInWay } from '../connectors/connector.ts';
import type { Context } from '../context.ts';
import type { LinkPurpose } from './linkTokens.ts';
import { returnAddress } from './startPageSignIn.ts';
import { storedCredentials } from './storedCredentials.ts';

/** What Link's page needs to render, without secrets. */
export async function describeLink(ctx: Context, purpose: LinkPurpose) {
  const connector = connectorOf(ctx, purpose.connector);
  const stored = await ctx.db.tenant(purpose.client_id, (tx) => storedCredentials(ctx, tx, purpose));
  return {
    emr: connector.display_name,
    organization: purpose.org_id,
    emr_host: new URL(purpose.emr_address).host,
    update: purpose.account_id !== null,
    fields: connector.credential_fields.map(({ name, label, secret, autocomplete, optional }) => ({
      name,
      label,
      secret,
      autocomplete,
      optional: optional ?? false,
      known: Boolean(stored[name]),
      value: secret ? null : (stored[name] ?? null),
    })),
    ways: (connector.sign_in_ways ?? []).map(({ name, label, about, fields, on_page, must_register: tells }) => ({
      name,
      label,
      about,
      fields: [...fields],
      on_page: on_page ?? false,
      tells: tells ? { what: tells, value: registrationUrl(ctx, tells) } : null,
    })),
    way: stored.way ?? null,
    resend_code: connector.resend_code ?? false,
    language: purpose.language,
    returns: purpose.callback_url !== null,
  };
}

/** The URL that must be registered with the EMR for a sign-in method. */
function registrationUrl(ctx: Context, what: NonNullable<SignInWay['must_register']>): string {
  return what === 'key_set' ? `${ctx.base_url}/.well-known/jwks.json` : returnAddress(ctx);
}

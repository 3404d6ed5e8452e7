import { connectorOf } from '../accounts/openAccount.ts';
import type { Connector, SignInWay } from '../connectors/connector.ts';
import type { Context } from '../context.ts';
import { knownCredentials } from './knownCredentials.ts';
import type { LinkPurpose } from './linkTokens.ts';
import { returnAddress } from './startPageSignIn.ts';

/** What Link's page needs to render, without secrets. */
export async function describeLink(ctx: Context, purpose: LinkPurpose) {
  const connector = connectorOf(ctx, purpose.connector);
  const { stored, app } = await ctx.db.tenant(purpose.client_id, (tx) => knownCredentials(ctx, tx, purpose));
  // What the app defines is neither shown nor asked for.
  const asked = (name: string) => app?.credentials[name] === undefined && !(app && isOptional(connector, name));
  const ways = (connector.sign_in_ways ?? []).filter(({ name }) => !app || name === app.credentials.way);
  return {
    emr: app?.name ?? connector.display_name,
    app: app ? { logo: app.logo } : null,
    organization: purpose.org_id,
    emr_host: new URL(purpose.emr_address).host,
    update: purpose.account_id !== null,
    fields: connector.credential_fields
      .filter(({ name }) => asked(name))
      .map(({ name, label, secret, autocomplete, optional }) => ({
        name,
        label,
        secret,
        autocomplete,
        optional: optional ?? false,
        known: Boolean(stored[name]),
        value: secret ? null : (stored[name] ?? null),
      })),
    ways: ways.map(({ name, label, about, fields, on_page, must_register: tells }) => ({
      name,
      label,
      about,
      fields: fields.filter(asked),
      on_page: on_page ?? false,
      tells: tells && !app ? { what: tells, value: registrationUrl(ctx, tells) } : null,
    })),
    way: app?.credentials.way ?? stored.way ?? null,
    resend_code: connector.resend_code ?? false,
    language: purpose.language,
    returns: purpose.callback_url !== null,
  };
}

function isOptional({ credential_fields }: Connector, name: string): boolean {
  return credential_fields.find((field) => field.name === name)?.optional ?? false;
}

/** The URL that must be registered with the EMR for a sign-in method. */
function registrationUrl(ctx: Context, what: NonNullable<SignInWay['must_register']>): string {
  return what === 'key_set' ? `${ctx.base_url}/.well-known/jwks.json` : returnAddress(ctx);
}

import { connectorOf } from '../accounts/openAccount.ts';
import { type Connector, EmrFailure, type SignInWay } from '../connectors/connector.ts';
import type { Context } from '../context.ts';
import { emrEndpoint } from './callEmr.ts';
import type { LinkPurpose } from './linkTokens.ts';
import { registrationUrl } from './registrationUrls.ts';
import { knownCredentials } from './resolveCredentials.ts';

/** What Link's page needs to render, without secrets. */
export async function describeLink(ctx: Context, purpose: LinkPurpose) {
  const connector = connectorOf(ctx, purpose.connector);
  const { stored, app } = await ctx.db.tenant(purpose.client_id, (tx) => knownCredentials(ctx, tx, purpose));
  // What the app defines is neither shown nor entered.
  const asked = (name: string) => app?.credentials[name] === undefined && !(app && isOptional(connector, name));
  const ways = app
    ? (connector.sign_in_ways ?? []).filter(({ name }) => name === app.credentials.way)
    : await offeredWays(ctx, connector, purpose, stored.way);
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

/** The page waits for this. A slow server is asked at sign-in instead. */
const discovery_timeout_ms = 4_000;

/** The ways that the server supports, or all of them if that is not known. The one of a linked account is among them. */
async function offeredWays(
  ctx: Context,
  { sign_in_ways = [], offeredWays }: Connector,
  purpose: LinkPurpose,
  current: string | undefined,
): Promise<readonly SignInWay[]> {
  if (!offeredWays) return sign_in_ways;
  try {
    const signal = AbortSignal.timeout(discovery_timeout_ms);
    const offered = await offeredWays({ ...emrEndpoint(ctx, purpose), signal });
    return offered ? sign_in_ways.filter(({ name }) => name === current || offered.includes(name)) : sign_in_ways;
  } catch (error) {
    if (error instanceof EmrFailure) return sign_in_ways;
    throw error;
  }
}

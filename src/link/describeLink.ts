import { connectorOf } from '../accounts/openAccount.ts';
import { type Connector, EmrFailure, type SignInWay } from '../connectors/connector.ts';
import type { Context } from '../context.ts';
import { emrEndpoint } from './callEmr.ts';
import type { LinkPurpose } from './linkTokens.ts';
import { registrationUrl } from './registrationUrls.ts';
import { storedCredentials } from './resolveCredentials.ts';

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
    ways: (await offeredWays(ctx, connector, purpose, stored.way)).map(
      ({ name, label, about, fields, on_page, must_register: tells }) => ({
        name,
        label,
        about,
        fields: [...fields],
        on_page: on_page ?? false,
        tells: tells ? { what: tells, value: registrationUrl(ctx, tells) } : null,
      }),
    ),
    way: stored.way ?? null,
    resend_code: connector.resend_code ?? false,
    language: purpose.language,
    returns: purpose.callback_url !== null,
  };
}

/** The page waits for this. A slow server is asked when somebody signs in. */
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

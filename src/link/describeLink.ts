import { readAccount } from '../accounts/accounts.ts';
import { connectorOf } from '../accounts/openAccount.ts';
import { type Connector, EmrFailure, type ServerDescription, type SignInWay } from '../connectors/connector.ts';
import type { Context } from '../context.ts';
import type { ErrorCode } from '../errors.ts';
import { emrEndpoint } from './callEmr.ts';
import type { ConsentTerms } from './consentTerms.ts';
import { toAccess } from './linkAccess.ts';
import type { LinkPurpose } from './linkTokens.ts';
import { registrationUrl } from './registrationUrls.ts';
import { knownCredentials } from './resolveCredentials.ts';

/** What Link's page needs to render, without secrets. */
export async function describeLink(ctx: Context, purpose: LinkPurpose) {
  const connector = connectorOf(ctx, purpose.connector);
  const { stored, app, account } = await ctx.db.tenant(purpose.client_id, async (tx) => ({
    ...(await knownCredentials(ctx, tx, purpose)),
    account: purpose.account_id === null ? undefined : await readAccount(tx, purpose.account_id),
  }));
  // What the app defines is neither shown nor entered.
  const asked = (name: string) => app?.credentials[name] === undefined && !(app && isOptional(connector, name));
  const [server, ways] = await Promise.all([
    readServer(ctx, connector, purpose),
    app
      ? (connector.sign_in_ways ?? []).filter(({ name }) => name === app.credentials.way)
      : offeredWays(ctx, connector, purpose, stored.way),
  ]);
  const { host, pathname } = new URL(purpose.emr_address);
  const { capabilities = account?.capabilities, sign_in_page } = server;
  const page_host = sign_in_page === undefined ? null : new URL(sign_in_page).host;
  return {
    emr: app?.name ?? (connector.is_standard ? host : connector.display_name),
    product: connector.display_name,
    app: app ? { logo: app.logo } : null,
    organization: purpose.org_id,
    emr_host: host,
    emr_address: `${host}${pathname.replace(/\/$/, '')}`,
    problem: server.problem ?? null,
    access: toAccess(capabilities ?? connector.capabilities, Boolean(capabilities)),
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
    ways: ways.map(({ name, label, about, fields, on_page = false, must_register: tells }) => ({
      name,
      label,
      about,
      fields: fields.filter(asked),
      on_page,
      sign_in_host: on_page ? page_host : host,
      tells: tells && !app ? { what: tells, value: registrationUrl(ctx, tells) } : null,
    })),
    way: app?.credentials.way ?? stored.way ?? null,
    resend_code: connector.resend_code ?? false,
    code_digits: connector.code_digits ?? null,
    codes_page: codesPage(ctx, connector, purpose),
    language: purpose.language,
    returns: purpose.callback_url !== null,
  };
}

/** What the person has to agree to before signing in. */
export function toTerms(
  client: string,
  { emr_address }: LinkPurpose,
  { organization, emr, emr_host, ways, access }: Awaited<ReturnType<typeof describeLink>>,
): ConsentTerms {
  const hosts = ways.flatMap(({ name, sign_in_host }) => (sign_in_host === null ? [] : [[name, sign_in_host]]));
  const sign_in_hosts = ways.length === 0 ? { default: emr_host } : Object.fromEntries(hosts);
  return { client, organization, emr, emr_address, sign_in_hosts, access };
}

function isOptional({ credential_fields }: Connector, name: string): boolean {
  return credential_fields.find((field) => field.name === name)?.optional ?? false;
}

/** Only a sandbox EMR shows the codes of other people. */
function codesPage({ config }: Context, { sandbox_codes_path: path }: Connector, purpose: LinkPurpose): string | null {
  return config.sandbox && path !== undefined ? new URL(path, purpose.emr_address).href : null;
}

/** The page waits for this. A slow server is asked at sign-in instead. */
const discovery_timeout_ms = 4_000;

function discoveryEndpoint(ctx: Context, purpose: LinkPurpose) {
  return { ...emrEndpoint(ctx, purpose), signal: AbortSignal.timeout(discovery_timeout_ms) };
}

/** Why nobody can sign in at this address. */
type AddressProblem = { code: ErrorCode; host: string; reason: string };

/** What the server says about itself. A server that does not respond may do so by the time of the sign-in. */
async function readServer(
  ctx: Context,
  { describeServer }: Connector,
  purpose: LinkPurpose,
): Promise<ServerDescription & { problem?: AddressProblem }> {
  if (!describeServer) return {};
  try {
    return await describeServer(discoveryEndpoint(ctx, purpose));
  } catch (error) {
    if (!(error instanceof EmrFailure)) throw error;
    const { message: reason, unknown_host, wrong_address } = error;
    if (unknown_host !== undefined) return { problem: { code: 'emr_host_not_found', host: unknown_host, reason } };
    if (!wrong_address) return {};
    return { problem: { code: 'emr_address_wrong', host: new URL(purpose.emr_address).host, reason } };
  }
}

/** The ways that the server supports, or all of them if that is not known. The one of a linked account is among them. */
async function offeredWays(
  ctx: Context,
  { sign_in_ways = [], offeredWays }: Connector,
  purpose: LinkPurpose,
  current: string | undefined,
): Promise<readonly SignInWay[]> {
  if (!offeredWays) return sign_in_ways;
  try {
    const offered = await offeredWays(discoveryEndpoint(ctx, purpose));
    return offered ? sign_in_ways.filter(({ name }) => name === current || offered.includes(name)) : sign_in_ways;
  } catch (error) {
    if (error instanceof EmrFailure) return sign_in_ways;
    throw error;
  }
}

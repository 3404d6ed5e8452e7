import type { ErrorCode } from '../../catalog/errors.ts';
import type {
  Connector,
  EmrEndpoint,
  OfferedWays,
  ReportStep,
  ServerDescription,
  SignInWay,
} from '../../emr/connector.ts';
import { EmrFailure } from '../../emr/emrFailure.ts';
import { isPinned, pinnedUrls, same_host } from '../../emr/endpointPins.ts';
import type { Tx } from '../../platform/db/database.ts';
import { type DestinationChange, formatDestination } from '../../platform/security/outbound.ts';
import { hashToken } from '../../platform/security/signatures.ts';
import { readAccount } from '../accounts/accounts.ts';
import { requireConnector } from '../accounts/connectAccount.ts';
import { type EmrApp, emrEndpoint } from '../accounts/emrApps.ts';
import { countRequests } from '../accounts/requestBudgets.ts';
import type { Context } from '../context.ts';
import { findOutage } from '../jobs/outages.ts';
import { readStoredCredentials, saveFailure } from './credentials.ts';
import { type ConsentTerms, toAccess } from './linkConsents.ts';
import { readLinkPractice } from './linkPractices.ts';
import { type AnyPurpose, findLinkToken, type LinkPurpose } from './linkTokens.ts';
import { callbackId, returnAddress } from './registrations.ts';

/** What Link's page needs to render while no practice is chosen. */
export function describeSearch({ org_id, language, callback_url }: AnyPurpose): LinkDescription {
  return {
    ...{ emr: '', product: '', app: null, organization: org_id, emr_host: '', emr_address: '', problem: null },
    ...{ access: { known: false, reads: [], writes: [] }, update: false, fields: [], ways: [], way: null },
    ...{ resend_code: false, code_digits: null, codes_page: null, language, returns: callback_url !== null },
    practice: null,
    outage_since: null,
  };
}

export type LinkDescription = Awaited<ReturnType<typeof describeLink>>;

/**
 * The same when the person opens Link. At a wrong address nobody can sign in, so the attempt to link
 * has already failed, and operators see its connection report.
 */
export async function openLink(ctx: Context, token: string, purpose: LinkPurpose): Promise<LinkDescription> {
  const at = new Date().toISOString();
  const steps: ReportStep[] = [];
  const described = await describeLink(ctx, purpose, (step) => void steps.push(step));
  if (described.problem) {
    const { code, reason: message } = described.problem;
    const report = { address: purpose.emr_address, at, steps };
    await saveFailure(ctx, { token_hash: hashToken(token), purpose }, report, { code, message });
  }
  return described;
}

/** What Link's page needs to render, without secrets. `record` collects the requests that show whether it can. */
export async function describeLink(ctx: Context, purpose: LinkPurpose, record?: (step: ReportStep) => void) {
  const connector = requireConnector(ctx, purpose.connector);
  const { stored, app, account, practice, outage_since } = await ctx.db.tenant(purpose.client_id, async (tx) => ({
    ...(await readStoredCredentials(ctx, tx, purpose)),
    practice: await readLinkPractice(tx, purpose),
    account: purpose.account_id === null ? undefined : await readAccount(tx, purpose.account_id),
    outage_since: purpose.account_id === null ? null : await findOutage(tx, purpose.account_id),
  }));
  // What the app defines is neither shown nor entered.
  const isEntered = (name: string) => app?.credentials[name] === undefined && !(app && isOptional(connector, name));
  const [server, offered] = await Promise.all([
    readServer(ctx, connector, purpose, record),
    app ? undefined : findOffered(ctx, connector, purpose),
  ]);
  const ways = (connector.sign_in_ways ?? []).filter(({ name, app_required, on_page }) => {
    // Only a person who signs in is known to the practice page.
    if (purpose.created_in === 'practice_page') return on_page === true && (!app || name === app.credentials.way);
    return app ? name === app.credentials.way : !app_required && isOffered(offered, name, stored.way);
  });
  const { host, pathname } = new URL(purpose.emr_address);
  const { capabilities = account?.capabilities } = server;
  return {
    emr: nameEmr(connector, app, host),
    product: connector.display_name,
    app: app ? { logo: app.logo } : null,
    organization: purpose.org_id,
    emr_host: host,
    emr_address: `${host}${pathname.replace(/\/$/, '')}`,
    problem: server.problem ?? null,
    access: toAccess(capabilities ?? connector.capabilities, Boolean(capabilities)),
    update: purpose.account_id !== null,
    fields: connector.credential_fields
      .filter(({ name }) => isEntered(name))
      .map(({ name, label, secret, autocomplete, optional }) => ({
        name,
        label,
        secret,
        autocomplete,
        optional: optional ?? false,
        known: Boolean(stored[name]),
        value: secret ? null : (stored[name] ?? null),
      })),
    ways: ways.map((way) => ({
      name: way.name,
      label: way.label,
      about: way.about,
      fields: way.fields.filter(isEntered),
      on_page: way.on_page ?? false,
      sign_in_host: signInHost(purpose, way, app, offered),
      tells:
        way.must_register === 'return_address' && !app
          ? { what: way.must_register, value: returnAddress(ctx, callbackId(purpose)) }
          : null,
    })),
    way: app?.credentials.way ?? ways.find(({ name }) => name === stored.way)?.name ?? null,
    resend_code: connector.resend_code ?? false,
    code_digits: connector.code_digits ?? null,
    codes_page: codesPage(ctx, connector, purpose),
    language: purpose.language,
    returns: purpose.callback_url !== null,
    practice,
    outage_since,
  };
}

/** How people know the EMR. */
export function nameEmr(connector: Connector, app: Pick<EmrApp, 'name'> | undefined, host: string): string {
  return app?.name ?? (connector.is_standard ? host : connector.display_name);
}

/** What the person has to agree to before signing in. */
export function toTerms(
  client: string,
  { emr_address }: LinkPurpose,
  { organization, emr, emr_host, ways, access }: LinkDescription,
): ConsentTerms {
  const hosts = ways.map(({ name, sign_in_host }) => [name, sign_in_host]);
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

async function discoveryEndpoint(ctx: Context, connector: Connector, purpose: LinkPurpose): Promise<EmrEndpoint> {
  const endpoint = await emrEndpoint(ctx, purpose, AbortSignal.timeout(discovery_timeout_ms));
  return countRequests(ctx, endpoint, { connector, emr_app_id: purpose.emr_app_id, urgent: true });
}

/** Why nobody can sign in at this address. */
type AddressProblem = { code: ErrorCode; host: string; reason: string };

/** What the server says about itself. A server that does not respond may do so by the time of the sign-in. */
async function readServer(
  ctx: Context,
  connector: Connector,
  purpose: LinkPurpose,
  record: ((step: ReportStep) => void) | undefined,
): Promise<ServerDescription & { problem?: AddressProblem }> {
  if (!connector.describeServer) return {};
  try {
    const endpoint = await discoveryEndpoint(ctx, connector, purpose);
    return await connector.describeServer({ ...endpoint, record });
  } catch (error) {
    if (!(error instanceof EmrFailure)) throw error;
    const { message: reason, unknown_host, wrong_address } = error;
    if (unknown_host !== undefined) return { problem: { code: 'emr_host_not_found', host: unknown_host, reason } };
    if (!wrong_address) return {};
    return { problem: { code: 'emr_address_wrong', host: new URL(purpose.emr_address).host, reason } };
  }
}

/** What the server supports; undefined if that is not known. */
async function findOffered(ctx: Context, connector: Connector, purpose: LinkPurpose): Promise<OfferedWays | undefined> {
  try {
    return await connector.offeredWays?.(await discoveryEndpoint(ctx, connector, purpose));
  } catch (error) {
    if (error instanceof EmrFailure) return undefined;
    throw error;
  }
}

/** Without knowing what the server supports, all ways are offered. The one of a linked account always is. */
function isOffered(offered: OfferedWays | undefined, way: string, current: string | undefined): boolean {
  return offered === undefined || way === current || offered.ways.includes(way);
}

/**
 * The host that receives what the person enters: of the sign-in page, if there is one, else of the token endpoint. A page
 * on a host that is not allowed is never opened, so it is not named either.
 */
function signInHost(
  { emr_address }: LinkPurpose,
  { on_page }: SignInWay,
  app: EmrApp | undefined,
  offered: OfferedWays | undefined,
): string {
  const pin = (on_page ? app?.authorization_endpoint : app?.token_endpoint) ?? same_host;
  const page = on_page ? offered?.sign_in_page : undefined;
  const tenant_path = app?.tenant_path ?? null;
  const [pinned] = pin === same_host ? [] : pinnedUrls(pin, emr_address, tenant_path);
  const named = pinned ?? (page !== undefined && isPinned(pin, emr_address, page, tenant_path) ? page : emr_address);
  return new URL(named).host;
}

type AddressDetail = { org_id: string; emr_address?: string; destinations?: DestinationChange[] };

/** The audit detail of a link: the address of its EMR, as a new destination if the organization has no EMR yet. */
export async function describeAddress(
  tx: Tx,
  { org_id, emr_address }: Pick<LinkPurpose, 'org_id' | 'emr_address'>,
): Promise<AddressDetail> {
  const address = formatDestination(emr_address);
  const [existing] = await tx`SELECT FROM organizations WHERE org_id = ${org_id}`;
  const destinations: DestinationChange[] = existing ? [] : [{ kind: 'emr', old: null, new: address }];
  return { org_id, emr_address: address, ...(destinations.length > 0 && { destinations }) };
}

/** The same for a link token that was created in this transaction. */
export async function describeLinkToken(tx: Tx, token: string): Promise<AddressDetail | undefined> {
  const purpose = await findLinkToken(tx, token);
  if (!purpose) return undefined;
  // The record of the choice in Link has the address.
  return purpose.emr_address === null ? { org_id: purpose.org_id } : describeAddress(tx, purpose);
}

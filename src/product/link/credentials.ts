import { ApiError, apiError } from '../../catalog/errors.ts';
import type {
  ConnectionReport,
  Connector,
  CredentialField,
  Credentials,
  EmrEndpoint,
  ReportStep,
  SignInRefusal,
  SignInWay,
} from '../../emr/connector.ts';
import { EmrFailure } from '../../emr/emrFailure.ts';
import { trimText } from '../../model/fields.ts';
import type { Tx } from '../../platform/db/database.ts';
import { readAccount } from '../accounts/accounts.ts';
import { currentCredentials, requireConnector } from '../accounts/connectAccount.ts';
import { type EmrApp, emrEndpoint, findEmrApp } from '../accounts/emrApps.ts';
import { countRequests } from '../accounts/requestBudgets.ts';
import type { Context } from '../context.ts';
import { type ReportedError, saveAccountReport, saveLinkReport } from './connectionReports.ts';
import { requirePracticeParams } from './linkApps.ts';
import { countSignIn, type LinkPurpose } from './linkTokens.ts';

/** Trims what was submitted, except secrets: a blank may be part of a password. */
export function trimCredentials(connector: Connector, sent: Credentials): Credentials {
  const secrets = new Set(connector.credential_fields.filter(({ secret }) => secret).map(({ name }) => name));
  const trimmed = Object.entries(sent).map(([name, value]) => [name, secrets.has(name) ? value : trimText(value)]);
  return Object.fromEntries(trimmed);
}

/** Requires exactly the fields of the chosen sign-in method. */
export function checkCredentials(connector: Connector, credentials: Credentials): void {
  const way = connector.sign_in_ways && chosenWay(connector.sign_in_ways, credentials.way);
  const fields = listFields(connector, way);
  const names = [...fields.map((field) => field.name), ...(way ? ['way'] : [])];
  const unknown = Object.keys(credentials).filter((name) => !names.includes(name));
  if (unknown.length > 0) {
    throw apiError('unexpected_fields', { fields: unknown.map((name) => `credentials.${name}`).join(', ') });
  }
  const missing = fields.find(({ name, optional }) => !optional && !credentials[name]?.trim())?.name;
  if (missing) throw missingField(missing);
}

/**
 * The stored credentials updated with the submitted ones. With another sign-in method or client ID, which is another
 * registration at the EMR, the stored ones are dropped.
 */
export function mergeCredentials(stored: Credentials, sent: Credentials): Credentials {
  const changes = (name: string) => sent[name] !== undefined && sent[name] !== stored[name];
  if (changes('way')) return sent;
  if (!stored.client_id || !changes('client_id')) return { ...stored, ...sent };
  return { ...(stored.way !== undefined && { way: stored.way }), ...sent };
}

function listFields(connector: Connector, way: SignInWay | undefined): readonly CredentialField[] {
  return way
    ? connector.credential_fields.filter(({ name }) => way.fields.includes(name))
    : connector.credential_fields;
}

function chosenWay(ways: readonly SignInWay[], name: string | undefined): SignInWay {
  if (!name) throw missingField('way');
  const way = ways.find((each) => each.name === name);
  if (way) return way;
  const rule = `credentials.way must be one of: ${ways.map((each) => each.name).join(', ')}`;
  throw apiError('invalid_field', { rule }, { field: 'credentials.way' });
}

function missingField(name: string) {
  return apiError('missing_field', { field: `credentials.${name}` }, { field: `credentials.${name}` });
}

/**
 * The credentials of a sign-in, not checked yet: those of the EMR app alone, with where they may go, or what was entered,
 * completed by what is known already.
 */
export async function resolveCredentials(
  ctx: Context,
  tx: Tx,
  purpose: LinkPurpose,
  sent: Credentials,
): Promise<ResolvedCredentials> {
  const connector = requireConnector(ctx, purpose.connector);
  const { stored, app } = await readStoredCredentials(ctx, tx, purpose);
  requirePracticeParams(app, purpose.search_params);
  const credentials = app?.credentials ?? mergeCredentials(stored, trimCredentials(connector, sent));
  const way = connector.sign_in_ways?.find(({ name }) => name === credentials.way);
  return { connector, credentials, way, app };
}

type ResolvedCredentials = {
  connector: Connector;
  credentials: Credentials;
  way: SignInWay | undefined;
  app: EmrApp | undefined;
};

/** What need not be entered: the credentials of the EMR app, or without one, in update mode, those of the account. */
type StoredCredentials = { stored: Credentials; app: EmrApp | undefined };

export async function readStoredCredentials(ctx: Context, tx: Tx, purpose: LinkPurpose): Promise<StoredCredentials> {
  const app = purpose.emr_app_id === null ? undefined : await findEmrApp(ctx, tx, purpose.emr_app_id);
  const account = purpose.account_id === null ? undefined : await readAccount(tx, purpose.account_id);
  // Those of an app are for the endpoints of that app, so that a link without it does not use them.
  const entered = purpose.emr_app_id === null && account?.emr_app_id === null;
  if (!account || account.status === 'revoked' || !entered) return { stored: {}, app };
  return { stored: await currentCredentials(ctx, tx, account, account.credentials_sealed), app };
}

/** Servers are probed with a few dozen requests. */
const steps_max = 500;
/** A person waits. */
const sign_in_ms_max = 30_000;

/** The link that someone signs in with. */
type UsedLink = { token_hash: Buffer; purpose: LinkPurpose };

/**
 * Runs one part of a sign-in and returns its result with the connection report. If it fails, the report is stored with
 * the link, and with the account in update mode. Undefined for connectors that do not report.
 */
export async function attemptSignIn<T>(
  ctx: Context,
  link: UsedLink,
  run: (endpoint: EmrEndpoint) => Promise<T>,
): Promise<{ result: T; report: ConnectionReport | undefined }> {
  const { purpose } = link;
  const steps: ReportStep[] = [];
  const record = (step: ReportStep) => void (steps.length < steps_max && steps.push(step));
  const at = new Date().toISOString();
  const report = () => (steps.length > 0 ? { address: purpose.emr_address, at, steps } : undefined);
  try {
    const connector = requireConnector(ctx, purpose.connector);
    const endpoint = await callEmr(connector, () => emrEndpoint(ctx, purpose, AbortSignal.timeout(sign_in_ms_max)));
    const counted = { connector, emr_app_id: purpose.emr_app_id, urgent: true };
    const result = await run({ ...countRequests(ctx, endpoint, counted), record });
    return { result, report: report() };
  } catch (error) {
    const failed = report();
    // A sign-in of the practice page is no attempt to link.
    if (failed && purpose.created_in !== 'practice_page') {
      await saveFailure(ctx, link, failed, toReported(error));
    }
    throw error;
  }
}

/** Stores the report of a failed attempt to link, or to link again. A failure to store it does not affect Link. */
export async function saveFailure(
  ctx: Context,
  { token_hash, purpose: { client_id, account_id } }: UsedLink,
  report: ConnectionReport,
  error: ReportedError,
): Promise<void> {
  try {
    await ctx.db.tenant(client_id, async (tx) => {
      await saveLinkReport(tx, token_hash, report, error);
      if (account_id !== null) await saveAccountReport(tx, { client_id, account_id }, report, error);
    });
  } catch (cause) {
    ctx.log.warn({ err: cause }, 'a connection report could not be stored');
  }
  ctx.notifications.notify('chartwire_live', `accounts ${client_id}`);
}

/** What the EMR's failure says is more precise than the error for the caller. */
function toReported(error: unknown): ReportedError {
  if (!(error instanceof ApiError)) return { code: 'internal', message: 'Internal error.' };
  return { code: error.code, message: error.cause instanceof EmrFailure ? error.cause.message : error.message };
}

/** Calls the EMR and maps its failures to API errors. */
export async function callEmr<T>(connector: Connector, ask: () => Promise<T>): Promise<T> {
  const emr = connector.display_name;
  try {
    return await ask();
  } catch (error) {
    if (!(error instanceof EmrFailure)) throw error;
    const { unknown_host: host, message: reason } = error;
    if (host !== undefined) throw apiError('emr_host_not_found', { host }, { cause: error });
    if (error.wrong_address) throw apiError('emr_address_wrong', { reason }, { cause: error });
    if (error.kind === 'refused') throw apiError('emr_sign_in_refused', { emr, reason }, { cause: error });
    throw apiError('emr_unavailable', { emr }, { cause: error, retry_after_s: 5 });
  }
}

/**
 * The error for a sign-in that the EMR refused. Each reason has its own code, so that nobody corrects the wrong thing.
 * `key_set` is the URL that the EMR must know.
 */
export function refusalError(
  { display_name: emr, sign_in_ways = [] }: Connector,
  refusal: SignInRefusal,
  key_set: string,
): ApiError {
  switch (refusal.reason) {
    case 'key':
      return apiError('emr_key_refused', { emr, key_set });
    case 'scope':
      return apiError('emr_scope_refused', { emr, scopes: refusal.scopes });
    case 'method': {
      const names = sign_in_ways.map(({ name }) => name).filter((name) => refusal.supported_ways.includes(name));
      return apiError('emr_method_refused', { emr, methods: names.join(', ') }, { field: 'credentials.way' });
    }
    default:
      return apiError(codes[refusal.reason], { emr });
  }
}

/** The same error, with the EMR's own explanation. */
export function quoteEmr(
  { code, message, field }: ApiError,
  { display_name: emr }: Connector,
  { emr_message, reason }: SignInRefusal,
): ApiError {
  // The scopes are the explanation.
  const quoted = emr_message === undefined || reason === 'scope' ? '' : ` ${emr} says: "${emr_message}"`;
  return new ApiError(code, message + quoted, { ...(field !== undefined && { field }) });
}

const codes = {
  credentials: 'emr_credentials_wrong',
  code: 'emr_code_wrong',
  locked: 'emr_locked',
  access: 'emr_access_refused',
  client: 'emr_client_refused',
  secret: 'emr_secret_refused',
  no_records: 'emr_no_records',
} as const;

/** Counts a sign-in attempt and throws when the limit is exceeded. Committed before the EMR is called. */
export async function countSignInAttempt(ctx: Context, client_id: string, link_token: string): Promise<void> {
  const spent = await ctx.db.tenant(client_id, (tx) => countSignIn(tx, link_token));
  if (spent === 'exhausted') throw apiError('link_exhausted');
  if (spent === 'gone') throw apiError('link_token_invalid', undefined, { field: 'link_token' });
}

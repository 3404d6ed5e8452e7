import type { ExportedRecords, Exporter } from '../../emr/bulkExports.ts';
import type {
  Access,
  Connector,
  Credentials,
  EmrEndpoint,
  Grant,
  IdentifierSample,
  RefreshedCapabilities,
  RenewGrant,
  SharedMarkers,
} from '../../emr/connector.ts';
import { EmrFailure } from '../../emr/emrFailure.ts';
import type { Capability, OperationName, Operations } from '../../emr/operations/operations.ts';
import type { Database, Tx } from '../../platform/db/database.ts';
import type { Context } from '../context.ts';
import type { UsedSession } from '../jobs/jobs.ts';
import { takeTurns } from '../jobs/writeTurns.ts';
import {
  type Account,
  bindings,
  noteUnexpectedEndpoint,
  readAccountBatched,
  replaceGrant,
  restoreCapabilities,
  type StoredAccount,
  withdrawCapability,
} from './accounts.ts';
import {
  forgetRefusals,
  listRefusedInUse,
  listSupported,
  type OperationObserver,
  recordRefusal,
  recordWorking,
  storeEvidence,
  watchOperations,
} from './capabilities.ts';
import { emrEndpoint, findEmrApp } from './emrApps.ts';
import { renewGrant } from './grantRenewals.ts';
import { countRequests } from './requestBudgets.ts';
import { readServerMarker, recordLoad, storeServerMarker } from './serverFacts.ts';

/** An account with its credentials unsealed, ready for EMR calls. */
export type ConnectedAccount = {
  account: StoredAccount;
  connector: Connector;
  /** Those that the account supports. Whether they work is recorded when they are used. */
  operations: Partial<Operations>;
  /**
   * Discovers the server's capabilities again and stores them. `retry_refused`: also restores what the server declared and
   * then refused in use. `thorough`: probes again what was probed recently (default). Open the account again afterwards:
   * `operations` are those supported before.
   */
  refreshCapabilities: (options?: { retry_refused?: boolean; thorough?: boolean }) => Promise<void>;
  /** Reads lists by bulk export, for connectors that have any. */
  openExporter: () => Exporter | undefined;
  /** The identifiers of a few patients, if the connector has a rule for the MRN. */
  sampleIdentifiers: () => Promise<IdentifierSample | undefined>;
};

/**
 * Opens the account of a job, or of a request, with its sealed credentials. Throws `login_required` if it must be
 * re-linked, and `refused`, which is final, if it was unlinked after the job was accepted: an account that was
 * re-linked since may belong to someone else. Sets the `session` that the job uses, also when it is renewed, and counts
 * its `requests`.
 */
export async function connectAccount(
  given: Context,
  job: { id?: number; client_id: string; account_id: string; session?: UsedSession; requests?: number },
  signal: AbortSignal,
  { exported }: { exported?: ExportedRecords } = {},
): Promise<ConnectedAccount> {
  // A session that is renewed is stored in a dry run too: the EMR may accept the former one no longer.
  const ctx = given.dry_run ? { ...given, db: given.dry_run.db } : given;
  // Read again for every job: an account may have been re-linked, unlinked or renewed since the previous one.
  const account = await readAccountBatched(ctx.db, job);
  if (account && job.id !== undefined && (await isUnlinked(ctx.db, account, job.id))) {
    throw new EmrFailure('refused', 'The account was unlinked.', { code: 'account_unlinked' });
  }
  if (account?.status !== 'active') throw new EmrFailure('login_required', 'The account link has expired.');
  const secrets = await unsealSecrets(ctx, account);
  const connector = requireConnector(ctx, account.connector);
  const session = { grant_sealed: account.grant_sealed, linked_at: account.linked_at };
  job.session = session;
  requireApp(ctx, account, connector, secrets.credentials);
  const onRequest = () => {
    job.requests = (job.requests ?? 0) + 1;
  };
  const { emr_app_id } = account;
  // Somebody waits for a dry run, which fails instead of waiting for the next minute.
  const counted = { connector, emr_app_id, urgent: ctx.dry_run !== undefined, onRequest };
  const endpoint = {
    ...countRequests(ctx, await emrEndpoint(ctx, account, signal), counted),
    observeLoad: loadObserver(ctx, account, connector),
    dry_run: ctx.dry_run !== undefined,
  };
  const access = {
    ...secrets,
    timezone: account.timezone,
    mrn_rule: account.mrn_rule ?? undefined,
    visit_types: account.visit_types ?? undefined,
    shared_markers: sharedMarkers(ctx, account),
    exported,
    saveGrant: async (grant: Grant) => {
      if (!ctx.dry_run) await storeGrant(ctx, account, session, { grant });
    },
    renewGrant: async (used: Grant, renew: RenewGrant) => {
      const { grant, sealed } = await renewGrant(ctx, account, { used, renew, signal });
      session.grant_sealed = sealed;
      return grant;
    },
  };
  const supported = selectOperations(connector.open(endpoint, access), listCapabilities(ctx, account));
  const takes_turns = connector.limits.one_write_per_address && !ctx.dry_run;
  return {
    account,
    connector,
    operations: watchOperations(
      takes_turns ? takeTurns(ctx.db.system, account.emr_address, supported, signal) : supported,
      createObserver(ctx, account),
    ),
    openExporter: () => connector.openExporter?.(endpoint, access),
    sampleIdentifiers: async () => connector.sampleIdentifiers?.(endpoint, access),
    refreshCapabilities: async ({ retry_refused = false, thorough = true } = {}) => {
      if (endpoint.pins) await checkPins(ctx, account, connector, endpoint);
      const refreshed = await connector.refreshCapabilities?.(endpoint, access, { thorough, retry_refused });
      if (retry_refused) await retryRefused(ctx, account);
      if (refreshed) await storeGrant(ctx, account, session, refreshed);
      if (refreshed || retry_refused) ctx.lookups.clear();
    },
  };
}

/**
 * An account that was linked with a signing key before that needed an EMR app must be re-linked with one. The sandbox
 * links such accounts for tests.
 */
function requireApp(
  { config }: Context,
  { emr_app_id }: StoredAccount,
  connector: Connector,
  { way }: Credentials,
): void {
  if (emr_app_id !== null || config.sandbox || !needsApp(connector, way)) return;
  throw new EmrFailure('login_required', 'Signing keys are used with an EMR app only. Link the account again.');
}

/** Whether a way to sign in is available with an EMR app only. */
export function needsApp({ sign_in_ways = [] }: Connector, way: string | undefined): boolean {
  return sign_in_ways.some(({ name, app_required }) => app_required && name === way);
}

/** Looks whether the EMR still names the endpoints that the account's EMR app allows. If not, an alert is open. */
async function checkPins(
  ctx: Context,
  account: StoredAccount,
  { unexpectedEndpoint }: Connector,
  endpoint: EmrEndpoint,
): Promise<void> {
  if (!unexpectedEndpoint) return;
  try {
    const unexpected = await unexpectedEndpoint(endpoint);
    await createRecorder(ctx, account)((tx) => noteUnexpectedEndpoint(tx, account.id, unexpected));
  } catch (error) {
    // A server that does not publish its endpoints right now has not changed them.
    if (!(error instanceof EmrFailure)) throw error;
  }
}

function selectOperations(operations: Partial<Operations>, capabilities: readonly Capability[]): Partial<Operations> {
  const supported = Object.entries(operations).filter(([name]) => capabilities.includes(name as OperationName));
  return Object.fromEntries(supported);
}

/** Records which operations of an account work, and withdraws one that its server refuses as a whole. */
function createObserver(ctx: Context, account: StoredAccount): OperationObserver {
  const working = new Set<Capability>(account.known_to_work);
  const record = createRecorder(ctx, account);
  return {
    call: (name, work) => ctx.telemetry.span(`EMR ${name}`, { attributes: { 'chartwire.emr_operation': name } }, work),
    worked: async (name) => {
      if (working.has(name)) return;
      working.add(name);
      await record((tx) => recordWorking(tx, account.id, name, null));
    },
    refused: async (name, { message }) => {
      const all = requireConnector(ctx, account.connector).capabilities;
      await record(async (tx) => {
        if (await withdrawCapability(tx, account, name, all)) await recordRefusal(tx, account, name, message);
      });
      ctx.lookups.clear();
    },
  };
}

/**
 * Measures how many writes the account's server can handle. Observations that would not change anything are not
 * recorded.
 */
function loadObserver(ctx: Context, account: StoredAccount, connector: Connector): EmrEndpoint['observeLoad'] {
  const { measured_max } = connector.limits;
  if (measured_max === undefined) return undefined;
  const record = createRecorder(ctx, account);
  const at_most = (account.parallel_writes ?? 1) >= (account.parallel_writes_max ?? measured_max);
  return async (sign) => {
    if (sign === 'created' && at_most) return;
    await record((tx) => recordLoad(tx, account, sign, measured_max));
  };
}

/** Records what using an account has shown, except in a dry run. A failure is only logged: the EMR has responded either way. */
function createRecorder(
  ctx: Context,
  { client_id }: StoredAccount,
): (work: (tx: Tx) => Promise<void>) => Promise<void> {
  return async (work) => {
    if (ctx.dry_run) return;
    try {
      await ctx.db.tenant(client_id, work);
    } catch (error) {
      ctx.log.error({ err: error }, 'what is known about an account could not be recorded');
    }
  };
}

function sharedMarkers(ctx: Context, account: StoredAccount): SharedMarkers {
  const record = createRecorder(ctx, account);
  return {
    find: (type) => ctx.db.tenant(account.client_id, (tx) => readServerMarker(tx, account, type)),
    store: (type, marker) => record((tx) => storeServerMarker(tx, account, type, marker)),
  };
}

/** Restores what the server refused in use, because an operator asks for it. */
async function retryRefused(ctx: Context, { client_id, id }: StoredAccount): Promise<void> {
  await ctx.db.tenant(client_id, async (tx) => restoreCapabilities(tx, id, await forgetRefusals(tx, id)));
}

async function isUnlinked(
  db: Database,
  { client_id, status, unlinked_at }: StoredAccount,
  job_id: number,
): Promise<boolean> {
  if (status === 'revoked' || unlinked_at === null) return status === 'revoked';
  const [earlier] = await db.read(
    client_id,
    (sql) => sql`SELECT jobs.id FROM jobs JOIN accounts ON accounts.id = jobs.account_id
      WHERE jobs.id = ${job_id} AND jobs.created_at < accounts.unlinked_at`,
  );
  return earlier !== undefined;
}

/** In a transaction only if the account has an app, whose credentials are stored elsewhere, or its key was not used yet. */
async function unsealSecrets(ctx: Context, account: StoredAccount): Promise<Pick<Access, 'credentials' | 'grant'>> {
  const { id, client_id, emr_app_id, credentials_sealed, grant_sealed } = account;
  const credentials =
    emr_app_id === null ? ctx.vault.unsealInMemory(credentials_sealed, bindings.credentials(id)) : undefined;
  const grant = ctx.vault.unsealInMemory(grant_sealed, bindings.grant(id));
  // Sealed by linkAccount from values of these types.
  if (credentials !== undefined && grant !== undefined) {
    return { credentials: JSON.parse(credentials), grant: JSON.parse(grant) };
  }
  return ctx.db.tenant(client_id, async (tx) => ({
    credentials: await currentCredentials(ctx, tx, account, credentials_sealed),
    grant: JSON.parse(await ctx.vault.unseal(tx, grant_sealed, bindings.grant(id))),
  }));
}

/**
 * The credentials of an account: those of its app alone, if it has one. What was stored with the account then is of an
 * earlier registration, which may have been for another token endpoint.
 */
export async function currentCredentials(
  ctx: Pick<Context, 'vault'>,
  tx: Tx,
  { id, emr_app_id }: Pick<StoredAccount, 'id' | 'emr_app_id'>,
  sealed: Buffer,
): Promise<Credentials> {
  const app = emr_app_id === null ? undefined : await findEmrApp(ctx, tx, emr_app_id);
  if (app) return app.credentials;
  // Sealed by linkAccount from a value of this type.
  return JSON.parse(await ctx.vault.unseal(tx, sealed, bindings.credentials(id)));
}

export function requireConnector(ctx: Pick<Context, 'connectors'>, name: string): Connector {
  const connector = ctx.connectors.get(name);
  if (!connector) throw new Error(`No connector is called ${name}.`);
  return connector;
}

/** The operations and fields available for an account: those of its connector, minus those its server does not support. */
export function listCapabilities(
  ctx: Pick<Context, 'connectors'>,
  account: Pick<Account, 'connector' | 'capabilities'>,
): readonly Capability[] {
  const { capabilities } = requireConnector(ctx, account.connector);
  const discovered = account.capabilities;
  return discovered === null ? capabilities : capabilities.filter((name) => discovered.includes(name));
}

/**
 * Stores what was learned about the server with its session, which becomes the one that is in use. If the session was
 * renewed or the account re-linked in the meantime, the stored grant is kept, and this one is used by its caller only.
 */
async function storeGrant(
  ctx: Context,
  account: StoredAccount,
  session: UsedSession,
  learned: { grant: Grant } | RefreshedCapabilities,
): Promise<void> {
  const { id, client_id } = account;
  const { grant } = learned;
  const refreshed = 'capabilities' in learned ? learned : undefined;
  const before = session.grant_sealed;
  session.grant_sealed = await ctx.db.tenant(client_id, async (tx) => {
    const sealed = await ctx.vault.seal(tx, { client_id, owner_id: id }, bindings.grant(id), JSON.stringify(grant));
    // What was refused in use stays refused, whatever the server declares: it declared the same before.
    const refused = refreshed ? await listRefusedInUse(tx, id) : [];
    const capabilities = refreshed && listSupported(refreshed).filter((name) => !refused.includes(name));
    const connector = requireConnector(ctx, account.connector);
    const document_bytes_max = connector.documentBytesMax?.(grant) ?? null;
    const server_findings = connector.serverFindings?.(grant) ?? [];
    const replaced = await replaceGrant(tx, id, { before, sealed, capabilities, document_bytes_max, server_findings });
    if (replaced && refreshed) await storeEvidence(tx, account, refreshed);
    return replaced ? sealed : before;
  });
}

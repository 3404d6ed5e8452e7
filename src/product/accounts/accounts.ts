import { apiError } from '../../catalog/errors.ts';
import { newReference, parseId } from '../../catalog/ids.ts';
import type { MrnRule, VisitType } from '../../emr/connector.ts';
import type { Capability } from '../../emr/operations/operations.ts';
import type { SearchConstants } from '../../emr/requestSettings.ts';
import { readBatch } from '../../platform/db/batches.ts';
import type { Database, Fragment, Query, Tx } from '../../platform/db/database.ts';
import { hashCredential } from '../../platform/security/signatures.ts';
import type { Context } from '../context.ts';
import type { Job, UsedSession } from '../jobs/jobs.ts';
import { parkJobs } from '../jobs/park.ts';
import { emitEvent } from '../webhooks/events.ts';
import { knownToWork, mrnRule } from './capabilities.ts';

/** A linked EMR account: one user of one organization, under one client. */
export type Account = {
  id: string;
  client_id: string;
  organization_id: string;
  user_id: string;
  org_id: string;
  connector: string;
  reference_id: string;
  status: 'active' | 'login_required' | 'revoked';
  /** The operations its server supports, as discovered at linking; null: all operations of the connector. */
  capabilities: readonly Capability[] | null;
  /** The hash of its access token. For a caller: of the token it presented, which may be one that was replaced. */
  token_hash: Buffer;
};

/** The account of an access token, current or replaced. An unlinked account is treated as unknown. */
export function findAccountByToken(ctx: Context, access_token: string): Promise<Account | undefined> {
  const hash = hashCredential(access_token);
  return ctx.lookups.find('access_token', hash.toString('hex'), async () => {
    const [row] = await ctx.db.system<Account[]>`
      SELECT accounts.id, accounts.client_id, accounts.organization_id, accounts.user_id, organizations.org_id,
             organizations.connector, accounts.reference_id, accounts.status, accounts.capabilities,
             ${hash}::bytea AS token_hash
        FROM accounts JOIN organizations ON organizations.id = accounts.organization_id
       WHERE accounts.status <> 'revoked' AND (accounts.token_hash = ${hash} OR accounts.id =
             (SELECT account_id FROM replaced_tokens WHERE token_hash = ${hash} AND expires_at > now()))`;
    return row;
  });
}

export type StoredAccount = Account & {
  emr_address: string;
  /** Those that name the practice, where several share the address. */
  search_params: SearchConstants;
  timezone: string;
  /** The person who signed in to the EMR when the account was linked. */
  emr_user_id: string;
  emr_user_name: string;
  /** The app it was linked with, if any. */
  emr_app_id: string | null;
  /** When the account was last linked, as PostgreSQL writes it: a Date would lose the microseconds. */
  linked_at: string;
  /** When the account was last unlinked. */
  unlinked_at: Date | null;
  /** The capabilities that were seen to work recently. */
  known_to_work: Capability[];
  /** How many writes may run at the same time, and at most, if the connector measures it; null: not measured or set. */
  parallel_writes: number | null;
  parallel_writes_max: number | null;
  /** Which identifier is the MRN; null: the connector decides. */
  mrn_rule: MrnRule | null;
  /** Set by an operator, for EMRs that do not list theirs. */
  visit_types: VisitType[] | null;
  credentials_sealed: Buffer;
  grant_sealed: Buffer;
  token_sealed: Buffer;
};

export async function readAccount(tx: Tx, account_id: string): Promise<StoredAccount | undefined> {
  const [row] = await tx<StoredAccount[]>`${selectAccount(tx, tx`${account_id}::uuid`)}`;
  return row;
}

/** The same for jobs that start together, in one statement. */
export function readAccountBatched(
  db: Database,
  { client_id, account_id }: { client_id: string; account_id: string },
): Promise<StoredAccount | undefined> {
  return db.batched(client_id, accounts_read, { account_id });
}

const accounts_read = readBatch<{ account_id: string }, StoredAccount>((sql) =>
  selectAccount(sql, sql`(requested.request ->> 'account_id')::uuid`),
);

function selectAccount(sql: Query, account_id: Fragment): Fragment {
  return sql`SELECT accounts.id, accounts.client_id, accounts.organization_id, accounts.user_id, organizations.org_id,
           organizations.connector, organizations.emr_address, organizations.search_params, organizations.timezone,
           accounts.reference_id,
           accounts.status, accounts.capabilities, accounts.emr_user_id, accounts.emr_user_name, accounts.emr_app_id,
           accounts.unlinked_at, accounts.linked_at::text AS linked_at, ${knownToWork(sql)} AS known_to_work,
           (SELECT parallel FROM write_limits WHERE account_id = accounts.id) AS parallel_writes,
           organizations.parallel_writes_max, ${mrnRule(sql)} AS mrn_rule, organizations.visit_types,
           accounts.credentials_sealed, accounts.grant_sealed, accounts.token_hash, accounts.token_sealed
      FROM accounts JOIN organizations ON organizations.id = accounts.organization_id
     WHERE accounts.id = ${account_id}`;
}

/** Reads an account by the id in a path, or throws record_not_found. */
export async function getAccount(tx: Tx, account_id: string): Promise<StoredAccount> {
  const id = parseId(account_id);
  const account = id && (await readAccount(tx, id));
  if (!account) throw apiError('record_not_found', { noun: 'Account', id: account_id });
  return account;
}

/**
 * Locks an account, without blocking jobs that are being accepted for it. Linking, unlinking and parking lock this row
 * first: before lanes and jobs, and after the organization.
 */
export async function lockAccount(tx: Tx, account_id: string): Promise<void> {
  await tx`SELECT FROM accounts WHERE id = ${account_id} FOR NO KEY UPDATE`;
}

/** The account that a user of an organization has, unless it was unlinked. */
export async function findLinkedAccount(
  tx: Tx,
  { org_id, user_id }: { org_id: string; user_id: string },
): Promise<Pick<StoredAccount, 'id' | 'emr_user_id' | 'emr_user_name'> | undefined> {
  const [row] = await tx<Pick<StoredAccount, 'id' | 'emr_user_id' | 'emr_user_name'>[]>`
    SELECT accounts.id, emr_user_id, emr_user_name
      FROM accounts JOIN organizations ON organizations.id = accounts.organization_id
     WHERE org_id = ${org_id} AND user_id = ${user_id} AND status <> 'revoked'`;
  return row;
}

/** The bindings of an account's sealed values: moved to another row or column they cannot be decrypted. */
export const bindings = {
  token: (account_id: string) => `access_token:${account_id}`,
  credentials: (account_id: string) => `credentials:${account_id}`,
  grant: (account_id: string) => `grant:${account_id}`,
};

/** What linking stores of an account. */
export type LinkedAccount = {
  credentials_sealed: Buffer;
  grant_sealed: Buffer;
  user: { ehr_id: string; name: string };
  emr_app_id: string | null;
  capabilities: readonly Capability[] | null;
  document_bytes_max: number | null;
  server_findings: readonly string[];
};

export type SealedToken = { hash: Buffer; sealed: Buffer };

export async function addAccount(
  tx: Tx,
  account: { id: string; client_id: string; organization_id: string; user_id: string; token: SealedToken },
  linked: LinkedAccount,
): Promise<void> {
  const { id, client_id, organization_id, user_id, token } = account;
  await tx`INSERT INTO accounts (id, client_id, organization_id, user_id, reference_id, token_hash, token_sealed,
      status, credentials_sealed, grant_sealed, emr_user_id, emr_user_name, emr_app_id, capabilities,
      document_bytes_max, server_findings)
    VALUES (${id}, ${client_id}, ${organization_id}, ${user_id}, ${newReference('access_token_reference_id')},
      ${token.hash}, ${token.sealed}, 'active', ${linked.credentials_sealed}, ${linked.grant_sealed},
      ${linked.user.ehr_id}, ${linked.user.name}, ${linked.emr_app_id}, ${linked.capabilities && [...linked.capabilities]},
      ${linked.document_bytes_max}, ${[...linked.server_findings]})`;
  await announceChange(tx);
}

/** Makes a known account active with new credentials. */
export async function relinkAccount(tx: Tx, id: string, linked: LinkedAccount): Promise<void> {
  await tx`UPDATE accounts SET status = 'active', status_reason = NULL,
    credentials_sealed = ${linked.credentials_sealed}, grant_sealed = ${linked.grant_sealed},
    emr_user_id = ${linked.user.ehr_id}, emr_user_name = ${linked.user.name}, emr_app_id = ${linked.emr_app_id},
    capabilities = ${linked.capabilities && [...linked.capabilities]},
    document_bytes_max = ${linked.document_bytes_max}, server_findings = ${[...linked.server_findings]},
    unexpected_endpoint = NULL, linked_at = clock_timestamp()
    WHERE id = ${id}`;
  await announceChange(tx);
}

export async function replaceToken(tx: Tx, id: string, { hash, sealed }: SealedToken): Promise<void> {
  await tx`UPDATE accounts SET token_hash = ${hash}, token_sealed = ${sealed} WHERE id = ${id}`;
  await announceChange(tx);
}

/**
 * Replaces a stored session with what follows from it, and the capabilities if given. Returns false if the session is no
 * longer `before`.
 */
export async function replaceGrant(
  tx: Tx,
  id: string,
  {
    before,
    sealed,
    capabilities,
    document_bytes_max,
    server_findings,
  }: {
    before: Buffer;
    sealed: Buffer;
    capabilities?: readonly Capability[] | undefined;
    document_bytes_max: number | null;
    server_findings: readonly string[];
  },
): Promise<boolean> {
  const capabilities_change = capabilities ? tx`, capabilities = ${[...capabilities]}` : tx``;
  const replaced = await tx`UPDATE accounts SET grant_sealed = ${sealed}, document_bytes_max = ${document_bytes_max},
      server_findings = ${[...server_findings]} ${capabilities_change}
    WHERE id = ${id} AND grant_sealed = ${before}`;
  if (capabilities) await announceChange(tx);
  return replaced.count > 0;
}

/** Stores a renewed session; see renewGrant.ts. */
export async function setGrant(tx: Tx, id: string, grant_sealed: Buffer): Promise<void> {
  await tx`UPDATE accounts SET grant_sealed = ${grant_sealed} WHERE id = ${id}`;
}

/**
 * Withdraws a capability. `all` are those of the connector, for an account that supports all of them. Returns false
 * if the account no longer supports it, or was re-linked since.
 */
export async function withdrawCapability(
  tx: Tx,
  { id, linked_at }: Pick<StoredAccount, 'id' | 'linked_at'>,
  capability: Capability,
  all: readonly Capability[],
): Promise<boolean> {
  const changed =
    await tx`UPDATE accounts SET capabilities = array_remove(coalesce(capabilities, ${[...all]}), ${capability})
    WHERE id = ${id} AND status <> 'revoked' AND linked_at = ${linked_at}::timestamptz
      AND ${capability} = ANY (coalesce(capabilities, ${[...all]}))`;
  if (changed.count > 0) await announceChange(tx);
  return changed.count > 0;
}

/** Restores capabilities that were withdrawn. */
export async function restoreCapabilities(tx: Tx, id: string, restored: readonly Capability[]): Promise<void> {
  if (restored.length === 0) return;
  await tx`UPDATE accounts SET capabilities = capabilities || ARRAY(
      SELECT unnest(${[...restored]}::text[]) EXCEPT SELECT unnest(capabilities))
    WHERE id = ${id} AND capabilities IS NOT NULL`;
  await announceChange(tx);
}

/**
 * Marks an account whose EMR refused the session that was used. Returns false if the account is not active, or has
 * another session by now: it was re-linked or renewed, or its app has new credentials.
 */
export async function markLoginRequired(tx: Tx, id: string, used: UsedSession, reason: string): Promise<boolean> {
  const changed = await tx`UPDATE accounts SET status = 'login_required', status_reason = ${reason}
    WHERE id = ${id} AND status = 'active' AND grant_sealed = ${used.grant_sealed}
      AND linked_at = ${used.linked_at}::timestamptz`;
  if (changed.count > 0) await announceChange(tx);
  return changed.count > 0;
}

/** Notes an endpoint that the EMR names although the account's EMR app does not allow it, or that there is none anymore. */
export async function noteUnexpectedEndpoint(tx: Tx, id: string, endpoint: string | undefined): Promise<void> {
  await tx`UPDATE accounts SET unexpected_endpoint = ${endpoint ?? null}
    WHERE id = ${id} AND unexpected_endpoint IS DISTINCT FROM ${endpoint ?? null}`;
}

/**
 * Makes the expired accounts of an app active again, because its credentials have changed. Returns their ids. The
 * others count as re-linked too, so that a job that still uses the old credentials does not mark them.
 */
export async function reactivateAccounts(tx: Tx, emr_app_id: string): Promise<string[]> {
  await tx`UPDATE accounts SET linked_at = clock_timestamp() WHERE emr_app_id = ${emr_app_id} AND status = 'active'`;
  const rows = await tx<{ id: string }[]>`
    UPDATE accounts SET status = 'active', status_reason = NULL, linked_at = clock_timestamp()
     WHERE emr_app_id = ${emr_app_id} AND status = 'login_required' RETURNING id`;
  if (rows.length > 0) await announceChange(tx);
  return rows.map(({ id }) => id);
}

/** Unlinks an account and deletes its credentials, session and access token. */
export async function markRevoked(tx: Tx, id: string): Promise<void> {
  const nothing = Buffer.alloc(0);
  await tx`UPDATE accounts SET status = 'revoked', status_reason = NULL, unlinked_at = clock_timestamp(),
    credentials_sealed = ${nothing}, grant_sealed = ${nothing}, token_sealed = ${nothing} WHERE id = ${id}`;
  await announceChange(tx);
}

/** Other processes cache accounts by access token; on commit they read them again. */
async function announceChange(tx: Tx): Promise<void> {
  await tx`SELECT pg_notify('chartwire_access', current_setting('chartwire.client_id', true))`;
}

/**
 * Marks an account as `login_required`, sends the event once and parks the account's queued jobs, in one transaction.
 * An account that was unlinked, or whose session is no longer the one that this attempt used, is left alone. Returns
 * whether the account must be re-linked.
 */
export async function expireAccount(ctx: Context, job: Job, reason: string): Promise<boolean> {
  const { client_id, account_id, session } = job;
  const needed = await ctx.db.repeatable(client_id, async (tx) => {
    // Without a session, the account was not active when the attempt opened it.
    const changed = session !== undefined && (await markLoginRequired(tx, account_id, session, reason));
    const account = await readAccount(tx, account_id);
    if (!changed || !account) return account?.status === 'login_required';
    await emitEvent(tx, {
      client_id,
      account_id,
      job_id: null,
      traceparent: ctx.telemetry.traceparent(),
      event: {
        type: 'login_required',
        data: {
          access_token_reference_id: account.reference_id,
          user_id: account.user_id,
          org_id: account.org_id,
          emr_name: account.connector,
          reason,
        },
      },
    });
    await parkJobs(tx, account_id);
    return true;
  });
  ctx.lookups.clear();
  ctx.notifications.notify('chartwire_deliveries', client_id);
  return needed;
}

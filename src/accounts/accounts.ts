import type { OperationName } from '../connectors/connector.ts';
import type { Context } from '../context.ts';
import type { Database, Tx } from '../db/database.ts';
import { apiError } from '../errors.ts';
import { parseId } from '../ids.ts';
import type { Attention } from '../model/dashboard/overview.ts';
import { hashToken } from '../security/hash.ts';

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
  offers: readonly OperationName[] | null;
};

/** The account of an access token. A revoked account is treated as unknown. */
export function findAccountByToken(ctx: Context, access_token: string): Promise<Account | undefined> {
  const hash = hashToken(access_token);
  return ctx.lookups.find(`account ${hash.toString('hex')}`, async () => {
    const [row] = await ctx.db.system<Account[]>`
      SELECT accounts.id, accounts.client_id, accounts.organization_id, accounts.user_id, organizations.org_id,
             organizations.connector, accounts.reference_id, accounts.status, accounts.offers
        FROM accounts JOIN organizations ON organizations.id = accounts.organization_id
       WHERE accounts.token_hash = ${hash} AND accounts.status <> 'revoked'`;
    return row;
  });
}

export type StoredAccount = Account & {
  emr_address: string;
  timezone: string;
  emr_user_name: string;
  credentials_sealed: Buffer;
  grant_sealed: Buffer;
  token_sealed: Buffer;
};

export async function readAccount(tx: Tx, account_id: string): Promise<StoredAccount | undefined> {
  const [row] = await tx<StoredAccount[]>`
    SELECT accounts.id, accounts.client_id, accounts.organization_id, accounts.user_id, organizations.org_id,
           organizations.connector, organizations.emr_address, organizations.timezone, accounts.reference_id,
           accounts.status, accounts.offers, accounts.emr_user_name, accounts.credentials_sealed, accounts.grant_sealed,
           accounts.token_sealed
      FROM accounts JOIN organizations ON organizations.id = accounts.organization_id
     WHERE accounts.id = ${account_id}`;
  return row;
}

/** Reads an account by the id in a path, or throws record_not_found. */
export async function getAccount(tx: Tx, account_id: string): Promise<StoredAccount> {
  const id = parseId(account_id);
  const account = id && (await readAccount(tx, id));
  if (!account) throw apiError('record_not_found', { noun: 'Account', id: account_id });
  return account;
}

/** The bindings of an account's sealed values: moved to another row or column they cannot be decrypted. */
export const bindings = {
  token: (account_id: string) => `access_token:${account_id}`,
  credentials: (account_id: string) => `credentials:${account_id}`,
  grant: (account_id: string) => `grant:${account_id}`,
};

/** A client's accounts that must be linked again, and why. */
export function listLoginRequired(db: Database, client_id: string): Promise<Attention['accounts']> {
  return db.search<Attention['accounts'][number]>(
    client_id,
    (sql) => sql`SELECT accounts.id, user_id, org_id, status_reason AS reason
      FROM accounts JOIN organizations ON organizations.id = organization_id
     WHERE status = 'login_required' ORDER BY org_id, user_id`,
  );
}

import type { OperationName } from '../connectors/connector.ts';
import type { Context } from '../context.ts';
import type { Database, Tx } from '../db/database.ts';
import { refusal } from '../errors.ts';
import { parseId } from '../ids.ts';
import type { Attention } from '../model/dashboard/overview.ts';
import { hashToken } from '../security/hash.ts';

/** A linked EMR account: one user of one organisation, under one client. */
export type Account = {
  id: string;
  client_id: string;
  organisation_id: string;
  user_id: string;
  org_id: string;
  connector: string;
  reference_id: string;
  status: 'active' | 'login_required' | 'revoked';
  /** What its server can do, as found out when it was linked; null: all that the connector offers. See offersOf. */
  offers: readonly OperationName[] | null;
};

/** The account an access token opens. A revoked one is as unknown as one that never was. */
export function findAccountByToken(ctx: Context, access_token: string): Promise<Account | undefined> {
  const hash = hashToken(access_token);
  return ctx.lookups.find(`account ${hash.toString('hex')}`, async () => {
    const [row] = await ctx.db.system<Account[]>`
      SELECT accounts.id, accounts.client_id, accounts.organisation_id, accounts.user_id, organisations.org_id,
             organisations.connector, accounts.reference_id, accounts.status, accounts.offers
        FROM accounts JOIN organisations ON organisations.id = accounts.organisation_id
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
    SELECT accounts.id, accounts.client_id, accounts.organisation_id, accounts.user_id, organisations.org_id,
           organisations.connector, organisations.emr_address, organisations.timezone, accounts.reference_id,
           accounts.status, accounts.offers, accounts.emr_user_name, accounts.credentials_sealed, accounts.grant_sealed,
           accounts.token_sealed
      FROM accounts JOIN organisations ON organisations.id = accounts.organisation_id
     WHERE accounts.id = ${account_id}`;
  return row;
}

/** The account that an address names, or the refusal that there is none. */
export async function getAccount(tx: Tx, account_id: string): Promise<StoredAccount> {
  const id = parseId(account_id);
  const account = id && (await readAccount(tx, id));
  if (!account) throw refusal('record_not_found', { noun: 'Account', id: account_id });
  return account;
}

/** What each sealed value of an account is bound to: moved to another row or column it does not open. */
export const bindings = {
  token: (account_id: string) => `access_token:${account_id}`,
  credentials: (account_id: string) => `credentials:${account_id}`,
  grant: (account_id: string) => `grant:${account_id}`,
};

/** The accounts of a client that need a person, and why. */
export function listLoginRequired(db: Database, client_id: string): Promise<Attention['accounts']> {
  return db.search<Attention['accounts'][number]>(
    client_id,
    (sql) => sql`SELECT accounts.id, user_id, org_id, status_reason AS reason
      FROM accounts JOIN organisations ON organisations.id = organisation_id
     WHERE status = 'login_required' ORDER BY org_id, user_id`,
  );
}

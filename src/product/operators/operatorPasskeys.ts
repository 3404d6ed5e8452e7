import { newId } from '../../catalog/ids.ts';
import type { Context } from '../context.ts';
import type { Sql, Tx } from '../../platform/db/database.ts';
import type { PasskeyRow } from '../../model/dashboard/session.ts';

/** A passkey as a sign-in is checked against it, with its operator. */
export type KnownPasskey = {
  id: string;
  operator_id: string;
  email: string;
  credential_id: string;
  public_key: Buffer;
  counter: number;
  transports: string[];
};

export type NewPasskey = Omit<KnownPasskey, 'id' | 'email'> & { name: string };

/** Returns undefined if the credential is registered already. */
export async function addPasskey(tx: Tx, passkey: NewPasskey): Promise<string | undefined> {
  const id = newId();
  const added = await tx`
    INSERT INTO operator_passkeys ${tx.values({ ...passkey, id })} ON CONFLICT (credential_id) DO NOTHING`;
  return added.count > 0 ? id : undefined;
}

export async function listPasskeys(ctx: Pick<Context, 'db'>, operator_id: string): Promise<PasskeyRow[]> {
  return ctx.db.system<PasskeyRow[]>`
    SELECT id, name, iso(created_at) AS created_at, iso(used_at) AS used_at
      FROM operator_passkeys WHERE operator_id = ${operator_id} ORDER BY id`;
}

/** The credential ids of an operator's passkeys, so that a browser does not register the same device twice. */
export async function credentialsOf(sql: Sql | Tx, operator_id: string): Promise<{ id: string }[]> {
  return sql<{ id: string }[]>`
    SELECT credential_id AS id FROM operator_passkeys WHERE operator_id = ${operator_id}`;
}

export async function findPasskey(ctx: Pick<Context, 'db'>, credential_id: string): Promise<KnownPasskey | undefined> {
  const [row] = await ctx.db.system<KnownPasskey[]>`
    SELECT operator_passkeys.id, operator_id, email, credential_id, public_key, counter, transports
      FROM operator_passkeys JOIN operators ON operators.id = operator_id
     WHERE credential_id = ${credential_id} AND disabled_at IS NULL`;
  return row;
}

/** Returns false if the passkey was deleted, or used with this count, at the same time. Some never count and send 0. */
export async function markPasskeyUsed(ctx: Pick<Context, 'db'>, id: string, counter: number): Promise<boolean> {
  const used = await ctx.db.system`
    UPDATE operator_passkeys SET counter = ${counter}, used_at = now()
     WHERE id = ${id} AND (counter < ${counter} OR (counter = 0 AND ${counter} = 0))`;
  return used.count > 0;
}

export async function hasPasskeys(sql: Sql | Tx, operator_id: string): Promise<boolean> {
  const rows = await sql`SELECT FROM operator_passkeys WHERE operator_id = ${operator_id} LIMIT 1`;
  return rows.length > 0;
}

/** Deletes one of an operator's own passkeys. Returns false if there is no such passkey. */
export async function deletePasskey(tx: Tx, operator_id: string, id: string): Promise<boolean> {
  const deleted = await tx`DELETE FROM operator_passkeys WHERE operator_id = ${operator_id} AND id = ${id}`;
  return deleted.count > 0;
}

export async function deletePasskeysOf(tx: Tx, operator_id: string): Promise<void> {
  await tx`DELETE FROM operator_passkeys WHERE operator_id = ${operator_id}`;
}

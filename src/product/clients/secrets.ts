import { apiError } from '../../catalog/errors.ts';
import { newId, newToken } from '../../catalog/ids.ts';
import type { SecretAccess } from '../../catalog/secretAccess.ts';
import type { Query, Tx } from '../../platform/db/database.ts';
import { hashCredential, hashToken, sameHash } from '../../platform/security/signatures.ts';
import type { Context, SecretUses } from '../context.ts';

/** What a secret permits. `org_id`: only requests for this organization, which need not be linked yet. */
export type SecretScope = { access: SecretAccess; org_id: string | null };

export type NewSecret = Partial<SecretScope> & {
  /** An operator's email address, or the part of the service. */
  created_by?: string;
  label?: string | undefined;
  /** An ISO timestamp; null: it does not expire. */
  expires_at?: string | null;
};

export type StoredSecret = SecretScope & { id: string; secret_hash: Buffer; expires_at: Date | null };

export async function readActiveSecrets(sql: Query, client_id: string): Promise<StoredSecret[]> {
  return sql<StoredSecret[]>`
    SELECT id, secret_hash, access, org_id, expires_at FROM client_secrets
     WHERE client_id = ${client_id} AND revoked_at IS NULL ORDER BY id`;
}

/** Whether one of these secrets was sent, expired or not. */
export function hasSecret(secrets: readonly StoredSecret[], sent: string): boolean {
  return findSecret(secrets, sent) !== undefined;
}

function findSecret(secrets: readonly StoredSecret[], sent: string): StoredSecret | undefined {
  const hash = hashCredential(sent);
  return secrets.find(({ secret_hash }) => sameHash(secret_hash, hash));
}

/** The one of these secrets that was sent. */
export function matchSecret(secrets: readonly StoredSecret[], sent: string): StoredSecret | undefined {
  const match = findSecret(secrets, sent);
  if (match?.expires_at && match.expires_at.getTime() <= Date.now()) {
    throw apiError('client_secret_expired', { expired_at: match.expires_at.toISOString() });
  }
  return match;
}

/** So that a secret can be replaced without downtime. */
const active_of_scope = 2;
/** Every request compares its secret with all of them. */
const active_max = 200;

/** Adds a secret. Two with the same scope can be active; a third revokes the oldest of them. */
export async function addSecret(
  tx: Tx,
  client_id: string,
  mode: 'live' | 'test',
  { created_by, label, access = 'read_write', org_id = null, expires_at = null }: NewSecret = {},
): Promise<string> {
  // Two operators at the same time must not both keep the second one.
  await tx`SELECT FROM clients WHERE id = ${client_id} FOR NO KEY UPDATE`;
  const secret = newToken(mode === 'live' ? 'live_client_secret' : 'test_client_secret');
  await tx`INSERT INTO client_secrets
      (id, client_id, secret_hash, last_four, label, created_by, access, org_id, expires_at)
    VALUES (${newId()}, ${client_id}, ${hashToken(secret)}, ${secret.slice(-4)}, ${label || null}, ${created_by ?? null},
            ${access}, ${org_id}, ${expires_at}::text::timestamptz)`;
  const same_scope = tx`client_id = ${client_id} AND revoked_at IS NULL AND access = ${access}
    AND org_id IS NOT DISTINCT FROM ${org_id}`;
  // One that has expired is replaced by any later one, and takes no place from those that work.
  await tx`UPDATE client_secrets SET revoked_at = now() WHERE ${same_scope} AND expires_at <= now()`;
  await tx`UPDATE client_secrets SET revoked_at = now() WHERE ${same_scope}
    AND id NOT IN (SELECT id FROM client_secrets WHERE ${same_scope} ORDER BY id DESC LIMIT ${active_of_scope})`;
  const [{ active } = { active: 0 }] = await tx<{ active: number }[]>`
    SELECT count(*)::int AS active FROM client_secrets WHERE client_id = ${client_id} AND revoked_at IS NULL`;
  if (active > active_max) throw apiError('client_secrets_max', { max: String(active_max) });
  await tx`SELECT pg_notify('chartwire_access', ${client_id})`;
  return secret;
}

/** Validates an expiry, which must lie ahead. */
export function checkExpiry(expires_at: string | null | undefined): void {
  if (expires_at == null || Date.parse(expires_at) > Date.now()) return;
  throw apiError('invalid_field', { rule: 'expires_at must be in the future' }, { field: 'expires_at' });
}

/** Skips a secret that another process has marked in the last minute. */
export async function markSecretUsed(tx: Tx, id: string): Promise<void> {
  await tx`UPDATE client_secrets SET last_used_at = now()
    WHERE id = ${id} AND (last_used_at IS NULL OR last_used_at < now() - interval '1 minute')`;
}

/** Revokes a secret. Returns false if there is no such active secret. */
export async function revokeSecret(tx: Tx, client_id: string, id: string): Promise<boolean> {
  const revoked = await tx`
    UPDATE client_secrets SET revoked_at = now() WHERE id = ${id} AND client_id = ${client_id} AND revoked_at IS NULL`;
  await tx`SELECT pg_notify('chartwire_access', ${client_id})`;
  return revoked.count > 0;
}

/** Revokes all secrets of a client. */
export async function revokeSecrets(tx: Tx, client_id: string): Promise<void> {
  await tx`UPDATE client_secrets SET revoked_at = now() WHERE client_id = ${client_id} AND revoked_at IS NULL`;
  await tx`SELECT pg_notify('chartwire_access', ${client_id})`;
}

const period_ms = 60_000;

/**
 * Notes when secrets are used. Requests do not wait for it. A secret is written at most once a minute per process, and the
 * statement skips what another process has just written.
 */
export function openSecretUses(
  { db, log }: Pick<Context, 'db' | 'log'>,
  now: () => number = Date.now,
): SecretUses & { close(): Promise<void> } {
  const noted = new Map<string, number>();
  const writing = new Set<Promise<void>>();
  return {
    note: ({ client_id, secret_id }) => {
      const last = noted.get(secret_id) ?? Number.NEGATIVE_INFINITY;
      if (now() - last < period_ms) return;
      noted.set(secret_id, now());
      const write = db
        .tenant(client_id, (tx) => markSecretUsed(tx, secret_id))
        .catch((error: unknown) => log.warn({ err: error }, 'use of a secret not noted'))
        .finally(() => writing.delete(write));
      writing.add(write);
    },
    close: async () => {
      await Promise.all(writing);
    },
  };
}

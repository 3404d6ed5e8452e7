import { randomBytes } from 'node:crypto';
import type { Sql, Tx } from '../../platform/db/database.ts';
import { hashToken } from '../../platform/security/hash.ts';

/** Crockford's base 32: without letters that look like digits. */
const alphabet = '0123456789abcdefghjkmnpqrstvwxyz';
const codes_count = 10;

/** Creates recovery codes for an operator who has none. They are returned once; only hashes are stored. */
export async function createRecoveryCodes(tx: Tx, operator_id: string): Promise<string[]> {
  const codes = Array.from({ length: codes_count }, newCode);
  const hashes = codes.map((code) => hashOf(operator_id, code));
  await tx`INSERT INTO operator_recovery_codes (code_hash, operator_id)
    SELECT unnest(${hashes}::bytea[]), ${operator_id}`;
  return codes;
}

/** Returns whether the operator had this code. It is accepted once, even if it is sent twice at the same time. */
export async function consumeRecoveryCode(sql: Sql | Tx, operator_id: string, code: string): Promise<boolean> {
  const consumed = await sql`DELETE FROM operator_recovery_codes
    WHERE operator_id = ${operator_id} AND code_hash = ${hashOf(operator_id, code)}`;
  return consumed.count > 0;
}

export async function hasRecoveryCodes(tx: Tx, operator_id: string): Promise<boolean> {
  const rows = await tx`SELECT FROM operator_recovery_codes WHERE operator_id = ${operator_id} LIMIT 1`;
  return rows.length > 0;
}

export async function deleteRecoveryCodes(tx: Tx, operator_id: string): Promise<void> {
  await tx`DELETE FROM operator_recovery_codes WHERE operator_id = ${operator_id}`;
}

/** 80 random bits, so that a fast hash is enough: `k3vq-81tz-…`, four groups of four. */
function newCode(): string {
  const letters = [...randomBytes(16)].map((byte) => alphabet[byte % alphabet.length]).join('');
  return letters.replaceAll(/(.{4})(?=.)/g, '$1-');
}

/** Typed codes may have other letter case, spaces and look-alikes. The id keeps equal codes of two operators apart. */
function hashOf(operator_id: string, code: string): Buffer {
  const plain = code.toLowerCase().replaceAll(/[\s-]/g, '').replaceAll('o', '0').replaceAll(/[il]/g, '1');
  return hashToken(`recovery code ${operator_id} ${plain}`);
}

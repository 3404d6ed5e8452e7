import {
  type CryptoKey,
  calculateJwkThumbprint,
  exportJWK,
  exportPKCS8,
  generateKeyPair,
  importPKCS8,
  type JWK,
} from 'jose';
import type { Sql, Tx } from '../db/database.ts';
import type { MasterKey, MasterKeys } from './masterKeys.ts';
import { sealWith, unsealWith } from './seal.ts';
import { MasterKeyMissing } from './wrapKey.ts';

export const signing_algorithms = ['RS384', 'ES384'] as const;
export type SigningAlgorithm = (typeof signing_algorithms)[number];
export type SigningKey = { kid: string; key: CryptoKey };

/** The keys that authenticate this installation to EMRs. */
export type SigningKeys = {
  /** The current signing key, created on first use. */
  current(alg: SigningAlgorithm): Promise<SigningKey>;
  /** Creates the first keys if there are none. That may take seconds. */
  ensure(): Promise<void>;
  /** The public keys, including those that will sign soon or signed recently. */
  published(): Promise<{ keys: JWK[] }>;
  /** Adds new keys, which start signing after EMRs have had time to fetch them. Returns their ids. */
  rotate(): Promise<string[]>;
  /** Re-seals every key that is still under the previous master key; returns how many. */
  rewrap(): Promise<number>;
};

/** EMRs may cache the published set for a day; signatures are checked within minutes. */
const hours_before_signing = 24;
const days_published_after = 7;

/** Owns the table `signing_keys`. */
export function openSigningKeys(system: Sql, master: MasterKeys): SigningKeys {
  return {
    ensure: () => ensureKeys(system, master),
    current: async (alg) => {
      await ensureKeys(system, master);
      const [row] = await system<KeyRow[]>`
        SELECT kid, alg, private_sealed, master_key_id FROM signing_keys
         WHERE alg = ${alg} AND signs_from <= now() ORDER BY signs_from DESC LIMIT 1`;
      if (!row) throw new Error('There is no signing key.');
      return { kid: row.kid, key: await importPKCS8(opened(master, row).toString('utf8'), alg) };
    },
    published: async () => {
      await ensureKeys(system, master);
      const rows = await system<{ public_jwk: JWK }[]>`
        SELECT public_jwk FROM signing_keys AS key
         WHERE NOT EXISTS (SELECT FROM signing_keys AS later WHERE later.alg = key.alg
           AND later.signs_from > key.signs_from
           AND later.signs_from < now() - make_interval(days => ${days_published_after}))
         ORDER BY signs_from DESC, alg`;
      return { keys: rows.map(({ public_jwk }) => public_jwk) };
    },
    rotate: async () => {
      await ensureKeys(system, master);
      const keys = await generateKeys(master);
      return system.begin((tx) => addKeys(tx, keys, hours_before_signing));
    },
    rewrap: () => rewrap(system, master),
  };
}

/** The id of a master key that a signing key needs and this process does not have, if any. */
export async function findForeignSigningKey(system: Sql, master: MasterKeys): Promise<string | undefined> {
  const known = [master.current.id, master.previous?.id ?? master.current.id];
  const [row] = await system<{ master_key_id: string }[]>`
    SELECT master_key_id FROM signing_keys WHERE master_key_id <> ALL (${known}) LIMIT 1`;
  return row?.master_key_id;
}

type KeyRow = { kid: string; alg: SigningAlgorithm; private_sealed: Buffer; master_key_id: string };

/** If several processes need the first keys at once, those of one are stored. */
async function ensureKeys(system: Sql, master: MasterKeys): Promise<void> {
  const [existing] = await system`SELECT FROM signing_keys LIMIT 1`;
  if (existing) return;
  const keys = await generateKeys(master);
  await system.begin(async (tx) => {
    await tx`SELECT pg_advisory_xact_lock(hashtextextended('chartwire.signing_keys', 0))`;
    const [created] = await tx`SELECT FROM signing_keys LIMIT 1`;
    if (!created) await addKeys(tx, keys, 0);
  });
}

type NewKey = { kid: string; alg: SigningAlgorithm; public_jwk: string; private_sealed: Buffer; master_key_id: string };

/** Outside of transactions: on a busy machine it takes longer than a transaction may be idle. */
async function generateKeys(master: MasterKeys): Promise<NewKey[]> {
  const keys: NewKey[] = [];
  for (const alg of signing_algorithms) {
    const pair = await generateKeyPair(alg, { extractable: true, modulusLength: 3072 });
    const jwk = await exportJWK(pair.publicKey);
    const kid = await calculateJwkThumbprint(jwk);
    const private_sealed = sealed(master.current, kid, Buffer.from(await exportPKCS8(pair.privateKey), 'utf8'));
    const public_jwk = JSON.stringify({ ...jwk, kid, alg, use: 'sig', key_ops: ['verify'] });
    keys.push({ kid, alg, public_jwk, private_sealed, master_key_id: master.current.id });
  }
  return keys;
}

async function addKeys(tx: Tx, keys: readonly NewKey[], hours: number): Promise<string[]> {
  for (const { kid, alg, public_jwk, private_sealed, master_key_id } of keys) {
    await tx`INSERT INTO signing_keys (kid, alg, public_jwk, private_sealed, master_key_id, signs_from)
      VALUES (${kid}, ${alg}, ${public_jwk}::text::json, ${private_sealed}, ${master_key_id},
              now() + make_interval(hours => ${hours}))`;
  }
  return keys.map(({ kid }) => kid);
}

async function rewrap(system: Sql, master: MasterKeys): Promise<number> {
  const { previous } = master;
  if (!previous) return 0;
  return system.begin(async (tx) => {
    const rows = await tx<KeyRow[]>`SELECT kid, alg, private_sealed, master_key_id FROM signing_keys
      WHERE master_key_id = ${previous.id} FOR NO KEY UPDATE SKIP LOCKED`;
    for (const row of rows) {
      const private_sealed = sealed(master.current, row.kid, opened(master, row));
      await tx`UPDATE signing_keys SET private_sealed = ${private_sealed}, master_key_id = ${master.current.id}
                WHERE kid = ${row.kid}`;
    }
    return rows.length;
  });
}

function opened(master: MasterKeys, row: KeyRow): Buffer {
  const found = [master.current, master.previous].find((key) => key?.id === row.master_key_id);
  if (!found) throw new MasterKeyMissing(row.master_key_id);
  return unsealWith(found.key, row.private_sealed, bindingOf(row.kid));
}

function sealed({ key }: MasterKey, kid: string, plain: Buffer): Buffer {
  return sealWith(key, plain, bindingOf(kid));
}

function bindingOf(kid: string): string {
  return `signing_keys:${kid}`;
}

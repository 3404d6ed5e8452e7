import {
  type CryptoKey,
  calculateJwkThumbprint,
  exportJWK,
  exportPKCS8,
  generateKeyPair,
  importPKCS8,
  type JWK,
} from 'jose';
import type { Database, Tx } from '../db/database.ts';
import type { Vault } from './vault.ts';

export const signing_algorithms = ['RS384', 'ES384'] as const;
export type SigningAlgorithm = (typeof signing_algorithms)[number];
export type SigningKey = { kid: string; key: CryptoKey };

/** The keys by which EMRs recognize one client. No client can sign with the keys of another. */
export type ClientKeys = {
  /** The current signing key, created on first use. */
  current(alg: SigningAlgorithm): Promise<SigningKey>;
  /** Creates the first keys if there are none. That may take seconds. */
  ensure(): Promise<void>;
  /** The public keys, including those that will sign soon or signed recently. */
  published(): Promise<{ keys: JWK[] }>;
  /** Adds new keys, which start signing after EMRs have had time to fetch them. Returns their ids. */
  rotate(): Promise<string[]>;
};

/** EMRs may cache the published set for a day; signatures are checked within minutes. */
const hours_before_signing = 24;
const days_published_after = 7;

type Storage = { db: Pick<Database, 'tenant' | 'read'>; vault: Vault };

/** Owns the table `signing_keys`. */
export function clientKeys(storage: Storage, client_id: string): ClientKeys {
  const { db, vault } = storage;
  return {
    ensure: () => ensureKeys(storage, client_id),
    current: async (alg) => {
      await ensureKeys(storage, client_id);
      const [row] = await db.read<{ kid: string; private_sealed: Buffer }>(
        client_id,
        (sql) => sql`SELECT kid, private_sealed FROM signing_keys
          WHERE client_id = ${client_id} AND alg = ${alg} AND signs_from <= now() ORDER BY signs_from DESC LIMIT 1`,
      );
      if (!row) throw new Error('There is no signing key.');
      const { kid, private_sealed } = row;
      const pem =
        vault.unsealInMemory(private_sealed, toBinding(kid)) ??
        (await db.tenant(client_id, (tx) => vault.unseal(tx, private_sealed, toBinding(kid))));
      return { kid, key: await importPKCS8(pem, alg) };
    },
    published: async () => {
      await ensureKeys(storage, client_id);
      const rows = await db.read<{ public_jwk: JWK }>(
        client_id,
        (sql) => sql`SELECT public_jwk FROM signing_keys AS key
          WHERE client_id = ${client_id} AND NOT EXISTS (
                SELECT FROM signing_keys AS later WHERE later.client_id = key.client_id AND later.alg = key.alg
                   AND later.signs_from > key.signs_from
                   AND later.signs_from < now() - make_interval(days => ${days_published_after}))
          ORDER BY signs_from DESC, alg`,
      );
      return { keys: rows.map(({ public_jwk }) => public_jwk) };
    },
    rotate: async () => {
      await ensureKeys(storage, client_id);
      const keys = await generateKeys();
      return db.tenant(client_id, (tx) => addKeys(vault, tx, client_id, { keys, hours_before_signing }));
    },
  };
}

/** If several processes need the first keys at once, those of one are stored. */
async function ensureKeys({ db, vault }: Storage, client_id: string): Promise<void> {
  const [existing] = await db.read(
    client_id,
    (sql) => sql`SELECT 1 AS found FROM signing_keys WHERE client_id = ${client_id} LIMIT 1`,
  );
  if (existing) return;
  const keys = await generateKeys();
  await db.tenant(client_id, async (tx) => {
    await tx`SELECT pg_advisory_xact_lock(hashtextextended(${`chartwire.signing_keys ${client_id}`}, 0))`;
    const [created] = await tx`SELECT FROM signing_keys WHERE client_id = ${client_id} LIMIT 1`;
    if (!created) await addKeys(vault, tx, client_id, { keys, hours_before_signing: 0 });
  });
}

type NewKey = { kid: string; alg: SigningAlgorithm; public_jwk: string; private_pem: string };

/** Outside of transactions: on a busy machine it takes longer than a transaction may be idle. */
async function generateKeys(): Promise<NewKey[]> {
  const keys: NewKey[] = [];
  for (const alg of signing_algorithms) {
    const pair = await generateKeyPair(alg, { extractable: true, modulusLength: 3072 });
    const jwk = await exportJWK(pair.publicKey);
    const kid = await calculateJwkThumbprint(jwk);
    const public_jwk = JSON.stringify({ ...jwk, kid, alg, use: 'sig', key_ops: ['verify'] });
    keys.push({ kid, alg, public_jwk, private_pem: await exportPKCS8(pair.privateKey) });
  }
  return keys;
}

async function addKeys(
  vault: Vault,
  tx: Tx,
  client_id: string,
  { keys, hours_before_signing }: { keys: readonly NewKey[]; hours_before_signing: number },
): Promise<string[]> {
  for (const { kid, alg, public_jwk, private_pem } of keys) {
    const sealed = await vault.seal(tx, { client_id, owner_id: client_id }, toBinding(kid), private_pem);
    await tx`INSERT INTO signing_keys (kid, client_id, alg, public_jwk, private_sealed, signs_from)
      VALUES (${kid}, ${client_id}, ${alg}, ${public_jwk}::text::json, ${sealed},
              now() + make_interval(hours => ${hours_before_signing}))`;
  }
  return keys.map(({ kid }) => kid);
}

function toBinding(kid: string): string {
  return `signing_keys:${kid}`;
}

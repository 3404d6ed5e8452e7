import { createHmac } from 'node:crypto';
import type { Sql, Tx } from '../../platform/db/database.ts';

/** The end of the chain: position and link of the newest sealed record. */
export type Head = { position: number; chain: Buffer };

/** The head is missing or was changed without the key: the chain cannot be continued from it. */
export class HeadBroken extends Error {
  constructor(what: string) {
    super(`The head of the audit log ${what}. Verify it.`);
    this.name = 'HeadBroken';
  }
}

/** Starts the chain in a database that has none yet. Owns the table `audit_head`. */
export async function createHead(system: Sql, key: Buffer): Promise<void> {
  const head = { position: 0, chain: Buffer.alloc(0) };
  await system`INSERT INTO audit_head (position, chain, mac)
    SELECT ${head.position}, ${head.chain}, ${headMac(key, head)}
     WHERE NOT EXISTS (SELECT FROM audit_records WHERE position IS NOT NULL)
    ON CONFLICT DO NOTHING`;
}

export async function readHead(sql: Sql | Tx, key: Buffer): Promise<Head> {
  const [row] = await sql<(Head & { mac: Buffer })[]>`SELECT position, chain, mac FROM audit_head`;
  if (!row) throw new HeadBroken('is missing');
  if (!headMac(key, row).equals(row.mac)) throw new HeadBroken('was changed');
  return { position: row.position, chain: row.chain };
}

export async function moveHead(tx: Tx, key: Buffer, head: Head): Promise<void> {
  await tx`UPDATE audit_head SET position = ${head.position}, chain = ${head.chain}, mac = ${headMac(key, head)}`;
}

/** The link of a record: a MAC over the previous link, the position and the record's own MAC. */
export function linkOf(key: Buffer, before: Head, mac: Buffer): Head {
  const position = before.position + 1;
  const chain = createHmac('sha256', key).update(before.chain).update(`|${position}|`).update(mac).digest();
  return { position, chain };
}

function headMac(key: Buffer, head: Head): Buffer {
  return createHmac('sha256', key).update(`head|${head.position}|`).update(head.chain).digest();
}

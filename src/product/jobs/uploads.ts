import { getHeapStatistics } from 'node:v8';
import type { Database, Fragment, Query, Tx } from '../../platform/db/database.ts';

/** The heap that a document of 5 MB takes at most while it is sent to an EMR: as base64, in JSON, and as bytes. */
const document_heap_bytes = 16_777_216;

/** How many documents a process may have in memory: as configured, but at most a quarter of its heap. */
export function documentsMax(configured: number, heap_bytes = getHeapStatistics().heap_size_limit): number {
  return Math.max(1, Math.min(configured, Math.floor(heap_bytes / 4 / document_heap_bytes)));
}

/** Stores the file of the operation in the CTE `operation`. */
export function insertUpload(sql: Query, content: Buffer): Fragment {
  return sql`INSERT INTO uploads (operation_id, client_id, content) SELECT id, client_id, ${content} FROM operation`;
}

/** The driver receives bytes as hexadecimal text, so they are read in parts: 1 MB of text at a time. */
const part_bytes = 524_288;

/** The file that was sent with an operation, while it is stored. */
export async function readUpload(db: Database, client_id: string, operation_id: string): Promise<Buffer | undefined> {
  const parts: Buffer[] = [];
  for (let from = 1; ; from += part_bytes) {
    const [row] = await db.read<{ part: Buffer; bytes: number }>(
      client_id,
      (sql) => sql`SELECT substring(content FROM ${from}::int FOR ${part_bytes}::int) AS part, length(content) AS bytes
        FROM uploads WHERE client_id = ${client_id} AND operation_id = ${operation_id}`,
    );
    if (!row) return undefined;
    parts.push(row.part);
    if (from + row.part.length > row.bytes) return Buffer.concat(parts);
  }
}

export async function deleteUpload(tx: Tx, operation_id: string): Promise<void> {
  await tx`DELETE FROM uploads WHERE operation_id = ${operation_id}`;
}

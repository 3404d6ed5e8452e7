import type { Database, Tx } from '../db/database.ts';

/** The content that was uploaded with an operation. */
export async function readUpload(db: Database, client_id: string, operation_id: string): Promise<Buffer | undefined> {
  const [row] = await db.read<{ content: Buffer }>(
    client_id,
    (sql) => sql`SELECT content FROM uploads WHERE client_id = ${client_id} AND operation_id = ${operation_id}`,
  );
  return row?.content;
}

export async function removeUpload(tx: Tx, operation_id: string): Promise<void> {
  await tx`DELETE FROM uploads WHERE operation_id = ${operation_id}`;
}

import type { Database, Fragment, Query, Tx } from '../db/database.ts';

/** Stores the file of the operation in the CTE `operation`. */
export function insertUpload(sql: Query, content: Buffer): Fragment {
  return sql`INSERT INTO uploads (operation_id, client_id, content) SELECT id, client_id, ${content} FROM operation`;
}

/** The file that was sent with an operation, while it is stored. */
export async function readUpload(db: Database, client_id: string, operation_id: string): Promise<Buffer | undefined> {
  const [row] = await db.read<{ content: Buffer }>(
    client_id,
    (sql) => sql`SELECT content FROM uploads WHERE client_id = ${client_id} AND operation_id = ${operation_id}`,
  );
  return row?.content;
}

export async function deleteUpload(tx: Tx, operation_id: string): Promise<void> {
  await tx`DELETE FROM uploads WHERE operation_id = ${operation_id}`;
}

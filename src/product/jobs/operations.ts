import type { Fragment, Query, Tx } from '../../platform/db/database.ts';

/** What a client requested. Its id is returned to the client and is part of the marker that the EMR stores. */
export type Operation = { id: string; type: string; input: unknown };

/** Inserts the operations of the CTE `request`, except those whose key is not in the CTE `accepted`. */
export function insertOperations(sql: Query): Fragment {
  return sql`
    INSERT INTO operations (id, client_id, organization_id, account_id, type, input)
      SELECT operation_id, client_id, organization_id, account_id, type, input
        FROM request WHERE scope_id IS NULL OR operation_id IN (SELECT operation_id FROM accepted)
      RETURNING id, client_id`;
}

/** Replaces the input of an operation and returns its row. */
export function updateOperation(sql: Query, operation: Pick<Operation, 'id' | 'input'>): Fragment {
  return sql`
    UPDATE operations SET input = ${JSON.stringify(operation.input)}::text::json WHERE id = ${operation.id}
    RETURNING id, client_id`;
}

/** Deletes the inputs of those operations that still have one. Returns their ids. */
export async function clearInputs(tx: Tx, ids: readonly string[]): Promise<string[]> {
  const cleared = await tx<{ id: string }[]>`
    UPDATE operations SET input = '{}', input_deleted_at = now()
     WHERE id = ANY (${[...ids]}::uuid[]) AND input_deleted_at IS NULL RETURNING id`;
  return cleared.map(({ id }) => id);
}

import { StartFailure } from '../../catalog/errors.ts';
import type { Database } from '../../platform/db/database.ts';

/** The id of the client that the option --client names. */
export async function findClient(db: Database, client_id: string | undefined): Promise<string> {
  const [client] = await db.system<{ id: string }[]>`SELECT id FROM clients WHERE public_id = ${client_id ?? ''}`;
  if (!client) throw new StartFailure('--client must be the client_id of an existing client.');
  return client.id;
}

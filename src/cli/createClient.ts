import { createClient } from '../clients/clients.ts';
import type { Config } from '../config.ts';
import { openDatabase } from '../db/database.ts';
import { openServer } from '../db/openServer.ts';
import { StartFailure } from '../errors.ts';

type Values = {
  name?: string | undefined;
  mode?: string | undefined;
  'callback-url'?: string[] | undefined;
  'frame-origin'?: string[] | undefined;
};

/** Makes a client and prints its credentials, beside a running service or without one. */
export async function createClientCommand(config: Config, values: Values): Promise<void> {
  if (!values.name) throw new StartFailure('A client needs a name: chartwire clients create --name "Front desk app"');
  const mode = values.mode ?? (config.sandbox ? 'test' : 'live');
  if (mode !== 'live' && mode !== 'test') throw new StartFailure(`--mode must be live or test, not '${mode}'.`);
  const server = await openServer(config, () => {});
  const db = openDatabase(server.address, 2);
  try {
    const made = await createClient(db, {
      name: values.name,
      mode,
      callback_urls: values['callback-url'] ?? [],
      frame_origins: values['frame-origin'] ?? [],
    });
    process.stdout.write(
      `client_id     ${made.client_id}\nclient_secret ${made.client_secret}\n\nThe secret is not shown again: store it now.\n`,
    );
  } finally {
    await db.close();
    await server.release();
  }
}

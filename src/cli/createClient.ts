import { readFile } from 'node:fs/promises';
import { openAudit } from '../audit/openAudit.ts';
import { createClient, type NewClient } from '../clients/clients.ts';
import type { Config } from '../config.ts';
import { openDatabase } from '../db/database.ts';
import { openServer } from '../db/openServer.ts';
import { StartFailure } from '../errors.ts';
import { openKeys } from '../security/openKeys.ts';

type Values = {
  name?: string | undefined;
  mode?: string | undefined;
  'callback-url'?: string[] | undefined;
  'frame-origin'?: string[] | undefined;
  logo?: string | undefined;
  colour?: string | undefined;
};

/** Makes a client and prints its credentials, beside a running service or without one. */
export async function createClientCommand(config: Config, values: Values): Promise<void> {
  const client = await readValues(config, values);
  const server = await openServer(config, () => {});
  const db = openDatabase(server.address, 2);
  try {
    const keys = await openKeys(config, db.system, (text) => void process.stderr.write(text));
    const audit = await openAudit(db, keys.system_keys);
    const made = await createClient(db, client, (tx, { id, client_id }) =>
      audit.recordIn(tx, {
        client_id: id,
        actor_kind: 'system',
        actor: 'command line',
        action: 'client.create',
        outcome: 'created',
        subject: client_id,
      }),
    );
    process.stdout.write(
      `client_id     ${made.client_id}\nclient_secret ${made.client_secret}\n\nThe secret is not shown again: store it now.\n`,
    );
  } finally {
    await db.close();
    await server.release();
  }
}

async function readValues(config: Config, values: Values): Promise<NewClient> {
  if (!values.name) throw new StartFailure('A client needs a name: chartwire clients create --name "Front desk app"');
  const mode = values.mode ?? (config.sandbox ? 'test' : 'live');
  if (mode !== 'live' && mode !== 'test') throw new StartFailure(`--mode must be live or test, not '${mode}'.`);
  const colour = values.colour?.toLowerCase() ?? null;
  if (colour !== null && !/^#[0-9a-f]{6}$/.test(colour)) {
    throw new StartFailure(`--colour must be written as #rrggbb, not '${values.colour}'.`);
  }
  return {
    name: values.name,
    mode,
    callback_urls: (values['callback-url'] ?? []).map(checkCallback),
    frame_origins: (values['frame-origin'] ?? []).map(readOrigin),
    logo: values.logo === undefined ? null : await readLogo(values.logo),
    colour,
  };
}

function checkCallback(url: string): string {
  if (URL.canParse(url) && /^https?:$/.test(new URL(url).protocol)) return url;
  throw new StartFailure(`--callback-url must be an address that starts with https:// or http://, not '${url}'.`);
}

/** An origin is a scheme, a host and a port; a browser compares nothing more. */
function readOrigin(text: string): string {
  const origin = URL.canParse(text) ? new URL(text).origin : 'null';
  if (origin !== 'null' && [origin, `${origin}/`].includes(text.toLowerCase())) return origin;
  throw new StartFailure(`--frame-origin must be an origin such as https://app.example.org, not '${text}'.`);
}

const logo_types: Record<string, string> = {
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  svg: 'image/svg+xml',
};
const logo_bytes_max = 65_536;

async function readLogo(path: string): Promise<string> {
  const type = logo_types[path.split('.').at(-1)?.toLowerCase() ?? ''];
  if (!type) throw new StartFailure('--logo must be a .png, .jpg or .svg file.');
  const content = await readFile(path).catch((cause: unknown) => {
    throw new StartFailure(`--logo: the file ${path} cannot be read.`, { cause });
  });
  if (content.length > logo_bytes_max) throw new StartFailure('--logo must be a file of at most 64 KB.');
  return `data:${type};base64,${content.toString('base64')}`;
}

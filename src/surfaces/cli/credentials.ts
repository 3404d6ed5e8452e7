import { readFile } from 'node:fs/promises';
import { ApiError, StartFailure } from '../../catalog/errors.ts';
import type { Config } from '../../catalog/settings/config.ts';
import { readFingerprint } from '../../platform/security/certificates.ts';
import { clientKeys } from '../../platform/security/signingKeys.ts';
import {
  type ClientChanges,
  checkClient,
  createClient,
  describeClientChange,
  type NewClient,
} from '../../product/clients/clients.ts';
import type { OriginLimits } from '../../product/clients/requestOrigins.ts';
import { command_line, findClient, withAudit } from './audit.ts';
import { type JsonOption, printResult } from './output.ts';

type Values = JsonOption & {
  name?: string | undefined;
  mode?: string | undefined;
  'callback-url'?: string[] | undefined;
  'frame-origin'?: string[] | undefined;
  logo?: string | undefined;
  colour?: string | undefined;
} & LimitOptions;

/** Where requests of a client may come from. */
export type LimitOptions = { network?: string[] | undefined; certificate?: string[] | undefined };

/** Creates a client and prints its credentials. Works whether or not the service is running. */
export async function createClientCommand(config: Config, values: Values): Promise<void> {
  const client = await readValues(config, values);
  const created = await withAudit(config, (db, audit) =>
    createClient(
      db,
      client,
      (tx, { id, client_id }) =>
        audit.recordInTransaction(tx, {
          client_id: id,
          ...command_line,
          action: 'client.create',
          outcome: 'created',
          subject: client_id,
          detail: describeClientChange({}, client),
        }),
      { created_by: command_line.actor },
    ),
  );
  const { client_id, client_secret } = created;
  printResult(
    values,
    { client_id, client_secret },
    `client_id     ${client_id}\nclient_secret ${client_secret}\n\nStore the secret now: it is not shown again.\n`,
  );
}

async function readValues(config: Config, values: Values): Promise<NewClient> {
  if (!values.name) throw new StartFailure('A name is required: chartwire clients create --name "Front desk app"');
  const mode = values.mode ?? (config.sandbox ? 'test' : 'live');
  if (mode !== 'live' && mode !== 'test') throw new StartFailure(`--mode must be live or test, not '${mode}'.`);
  const checked = checkOptions(config, {
    ...(await readLimits(values)),
    callback_urls: values['callback-url'] ?? [],
    frame_origins: values['frame-origin'] ?? [],
    logo: values.logo === undefined ? null : await readLogo(values.logo),
    colour: values.colour ?? null,
  });
  return { name: values.name, mode, ...checked };
}

/** The limits that the options name. A certificate is a file, or its fingerprint. */
export async function readLimits({ network, certificate }: LimitOptions): Promise<Partial<OriginLimits>> {
  const fingerprints = certificate && (await Promise.all(certificate.map(readCertificateOption)));
  return {
    ...(network && { allowed_networks: network }),
    ...(fingerprints && { certificate_fingerprints: fingerprints }),
  };
}

async function readCertificateOption(option: string): Promise<string> {
  if (readFingerprint(option) !== undefined) return option;
  return readFile(option, 'utf8').catch((cause: unknown) => {
    throw new StartFailure(
      `--certificate must be a SHA-256 fingerprint, or a file with a certificate: cannot read the file ${option}.`,
      { cause },
    );
  });
}

const options: Record<string, string> = {
  allowed_networks: '--network',
  certificate_fingerprints: '--certificate',
  callback_urls: '--callback-url',
  frame_origins: '--frame-origin',
  logo: '--logo',
  colour: '--colour',
};

/** Applies the dashboard's rules. Errors name the command line option instead of the field. */
export function checkOptions(config: Config, changes: ClientChanges): ClientChanges {
  try {
    return checkClient({ config }, changes);
  } catch (error) {
    if (!(error instanceof ApiError) || error.field === undefined) throw error;
    const { field, message } = error;
    throw new StartFailure(`${message.replace(field, options[field] ?? field)}.`, { cause: error });
  }
}

const logo_types: Record<string, string> = {
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  svg: 'image/svg+xml',
};

/** Reads a picture as a `data:` URL. */
export async function readLogo(path: string): Promise<string> {
  const type = logo_types[path.split('.').at(-1)?.toLowerCase() ?? ''];
  if (!type) throw new StartFailure('--logo must be a .png, .jpg or .svg file.');
  const content = await readFile(path).catch((cause: unknown) => {
    throw new StartFailure(`--logo: cannot read the file ${path}.`, { cause });
  });
  return `data:${type};base64,${content.toString('base64')}`;
}

/** Prints the public keys of a client. They must be exported again after each rotation. */
export async function exportKeysCommand(
  config: Config,
  { client, rsaOnly = false }: { client?: string; rsaOnly?: boolean },
): Promise<void> {
  const { keys } = await withAudit(config, async (db, audit, { vault }) => {
    const client_id = await findClient(db, client);
    const published = await clientKeys({ db, vault }, client_id).published();
    await audit.record({
      ...{ client_id, ...command_line, action: 'keys.export', outcome: 'exported' },
      detail: { rsa_only: rsaOnly },
    });
    return published;
  });
  const exported = keys.filter(({ kty }) => !rsaOnly || kty === 'RSA');
  process.stdout.write(`${JSON.stringify({ keys: exported }, null, 2)}\n`);
}

/** Creates new signing keys of a client, for EMRs that know its public keys. Works whether or not the service is running. */
export async function rotateKeysCommand(
  config: Config,
  { client, ...output }: JsonOption & { client?: string | undefined },
): Promise<void> {
  const kids = await withAudit(config, async (db, audit, { vault }) => {
    const client_id = await findClient(db, client);
    const created = await clientKeys({ db, vault }, client_id).rotate();
    await audit.record({
      client_id,
      ...command_line,
      action: 'keys.rotate',
      outcome: 'published',
      detail: { kids: created },
    });
    return created;
  });
  printResult(
    output,
    { kids },
    `The new keys are published in the key sets of the client's EMR apps and will be used in 24 hours:\n${kids.join('\n')}\n`,
  );
}

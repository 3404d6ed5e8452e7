import { readFile } from 'node:fs/promises';
import { StartFailure } from '../../catalog/errors.ts';
import type { Credentials } from '../../emr/connector.ts';
import type { EndpointPins } from '../../emr/endpointPins.ts';
import type { RequestSettings } from '../../emr/requestSettings.ts';

/** The fields of an EMR app besides its credentials, as far as the file has them. */
export type AppFields = Partial<EndpointPins & RequestSettings>;

const text_fields = [
  'token_endpoint',
  'authorization_endpoint',
  'issuer',
  'tenant_path',
  'scope',
  'bulk_group',
  'requests_counted_per',
] as const;
const object_fields = ['headers', 'search_params'] as const;

const example = '{"way":"client_secret","client_id":"…","client_secret":"…"}';

/**
 * Reads the credentials of an EMR app, and what is sent with its requests, from a file, because other users of the
 * machine can see command lines. No error quotes the file.
 */
export async function readCredentialsFile(
  path: string | undefined,
): Promise<{ credentials: Credentials; fields: AppFields }> {
  if (!path) throw new StartFailure(`--credentials-file is required: a JSON file such as ${example}`);
  const parsed = await readObject(path);
  const fields = new Map<string, unknown>();
  for (const name of text_fields) if (parsed.has(name)) fields.set(name, requireText(name, parsed.get(name)));
  for (const name of object_fields) if (parsed.has(name)) fields.set(name, requireTexts(name, parsed.get(name)));
  if (parsed.has('hosts')) fields.set('hosts', requireHosts(parsed.get('hosts')));
  const rest = [...parsed].filter(([name]) => !fields.has(name));
  if (rest.length === 0 || !rest.every((pair): pair is [string, string] => typeof pair[1] === 'string')) {
    throw new StartFailure(
      `--credentials-file must contain an object of strings, such as ${example}. Only headers and search_params are objects, and hosts is an array.`,
    );
  }
  // Each field was checked by its type above.
  return { credentials: Object.fromEntries(rest), fields: Object.fromEntries(fields) as AppFields };
}

async function readObject(path: string): Promise<Map<string, unknown>> {
  try {
    const parsed: unknown = JSON.parse(await readFile(path, 'utf8'));
    if (typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed)) return new Map(Object.entries(parsed));
  } catch {
    // The parser's error would quote the file.
  }
  throw new StartFailure(`--credentials-file: cannot read ${path} as a JSON object.`);
}

function requireText(name: string, value: unknown): string {
  if (typeof value === 'string') return value;
  throw new StartFailure(`--credentials-file: ${name} must be a string.`);
}

function requireTexts(name: string, value: unknown): Record<string, string> {
  const entries = Object.entries(Object(value));
  const valid = typeof value === 'object' && !Array.isArray(value) && value !== null;
  if (valid && entries.every((pair): pair is [string, string] => typeof pair[1] === 'string')) {
    return Object.fromEntries(entries);
  }
  throw new StartFailure(`--credentials-file: ${name} must be an object of strings.`);
}

function requireHosts(value: unknown): string[] {
  if (Array.isArray(value) && value.every((each) => typeof each === 'string')) return value;
  throw new StartFailure('--credentials-file: hosts must be an array of strings.');
}

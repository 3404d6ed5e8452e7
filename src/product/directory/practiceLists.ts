import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { StartFailure } from '../../catalog/errors.ts';
import type { Connector } from '../../emr/connector.ts';
import type { ListedPractice } from '../../emr/listedPractices.ts';
import { readCsvRows } from '../../platform/csv.ts';
import { JsonFault, readJsonItems } from '../../platform/jsonStream.ts';

/** A practice of a list, and the connector for it; undefined if the list names one that does not exist. */
export type ReadPractice = { listed: ListedPractice; connector: Connector | undefined };

type Connectors = ReadonlyMap<string, Connector>;

/** The list cannot be used. The message is the rest of a sentence that starts with its name. */
export class ListFault extends StartFailure {}

/**
 * The practices of a file in any of the supported formats: a bundle, an array of objects, or CSV with a header. The file
 * is read to its end before the first one is returned, so that a fault is found before anything is stored. Memory does
 * not depend on its length, except for a little per organization of a bundle.
 */
export async function* readPractices(file: string, connectors: Connectors): AsyncGenerator<ReadPractice> {
  const standard = [...connectors.values()].find(({ is_standard }) => is_standard);
  const chunks = () => createReadStream(file, { highWaterMark: 65_536 });
  try {
    const first = await readFirstCharacter(file);
    if (first === '{') {
      const entries = () => readJsonItems(chunks(), '$.entry.*');
      for await (const listed of standard?.practice_lists?.readBundle(entries) ?? [])
        yield { listed, connector: standard };
    } else {
      const rows = () => (first === '[' ? readJsonItems(chunks(), '$.*') : readObjects(readCsvRows(chunks())));
      // To its end, before the first practice is returned. A bundle is read twice anyway.
      for await (const _row of rows());
      yield* readFlat(rows(), (name) => (name === '' ? standard : connectors.get(name.toLowerCase())));
    }
  } catch (error) {
    if (!(error instanceof JsonFault) && !(error instanceof RangeError)) throw error;
    throw new ListFault(`cannot be read: ${error.message}.`, { cause: error });
  }
}

/** The first character that is not blank, after a byte order mark. */
async function readFirstCharacter(path: string): Promise<string> {
  const file = await open(path);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(4096), 0, 4096, 0);
    return buffer
      .toString('utf8', 0, bytesRead)
      .replace(/^\ufeff/, '')
      .trimStart()
      .charAt(0);
  } finally {
    await file.close();
  }
}

/** The rows of a CSV file as objects, by the names in its header. */
async function* readObjects(rows: AsyncIterable<string[]>): AsyncGenerator<unknown> {
  let header: string[] | undefined;
  for await (const row of rows) {
    if (header) yield Object.fromEntries(header.map((name, at) => [name, row[at] ?? '']));
    else {
      header = row.map((name) => name.replace(/^\ufeff/, ''));
      const names = new Set(header.map(toField));
      if (names.has('name') && (names.has('url') || names.has('address'))) continue;
      throw new ListFault('must be a bundle, an array of objects, or CSV whose header has the columns name and url.');
    }
  }
}

type Field =
  | 'name'
  | 'url'
  | 'address'
  | 'key'
  | Exclude<keyof ListedPractice, 'name' | 'address' | 'key'>
  | 'emr_name';

/** The names of columns in the lists of vendors, in lower case and without blanks and punctuation. */
const spellings: readonly (readonly [Field, RegExp])[] = [
  ['name', /^((organi[sz]ation|practice|facility|clinic|account|customer)(name)?|(brand|endpoint|display)?name)$/],
  ['url', /(url|uri|endpoint|endpointaddress|baseaddress)$/],
  ['aliases', /^alias(es)?$/],
  ['city', /(^|address)city$/],
  ['state', /(^|address)state(code)?$/],
  ['postal_code', /(^|address)(zip|zipcode|postalcode)$/],
  ['npi', /npi$/],
  ['parent', /^parent(name|organization)?$/],
  ['version', /version$/],
  ['emr_name', /^emrname$/],
  ['key', /^(id|practiceid|organizationid|endpointid)$/],
  ['address', /^address$/],
];

function toField(name: string): Field | undefined {
  const plain = name.toLowerCase().replace(/[^a-z0-9]/g, '');
  return spellings.find(([, spelling]) => spelling.test(plain))?.[0];
}

async function* readFlat(
  rows: AsyncIterable<unknown>,
  findConnector: (name: string) => Connector | undefined,
): AsyncGenerator<ReadPractice> {
  for await (const row of rows) {
    const fields = new Map<Field, string>();
    for (const [name, value] of Object.entries(Object(row))) {
      const field = toField(name);
      const text = (Array.isArray(value) ? value.join(';') : String(value ?? '')).replace(/\s+/g, ' ').trim();
      if (field && text !== '' && !fields.has(field)) fields.set(field, text);
    }
    const get = (field: Field) => fields.get(field) ?? null;
    // A column with this name may be the street.
    const address = get('url') ?? get('address');
    const listed: ListedPractice = {
      key: [get('key'), get('name'), get('city'), get('state'), address].map((part) => part ?? '').join('|'),
      name: get('name') ?? '',
      aliases: (get('aliases') ?? '')
        .split(/[;|]/)
        .map((alias) => alias.trim())
        .filter((alias) => alias !== ''),
      ...{ city: get('city'), state: get('state'), postal_code: get('postal_code'), npi: get('npi') },
      ...{ parent: get('parent'), address, version: get('version'), search_params: null },
    };
    yield { listed, connector: findConnector(get('emr_name') ?? '') };
  }
}

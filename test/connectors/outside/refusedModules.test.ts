import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { StartFailure } from '../../../src/catalog/errors.ts';
import { loadConfig } from '../../../src/catalog/settings/config.ts';
import { loadConnectors } from '../../../src/emr/outside/outsideConnectors.ts';
import { startService } from '../../../src/main.ts';
import { newFolder } from '../../harness/sandbox.ts';

let folder: string;
beforeAll(async () => {
  folder = await newFolder();
});

const field = `{ name: 'password', label: 'Password', secret: true, autocomplete: 'current-password' }`;
const members = {
  connector_api: '1',
  name: `'outside'`,
  display_name: `'Outside'`,
  credential_fields: `[${field}]`,
  limits: '{ parallel_max: 1 }',
  unsupported_fields: '{}',
  capabilities: '[]',
  refuseAddress: '() => undefined',
  signIn: 'async () => ({})',
  open: '() => ({})',
};

/** The source of a module with these members; null leaves one out. */
function source(
  changes: Partial<Record<keyof typeof members | 'sign_in_ways' | 'required_fields', string | null>> = {},
) {
  const entries = Object.entries({ ...members, ...changes }).filter(([, value]) => value !== null);
  return `export default { ${entries.map(([name, value]) => `${name}: ${value}`).join(', ')} };\n`;
}

type Files = Record<string, string>;

/** A folder with these files is the working directory. */
async function load(modules: readonly string[], files: Files) {
  const place = join(folder, String(Math.random()).slice(2), 'work');
  for (const [path, content] of Object.entries(files)) {
    const file = join(place, path);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, content);
  }
  await mkdir(place, { recursive: true });
  return { place, loaded: loadConnectors({ connectors: [...modules] }, [place, join(place, 'service')]) };
}

const refused: [title: string, modules: string[], files: Files, message: RegExp][] = [
  ['a missing folder', ['./gone'], {}, /^CONNECTORS: \.\/gone does not exist: there is nothing at .*\/gone\.$/],
  ['a missing package', ['@acme/gone'], {}, /@acme\/gone is not installed in .* or .*, or above\. Install it there/],
  ['a part of a package', ['@acme/one/two'], {}, /neither the name of a package nor a path: a path starts with/],
  ['a folder without package.json', ['./one'], { 'one/index.js': source() }, /\.\/one has no package\.json/],
  [
    'a package that is not built',
    ['./one'],
    { 'one/package.json': '{ "exports": "./dist/index.js" }' },
    /names .*\/one\/dist\/index\.js, which cannot be read\. If it has to be built, build it\.$/,
  ],
  [
    'a module that cannot be parsed',
    ['./a.mjs'],
    { 'a.mjs': 'export default {' },
    /a\.mjs cannot be loaded from .*Error/,
  ],
  [
    'an import that is missing',
    ['./a.mjs'],
    { 'a.mjs': `import '@acme/gone';\n${source()}` },
    /a\.mjs cannot be loaded from .*@acme\/gone/,
  ],
  ['a module without a default', ['./a.mjs'], { 'a.mjs': 'export const a = 1;' }, /no connector as its default export/],
  one(
    'no version',
    { connector_api: null },
    /does not say which interface .* add connector_api: 1 to its default export/,
  ),
  one('a later version', { connector_api: '2' }, /has connector_api 2, and Chartwire .* supports 1\. Update Chartwire/),
  one('an earlier version', { connector_api: '0' }, /has connector_api 0, and Chartwire .* supports 1\. Update it\.$/),
  one('a name with capitals', { name: `'Outside'` }, /name must start with a lower-case letter and consist of/),
  one('no name for people', { display_name: `' '` }, /display_name must be the name of the EMR for people/),
  one('no sign-in fields', { credential_fields: '[]' }, /credential_fields must list the fields of the sign-in form/),
  one('a field without a label', { credential_fields: `[{ name: 'a', secret: true }]` }, /each with name, label/),
  one('the same field twice', { credential_fields: `[${field}, ${field}]` }, /credential_fields has password twice/),
  one(
    'an unmarked secret',
    { credential_fields: `[${field.replace('true', 'false')}]` },
    /the credential field password must have secret: true\.$/,
  ),
  one(
    'a sign-in method of unknown fields',
    { sign_in_ways: `[{ name: 'a', label: 'A', about: '', fields: ['b'] }]` },
    /sign_in_ways names b, which is not in credential_fields/,
  ),
  one('no limit', { limits: '{ parallel_max: 0 }' }, /limits must be an object with parallel_max, a whole number/),
  one('no sign-in', { signIn: null }, /signIn must be a function; see signIn of the type Connector/),
  one('no list of capabilities', { capabilities: null }, /capabilities must list operations; see listCapabilities/),
  one(
    'an unknown operation',
    { capabilities: `['listMoods']` },
    /declares listMoods, which Chartwire .* does not have/,
  ),
  one('an unknown field', { capabilities: `['createPatient.mood']` }, /declares createPatient\.mood, which Chartwire/),
  one('an operation twice', { capabilities: `['listStaff', 'listStaff']` }, /capabilities has listStaff twice/),
  one(
    'a field that no request has',
    { unsupported_fields: `{ createPatient: ['mood'] }` },
    /createPatient\.mood, which is not a field/,
  ),
  one(
    'required fields of no operation',
    { required_fields: `{ listMoods: ['a'] }` },
    /required_fields names the operation listMoods/,
  ),
  one(
    'the name of a built-in connector',
    { name: `'fhir'` },
    /is called fhir, as is a built-in connector\. Each connector/,
  ),
  [
    'the name of another module',
    ['./a.mjs', './b.mjs'],
    { 'a.mjs': source(), 'b.mjs': source() },
    /^CONNECTORS: \.\/b\.mjs is called outside, as is the connector of \.\/a\.mjs\./,
  ],
];

/** A module that has one fault. */
function one(title: string, changes: Parameters<typeof source>[0], message: RegExp): (typeof refused)[number] {
  return [title, ['./a.mjs'], { 'a.mjs': source(changes) }, message];
}

describe('connectors from outside', () => {
  test.each(refused)(
    'are refused with a sentence that names the module: %s',
    async (_title, modules, files, message) => {
      const failure = await (await load(modules, files)).loaded.catch((error: unknown) => error);
      expect(failure).toBeInstanceOf(StartFailure);
      expect(String((failure as Error).message)).toMatch(message);
      expect(String((failure as Error).message)).toMatch(new RegExp(`^CONNECTORS: ${modules.at(-1)} [^\\n]*\\.$`));
    },
  );

  test('prevent the start of every role before anything else happens', async () => {
    const env = { CONNECTORS: './gone', SANDBOX: 'on', DATABASE_URL: 'postgres://nobody@127.0.0.1:9/none' };
    for (const role of ['all', 'api', 'worker'] as const) {
      const start = startService(loadConfig({ ...env, DATA_DIR: join(folder, role) }), { role, print: () => {} });
      await expect(start).rejects.toThrow(/^CONNECTORS: \.\/gone does not exist/);
    }
  });

  test('are found as files, folders and packages in or above the working directory or the service’s folder', async () => {
    const conditions = { '.': { types: './t.d.ts', require: './no.cjs', import: { default: './esm.js' } } };
    const { place, loaded } = await load(['./a.mjs', './b', '@acme/c', 'd'], {
      // No list at all: records may also arrive in another way than by reading them.
      'a.mjs': source(),
      'package.json': '{ "version": "0.9.0" }',
      'b/package.json': '{ "type": "module", "main": "main.js" }',
      'b/main.js': source({ name: `'of-b'`, capabilities: `['listPatients', 'createPatient']` }),
      '../node_modules/@acme/c/package.json': JSON.stringify({ type: 'module', version: '1.2.3', exports: conditions }),
      '../node_modules/@acme/c/esm.js': source({ name: `'of-c'` }),
      'service/node_modules/d/package.json': '{ "type": "module" }',
      'service/node_modules/d/index.js': source({ name: `'of-d'` }),
    });
    const { connectors, outside } = await loaded;
    expect([...connectors.keys()].slice(-4)).toStrictEqual(['outside', 'of-b', 'of-c', 'of-d']);
    const sha256 = expect.stringMatching(/^[0-9a-f]{64}$/);
    expect(outside).toStrictEqual([
      { name: 'outside', module: './a.mjs', version: '0.9.0', entry: join(place, 'a.mjs'), sha256 },
      { name: 'of-b', module: './b', version: null, entry: join(place, 'b/main.js'), sha256 },
      {
        name: 'of-c',
        module: '@acme/c',
        version: '1.2.3',
        entry: join(place, '../node_modules/@acme/c/esm.js'),
        sha256,
      },
      { name: 'of-d', module: 'd', version: null, entry: join(place, 'service/node_modules/d/index.js'), sha256 },
    ]);
  });
});

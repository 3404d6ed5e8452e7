import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { expect, test } from 'vitest';

const root = resolve(import.meta.dirname, '../..');
const vocabulary = new Set(['model/', 'errors.ts', 'events.ts', 'ids.ts', 'config.ts', 'version.ts']);

/** `a.ts` → the files it imports, relative to the root. */
const imports = new Map(
  ['src', 'larkspur', 'scripts', 'test', 'bench', 'web', 'sdk'].flatMap(filesOf).map((file) => [file, importsOf(file)]),
);

test('rooms import only what the table in ARCHITECTURE.md allows', () => {
  const allowed = tableOfRooms();
  const broken: string[] = [];
  for (const [file, targets] of imports) {
    if (!file.startsWith('src/')) continue;
    const room = roomOf(file);
    if (!vocabulary.has(room)) expect(allowed, `${room} is missing from the table`).toHaveProperty([room]);
    for (const target of targets.filter((each) => each.startsWith('src/'))) {
      const other = roomOf(target);
      if (other !== room && !vocabulary.has(other) && !allowed[room]?.has(other)) broken.push(`${file} → ${target}`);
    }
  }
  expect(broken).toStrictEqual([]);
});

test('every permission in the table is used: what is not needed is not allowed', () => {
  const used = new Set<string>();
  for (const [file, targets] of imports) for (const target of targets) used.add(`${roomOf(file)} ${roomOf(target)}`);
  const unused = Object.entries(tableOfRooms()).flatMap(([room, others]) =>
    [...others].filter((other) => !used.has(`${room} ${other}`)).map((other) => `${room} → ${other}`),
  );
  expect(unused).toStrictEqual([]);
});

test('the service and Larkspur do not import each other; only main.ts opens both', () => {
  const crossing = [...imports].flatMap(([file, targets]) =>
    targets
      .filter((target) => file.startsWith('src/') !== target.startsWith('src/'))
      .filter((target) => /^(src|larkspur)\//.test(file) && /^(src|larkspur)\//.test(target))
      .map((target) => `${file} → ${target}`),
  );
  expect(crossing).toStrictEqual(['src/main.ts → larkspur/start.ts']);
});

test('web imports nothing from outside web', () => {
  const crossing = [...imports].flatMap(([file, targets]) =>
    targets
      .filter((target) => file.startsWith('web/') !== target.startsWith('web/'))
      .map((target) => `${file} → ${target}`),
  );
  expect(crossing).toStrictEqual([]);
});

test('no file imports itself by way of others', () => {
  const done = new Set<string>();
  const cycles: string[] = [];
  const visit = (file: string, path: string[]) => {
    if (path.includes(file)) cycles.push([...path.slice(path.indexOf(file)), file].join(' → '));
    else if (!done.has(file)) {
      for (const target of imports.get(file) ?? []) visit(target, [...path, file]);
      done.add(file);
    }
  };
  for (const file of imports.keys()) visit(file, []);
  expect(cycles).toStrictEqual([]);
});

test('only the command line reads the environment, and hands it to config.ts', () => {
  const readers = filesOf('src').filter((file) => /process\.env/.test(readFileSync(join(root, file), 'utf8')));
  expect(readers).toStrictEqual(['src/cli/run.ts']);
});

test('nothing outside a connector’s own folder names its EMR', () => {
  const naming = filesOf('src').filter(
    (file) =>
      !/^src\/(connectors\/|main\.ts|config\.ts|sandbox\/)/.test(file) &&
      /larkspur|fhir/i.test(readFileSync(join(root, file), 'utf8')),
  );
  expect(naming).toStrictEqual([]);
});

test('no source file is longer than 300 lines', () => {
  const long = ['src', 'larkspur', 'scripts', 'web', 'sdk'].flatMap(filesOf).filter((file) => {
    return !file.endsWith('.gen.ts') && readFileSync(join(root, file), 'utf8').split('\n').length > 300;
  });
  expect(long).toStrictEqual([]);
});

function filesOf(folder: string): string[] {
  try {
    return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => /\.tsx?$/.test(name))
      .map((name) => `${folder}/${name}`)
      .sort();
  } catch {
    return [];
  }
}

function importsOf(file: string): string[] {
  const text = readFileSync(join(root, file), 'utf8');
  return [...text.matchAll(/(?:from|import) '(\.[^']+)'/g)].map(([, target = '']) =>
    relative(root, resolve(root, dirname(file), target)),
  );
}

function roomOf(file: string): string {
  const [, first = '', ...rest] = file.split('/');
  return rest.length > 0 ? `${first}/` : first;
}

function tableOfRooms(): Record<string, Set<string>> {
  const text = readFileSync(join(root, 'ARCHITECTURE.md'), 'utf8');
  const section = text.split('## Who may import whom')[1]?.split('\n## ')[0] ?? '';
  const rows = section.split('\n').filter((line) => /^\| `/.test(line));
  return Object.fromEntries(
    rows.map((row) => {
      const [room = '', others = ''] = row.split('|').slice(1);
      const names = (text: string) => [...text.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name);
      return [names(room)[0] ?? '', new Set(names(others))];
    }),
  );
}

import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { expect, test } from 'vitest';

const root = resolve(import.meta.dirname, '../..');
const vocabulary = new Set([
  'model/',
  'alertSettings.ts',
  'errors.ts',
  'events.ts',
  'failures.ts',
  'ids.ts',
  'config.ts',
  'csv.ts',
  'installation.ts',
  'operatorErrors.ts',
  'operatorSettings.ts',
  'parseUrl.ts',
  'settingValues.ts',
  'version.ts',
]);

const files = ['src', 'sql', 'larkspur', 'scripts', 'test', 'bench', 'web', 'sdk'].flatMap(filesOf);
/** `a.ts` → the files it imports, relative to the root. */
const imports = new Map(files.map((file) => [file, importsOf(file, /(?:from|import) '(\.[^']+)'/g)]));
/** The same with those that it imports when it needs them. */
const all_imports = new Map(files.map((file) => [file, importsOf(file, /(?:from |import |import\()'(\.[^']+)'/g)]));

test('modules import only what the table in ARCHITECTURE.md allows', () => {
  const allowed = importTable();
  const broken: string[] = [];
  for (const [file, targets] of all_imports) {
    if (!file.startsWith('src/')) continue;
    const module = moduleOf(file);
    if (!vocabulary.has(module)) expect(allowed, `${module} is missing from the table`).toHaveProperty([module]);
    for (const target of targets.filter((each) => each.startsWith('src/'))) {
      const other = moduleOf(target);
      if (other !== module && !vocabulary.has(other) && !allowed[module]?.has(other))
        broken.push(`${file} → ${target}`);
    }
  }
  expect(broken).toStrictEqual([]);
});

test('the table allows no import that is not used', () => {
  const used = new Set<string>();
  for (const [file, targets] of all_imports)
    for (const target of targets) used.add(`${moduleOf(file)} ${moduleOf(target)}`);
  const unused = Object.entries(importTable()).flatMap(([module, others]) =>
    [...others].filter((other) => !used.has(`${module} ${other}`)).map((other) => `${module} → ${other}`),
  );
  expect(unused).toStrictEqual([]);
});

test('only main.ts imports both the service and Larkspur', () => {
  const crossing = [...imports].flatMap(([file, targets]) =>
    targets
      .filter((target) => file.startsWith('src/') !== target.startsWith('src/'))
      .filter((target) => /^(src|larkspur)\//.test(file) && /^(src|larkspur)\//.test(target))
      .map((target) => `${file} → ${target}`),
  );
  expect(crossing).toStrictEqual(['src/main.ts → larkspur/start.ts']);
});

test('web imports nothing from outside web, and only tests import from it', () => {
  const crossing = [...imports].flatMap(([file, targets]) =>
    targets
      .filter(() => !file.startsWith('test/'))
      .filter((target) => file.startsWith('web/') !== target.startsWith('web/'))
      .map((target) => `${file} → ${target}`),
  );
  expect(crossing).toStrictEqual([]);
});

test('nothing uses URL.canParse, which is unreliable in Node 20 and 22', () => {
  const uses = [...imports.keys()].filter((file) => file.startsWith('src/') || file.startsWith('larkspur/'));
  expect(uses.filter((file) => /URL\.canParse\(/.test(readFileSync(join(root, file), 'utf8')))).toStrictEqual([]);
});

test('there are no import cycles', () => {
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

test('modules do not import each other in a circle, so imports point downward only', () => {
  const allowed = importTable();
  const done = new Set<string>();
  const cycles: string[] = [];
  const visit = (module: string, path: string[]) => {
    if (path.includes(module)) cycles.push([...path.slice(path.indexOf(module)), module].join(' → '));
    else if (!done.has(module)) {
      for (const other of allowed[module] ?? []) visit(other, [...path, module]);
      done.add(module);
    }
  };
  for (const module of Object.keys(allowed)) visit(module, []);
  expect(cycles).toStrictEqual([]);
});

test('only the command line reads the environment', () => {
  const readers = filesOf('src').filter((file) => /process\.env/.test(readFileSync(join(root, file), 'utf8')));
  // The code samples contain it as text.
  expect(readers).toStrictEqual(['src/surfaces/cli/run.ts', 'src/http/openapi/codeSamples.ts']);
});

test('only a connector’s own folder names its EMR', () => {
  // The documentation has guides about single EMRs.
  const naming = filesOf('src').filter(
    (file) =>
      !/^src\/(connectors\/|main\.ts|config\.ts|sandbox\/|docs\/navigation\.ts)/.test(file) &&
      /larkspur|fhir/i.test(readFileSync(join(root, file), 'utf8')),
  );
  expect(naming).toStrictEqual([]);
});

test('no source file is longer than 400 lines', () => {
  const long = ['src', 'sql', 'larkspur', 'scripts', 'web', 'sdk'].flatMap(filesOf).filter((file) => {
    return !file.endsWith('.gen.ts') && readFileSync(join(root, file), 'utf8').split('\n').length > 400;
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

function importsOf(file: string, statement: RegExp): string[] {
  const text = readFileSync(join(root, file), 'utf8');
  return [...text.matchAll(statement)].map(([, target = '']) => relative(root, resolve(root, dirname(file), target)));
}

function moduleOf(file: string): string {
  const [, first = '', ...rest] = file.split('/');
  return rest.length > 0 ? `${first}/` : first;
}

function importTable(): Record<string, Set<string>> {
  const text = readFileSync(join(root, 'ARCHITECTURE.md'), 'utf8');
  const section = text.split('## Who may import whom')[1]?.split('\n## ')[0] ?? '';
  const rows = section.split('\n').filter((line) => /^\| `/.test(line));
  return Object.fromEntries(
    rows.map((row) => {
      const [module = '', others = ''] = row.split('|').slice(1);
      const names = (text: string) => [...text.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name);
      return [names(module)[0] ?? '', new Set(names(others))];
    }),
  );
}

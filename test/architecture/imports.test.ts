import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { expect, test } from 'vitest';

const root = resolve(import.meta.dirname, '../..');
const files = ['src', 'sql', 'larkspur', 'scripts', 'test', 'bench', 'web', 'sdk'].flatMap(listFiles);
/** `a.ts` → the files it imports, relative to the root. */
const imports = new Map(files.map((file) => [file, listImports(file, /(?:from|import) '(\.[^']+)'/g)]));
/** The same with those that it imports when it needs them. */
const all_imports = new Map(files.map((file) => [file, listImports(file, /(?:from |import |import\()'(\.[^']+)'/g)]));

test('a folder of src imports only folders below it in the listing of ARCHITECTURE.md', () => {
  const units = listedUnits();
  const upward: string[] = [];
  for (const [file, targets] of all_imports) {
    if (!file.startsWith('src/')) continue;
    for (const target of targets.filter((each) => each.startsWith('src/'))) {
      if (findPlace(target, units) < findPlace(file, units)) upward.push(`${file} → ${target}`);
    }
  }
  expect(upward).toStrictEqual([]);
});

test('the listing of ARCHITECTURE.md names what exists, and nothing else', () => {
  const units = listedUnits();
  const sources = listFiles('src');
  expect(sources.filter((file) => findPlace(file, units) < 0)).toStrictEqual([]);
  expect(units.filter((unit) => !sources.some((file) => file.startsWith(unit)))).toStrictEqual([]);
});

test('only main.ts imports both the service and Larkspur', () => {
  const crossing = [...all_imports].flatMap(([file, targets]) =>
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

test('the shapes of a dashboard page stay in its folder', () => {
  const foreign = [...all_imports].flatMap(([file, targets]) =>
    targets
      .filter((target) => /^src\/surfaces\/dashboard\/[^/]+\/schema\.ts$/.test(target))
      .filter((target) => dirname(file) !== dirname(target))
      .map((target) => `${file} → ${target}`.replaceAll('src/surfaces/dashboard/', '')),
  );
  // Pages that show the same thing.
  expect(foreign.sort()).toStrictEqual([
    'accounts/schema.ts → overview/schema.ts',
    'emr-apps/schema.ts → accounts/schema.ts',
    'jobs/schema.ts → events/schema.ts',
    'me/schema.ts → sign-in/schema.ts',
    'overview/schema.ts → installation/schema.ts',
    'records/endpoints.ts → jobs/schema.ts',
    'records/schema.ts → jobs/schema.ts',
    'scripts/dashboardApi.ts → overview/schema.ts',
    'sign-in/schema.ts → operators/schema.ts',
  ]);
});

test('only main.ts imports the dashboard', () => {
  const importers = [...all_imports].flatMap(([file, targets]) => {
    const outside = file.startsWith('src/') && !file.startsWith('src/surfaces/dashboard/');
    return outside && targets.some((target) => target.startsWith('src/surfaces/dashboard/')) ? [file] : [];
  });
  expect(importers).toStrictEqual(['src/main.ts']);
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

test('only the command line reads the environment', () => {
  const readers = listFiles('src').filter((file) => /process\.env/.test(readFileSync(join(root, file), 'utf8')));
  // The code samples contain it as text.
  expect(readers).toStrictEqual(['src/http/openapi/codeSamples.ts', 'src/surfaces/cli/run.ts']);
});

test('only a connector’s own folder names its EMR', () => {
  // The documentation has guides and a diagram about single EMRs.
  const naming = listFiles('src').filter(
    (file) =>
      !/^src\/(emr\/|main\.ts|catalog\/settings\/config\.ts|surfaces\/(sandbox\/|docs\/(navigation\.ts|diagrams\/)))/.test(
        file,
      ) && /larkspur|fhir/i.test(readFileSync(join(root, file), 'utf8')),
  );
  expect(naming).toStrictEqual([]);
});

test('no source file is longer than 400 lines', () => {
  const long = ['src', 'sql', 'larkspur', 'scripts', 'web', 'sdk'].flatMap(listFiles).filter((file) => {
    return !file.endsWith('.gen.ts') && readFileSync(join(root, file), 'utf8').split('\n').length > 400;
  });
  expect(long).toStrictEqual([]);
});

function listFiles(folder: string): string[] {
  try {
    return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => /\.tsx?$/.test(name))
      .map((name) => `${folder}/${name}`)
      .sort();
  } catch {
    return [];
  }
}

function listImports(file: string, statement: RegExp): string[] {
  const text = readFileSync(join(root, file), 'utf8');
  return [...text.matchAll(statement)].map(([, target = '']) => relative(root, resolve(root, dirname(file), target)));
}

/** The paths that the listing orders, from the top: a layer, or the parts of a layer; `…` is the rest of a layer. */
function listedUnits(): string[] {
  const text = readFileSync(join(root, 'ARCHITECTURE.md'), 'utf8');
  const listing = text.split('## Layers')[1]?.split('```')[1] ?? '';
  const lines = listing.split('\n').filter((line) => line.trim() !== '');
  return lines.flatMap((line) => {
    const [layer = '', ...parts] = line.trim().split(/\s+/);
    return parts.length === 0 ? [`src/${layer}`] : parts.map((part) => `src/${layer}${part === '…' ? '' : part}`);
  });
}

/** The place of a file in the listing: that of the longest path it begins with; -1 if there is none. */
function findPlace(file: string, units: readonly string[]): number {
  const [nearest] = units.filter((unit) => file.startsWith(unit)).sort((a, b) => b.length - a.length);
  return nearest === undefined ? -1 : units.indexOf(nearest);
}

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { list_names, write_names } from '../../src/emr/operations/operations.ts';
import { event_types } from '../../src/model/events.ts';
import { writes } from '../../src/product/writes/writes.ts';

/**
 * The recipes of CONTRIBUTING.md say which files a new item needs. A file that names several items of a kind, and is not
 * in the recipe, is a list that somebody has to know of.
 */

const root = resolve(import.meta.dirname, '../..');
const contributing = readFileSync(join(root, 'CONTRIBUTING.md'), 'utf8');
const sources = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.ts'))
  .map((file) => ({ file: `src/${file}`, text: withoutComments(readFileSync(join(root, 'src', file), 'utf8')) }));

/** Items, the recipe, how many files it may have besides those of the connectors, and files that may name several. */
const recipes: [title: string, items: readonly string[], files_max: number, allowed: readonly RegExp[]][] = [
  ['A write', writes.map(({ type }) => type), 8, []],
  ['A write', write_names, 8, []],
  ['A record kind', list_names, 4, []],
  // The code that sends an event, the endpoint or the change of a record that starts it, and what triggers it.
  [
    ...(['An event', event_types, 1] as const),
    [/^src\/product\/(writes|records)\//, /^src\/surfaces\/(api\/v1|sandbox\/triggers)\//, /^src\/model\/records\//],
  ],
];

describe('recipes', () => {
  test.each(recipes)(
    'the recipe “%s” is complete: no other file lists its items',
    (title, items, _files_max, allowed) => {
      const expected = [...recipeFiles(title), ...allowed];
      const lists = sources
        .map(({ file, text }) => ({ file, named: items.filter((item) => isNamed(item, text)) }))
        .filter(({ file, named }) => named.length > 2 && !expected.some((pattern) => pattern.test(file)));
      expect(lists).toStrictEqual([]);
    },
  );

  test.each(recipes)('the recipe “%s” has few files', (title, _items, files_max) => {
    const [connectors, others] = [/<emr>/, /^(?!.*<emr>)/].map((kind) =>
      recipePaths(title).filter((path) => kind.test(path)),
    );
    expect(others?.length).toBeLessThanOrEqual(files_max);
    expect(connectors?.length).toBeLessThanOrEqual(1);
  });

  test.each([
    ['An endpoint', 3],
    ['A dashboard page', 5],
  ])('the recipe “%s” has few files', (title, files_max) => {
    expect(recipePaths(title).length).toBeLessThanOrEqual(files_max);
  });

  test('every file that CONTRIBUTING.md names exists', () => {
    const named = [...contributing.matchAll(/`((?:src|web|scripts|docs|test|larkspur|bench|deploy)\/[\w./-]*)`/g)];
    expect(named.map(([, path = '']) => path).filter((path) => !existsSync(join(root, path)))).toStrictEqual([]);
  });
});

/** Whether a text has the item as a string, a property or a function. */
function isNamed(item: string, text: string): boolean {
  const name = item.replaceAll('.', '\\.');
  return new RegExp(`['"\`]${name}['"\`]|(?<![\\w.'])${name}\\b(?!['.])`).test(text);
}

/** `src/model/requests/<noun>.ts` */
function recipePaths(title: string): string[] {
  const [, section = ''] = contributing.split(`### ${title}\n`);
  const [recipe = ''] = section.split('\n#');
  const paths = [...recipe.matchAll(/^\d+\. `([^`]+)`/gm)].map(([, path = '']) => path);
  if (paths.length === 0) throw new Error(`CONTRIBUTING.md has no recipe “${title}” with numbered files.`);
  return paths;
}

function recipeFiles(title: string): RegExp[] {
  return recipePaths(title).map((path) => {
    const escaped = path.replaceAll('.', '\\.').replaceAll('/<noun>', '(/[^/]+)+').replaceAll(/<\w+>/g, '[^/]+');
    return new RegExp(`^${escaped}`);
  });
}

function withoutComments(source: string): string {
  return source.replaceAll(/\/\*[\s\S]*?\*\//g, '').replaceAll(/(^|\s)\/\/.*$/gm, '$1');
}

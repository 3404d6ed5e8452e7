import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';

const src = resolve(import.meta.dirname, '../../src');

test('all writes to a table are in one file; reads may join', () => {
  const scattered = [...writes()].filter(([, files]) => files.size > 1);
  expect(scattered.map(([table, files]) => `${table}: ${[...files].join(', ')}`)).toStrictEqual([]);
});

test('finds the writes', () => {
  expect(writes().get('jobs')).toStrictEqual(new Set(['product/jobs/jobs.ts']));
});

/** Each table with the files that insert, update or delete its rows. Tables named by a variable are not seen. */
function writes(): Map<string, Set<string>> {
  const tables = new Map<string, Set<string>>();
  const files = readdirSync(src, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'));
  for (const file of files) {
    const code = readFileSync(join(src, file), 'utf8').replaceAll(/\/\*[\s\S]*?\*\/|(?:^|\s)\/\/.*$/gm, '');
    for (const [, table = ''] of code.matchAll(/\b(?:INSERT INTO|DELETE FROM|UPDATE)\s+([a-z_]+)\b/g)) {
      tables.set(table, (tables.get(table) ?? new Set()).add(file));
    }
  }
  // `FOR NO KEY UPDATE SKIP LOCKED`, `DO UPDATE SET` and similar are followed by capitals and never match.
  return tables;
}

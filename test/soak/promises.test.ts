import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { invariants } from '../../scripts/soak/check/invariants.ts';
import { promises } from '../../scripts/soak/promises/catalogue.ts';
import { stages } from '../../scripts/soak/stages.ts';

const root = resolve(import.meta.dirname, '../..');

test('the catalogue has the promises 1 to 42 and later ones, each once', () => {
  const rows = promises.map(({ row }) => row);
  expect(rows).toEqual(expect.arrayContaining(Array.from({ length: 42 }, (_, n) => n + 1)));
  expect(new Set(rows).size).toBe(rows.length);
});

test('every test that the catalogue names exists', () => {
  const missing = promises
    .flatMap(({ tests }) => tests)
    .filter(({ file, title }) => !readFileSync(join(root, file), 'utf8').includes(title));
  expect(missing).toStrictEqual([]);
});

test('a promise without a test or a stage says what is open', () => {
  const measured = new Set(stages.flatMap(({ rows }) => rows));
  const silent = promises.filter(({ row, tests, open }) => (tests.length === 0 || !measured.has(row)) && !open);
  expect(silent).toStrictEqual([]);
});

test('stages and invariants name known promises', () => {
  const rows = new Set(promises.map(({ row }) => row));
  const named = [...stages, ...invariants].flatMap(({ rows }) => rows);
  expect(named.filter((row) => !rows.has(row))).toStrictEqual([]);
});

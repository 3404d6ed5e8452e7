import { expect, test } from 'vitest';
import { readCitations, readConformance, readRows } from '../../scripts/conformance.ts';

const root = process.cwd();

test('every row is cited by exactly one test', () => {
  const rows = readConformance(root);
  expect(rows.length).toBeGreaterThan(800);
  const wrong = rows
    .filter(({ files }) => files.length !== 1)
    .map(({ id, files }) => `${id}: ${files.join(', ') || 'no test'}`);
  expect(wrong).toStrictEqual([]);
});

test('no test cites a row that does not exist', () => {
  const ids = new Set(readRows(root).map(({ id }) => id));
  expect(readCitations(root).filter(({ id }) => !ids.has(id))).toStrictEqual([]);
});

test('row ids are unique, and no two rows of a section state the same thing', () => {
  const rows = readRows(root);
  expect(new Set(rows.map(({ id }) => id)).size).toBe(rows.length);
  expect(new Set(rows.map(({ section, statement }) => `${section} ${statement}`)).size).toBe(rows.length);
});

import { expect, test } from 'vitest';
import { not_built, readConformance, readTests } from '../../scripts/conformance.ts';

test('every row has exactly one test, titled with its id and its words', async () => {
  const rows = await readConformance(process.cwd());
  expect(rows).toHaveLength(818);
  const wrong = rows
    .filter(({ id }) => !not_built.includes(id))
    .filter(({ id, statement, tests }) => tests.length !== 1 || tests[0]?.title !== `${id} ${statement}`)
    .map(({ id, tests }) => `${id}: ${tests.map(({ file, line }) => `${file}:${line}`).join(', ') || 'no test'}`);
  expect(wrong).toStrictEqual([]);
});

test('a row that waits for its part of the product has no test yet', async () => {
  const rows = await readConformance(process.cwd());
  const early = rows.filter(({ id, tests }) => not_built.includes(id) && tests.length > 0).map(({ id }) => id);
  expect(early).toStrictEqual([]);
  expect(not_built.filter((id) => !rows.some((row) => row.id === id))).toStrictEqual([]);
});

test('no test bears the id of a row that does not exist', async () => {
  const ids = new Set((await readConformance(process.cwd())).map(({ id }) => id));
  const strangers = (await readTests(process.cwd()))
    .map(({ title }) => /^([A-Z]{3}-\d+) /.exec(title)?.[1])
    .filter((id) => id !== undefined && !ids.has(id));
  expect(strangers).toStrictEqual([]);
});

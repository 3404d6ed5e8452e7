import { expect, test } from 'vitest';
import type { RequestFields } from '../../src/emr/operations/operation.ts';
import { operations } from '../../src/emr/operations/operations.ts';

const declared = Object.entries(operations).flatMap(([name, declaration]): [string, RequestFields<object>][] =>
  'fields' in declaration ? [[name, declaration.fields]] : [],
);

test('the certification covers every field of a request that an EMR may not support', () => {
  const uncovered = declared.flatMap(([name, { body, samples, unchecked }]) => {
    const covered = Object.entries(samples).flatMap(([field, { includes = [] }]) => [field, ...includes]);
    const other = new Set([...(body.required ?? []), ...unchecked]);
    return Object.keys(body.properties)
      .filter((field) => !covered.includes(field) && !other.has(field))
      .map((field) => `${name}.${field}`);
  });
  expect(uncovered).toStrictEqual([]);
});

import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { operations } from '../../larkspur/api/operations.ts';
import { faultKinds } from '../../larkspur/http/faults.ts';

const document = await readFile(new URL('../../docs/larkspur.md', import.meta.url), 'utf8');

test('docs/larkspur.md lists exactly the declared operations, with their requests', () => {
  const rows = [...document.matchAll(/^\| `(\w+)` \| `((?:GET|POST) \/api[^`]*)`.*\| (yes)? ?\|$/gm)];
  expect(rows.map(([, name, request, writes]) => `${name}: ${request} ${writes === 'yes'}`)).toEqual(
    operations.map(({ name, method, path, writes }) => `${name}: ${method} ${path} ${writes}`),
  );
});

test('docs/larkspur.md lists exactly the declared fault kinds', () => {
  const [, section = ''] = document.split('### Faults');
  const rows = [...section.matchAll(/^\| `(\w+)` \|/gm)].map(([, kind]) => kind);
  expect(rows.toSorted()).toEqual(Object.keys(faultKinds).toSorted());
});

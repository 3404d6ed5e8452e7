import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { operations } from '../../larkspur/api/operations.ts';
import { faultKinds } from '../../larkspur/machine/faults.ts';

const document = await readFile(new URL('../../docs/larkspur.md', import.meta.url), 'utf8');

test('docs/larkspur.md lists every operation with its request, and no other', () => {
  const rows = [...document.matchAll(/^\| `(\w+)` \| `((?:GET|POST) \/api[^`]*)`.*\| (yes)? ?\|$/gm)];
  expect(rows.map(([, name, request, writes]) => `${name}: ${request} ${writes === 'yes'}`)).toEqual(
    operations.map((one) => `${one.name}: ${one.method} ${one.path} ${one.writes}`),
  );
});

test('docs/larkspur.md lists every kind of fault, and no other', () => {
  const [, section = ''] = document.split('### Faults');
  const rows = [...section.matchAll(/^\| `(\w+)` \|/gm)].map(([, kind]) => kind);
  expect(rows.toSorted()).toEqual(Object.keys(faultKinds).toSorted());
});

import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { record_kinds, sync_order } from '../../src/model/records/kinds.ts';

const src = resolve(import.meta.dirname, '../../src');

/** Files that may name several kinds. None of them has to change when a kind is added, but for the first two. */
const allowed: [file: RegExp, reason: string][] = [
  [/^model\/records\/kinds\.ts$/, 'the registry'],
  [/^emr\/(larkspur|fhir|openemr)\//, 'the mapping of an EMR'],
  [/^model\/consents\.ts$/, 'what people agree to in Link, which kinds may share'],
  [/^product\/records\/schedule\.ts$/, 'kinds whose rows copy values from other tables'],
  [/^product\/records\/settings\.ts$/, 'locations and codes of the practice’s settings'],
  [/^product\/writes\//, 'records that a write refers to'],
  [/^emr\/operations\//, 'records that sample writes refer to'],
  [/^surfaces\/api\/endpoints\.ts$/, 'endpoints that update single records'],
  [/^model\/settings\.ts$/, 'fields of the settings'],
  [/^model\/events\/accounts\.ts$/, 'an example'],
];

test('nothing but the registry and the connectors lists record kinds by name', () => {
  const listing = readdirSync(src, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') && !allowed.some(([pattern]) => pattern.test(file)))
    .flatMap((file) => listsIn(readFileSync(join(src, file), 'utf8')).map((names) => `${file}: ${names.join(', ')}`));
  expect(listing).toStrictEqual([]);
});

test('finds lists of kinds, however they are written', () => {
  for (const text of [
    "['patients', 'claims', 'orders']",
    "type Table = 'patients' | 'claims' | 'visit_types';",
    '{ listPatients: a, listClaims: b, listVisitTypes: c }',
    '[patients, insuranceProviders, claims]',
    "import { a } from 'patients.ts';\nimport { b } from 'claims.ts';\nimport { c } from 'orders.ts';",
  ]) {
    expect(listsIn(text), text).toHaveLength(1);
  }
  expect(listsIn("import type { Patient } from './model/records/patients.ts';")).toStrictEqual([]);
});

test('a sync reads a kind after the kinds that it copies from', () => {
  expect(new Set(sync_order)).toStrictEqual(new Set(record_kinds));
  for (const [place, kind] of sync_order.entries()) {
    for (const name of kind.after) expect(sync_order.findIndex((each) => each.name === name)).toBeLessThan(place);
  }
});

/** Runs of at least three kinds, each within two lines of the next. */
function listsIn(text: string): string[][] {
  const lists: string[][] = [];
  let current: string[] = [];
  let last_line = Number.NEGATIVE_INFINITY;
  const close = () => {
    if (new Set(current).size >= 3) lists.push([...new Set(current)]);
    current = [];
  };
  for (const [number, line] of text.split('\n').entries()) {
    if (/^\s*(\/\/|\/?\*)/.test(line)) continue;
    const kinds = kindsIn(line);
    if (kinds.length === 0) continue;
    if (number - last_line > 2) close();
    current.push(...kinds);
    last_line = number;
  }
  close();
  return lists;
}

function kindsIn(line: string): string[] {
  const code = line.replaceAll(/'[^']* [^']*'|`[^`]*`|"[^"]*"/g, "''");
  return record_kinds.flatMap(({ name, operation }) => {
    const camel = name.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
    return new RegExp(`(?<![\\w.])(${name}|${camel}|${operation})\\b(?!\\()`).test(code) ? [name] : [];
  });
}

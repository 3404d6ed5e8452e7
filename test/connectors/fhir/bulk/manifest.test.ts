import { expect, test } from 'vitest';
import { toManifest } from '../../../../src/emr/fhir/bulk/manifest.ts';

const base = new URL('https://emr.example.org/r4');
const read = (fields: object) => toManifest([{ output: [], requiresAccessToken: true, ...fields }], base);

test.each([
  '2026-11-18T09:00:00Z',
  '2026-11-18T09:00:00.123456789Z',
  '2026-11-18T09:00:00-05:00',
  '2024-02-29T23:59:59+14:00',
])('%s is the time of an export, as the server wrote it', (transactionTime) => {
  expect(read({ transactionTime }).as_of).toBe(transactionTime);
});

test.each([
  [undefined],
  [null],
  [1763456400000],
  [['2026-11-18T09:00:00Z']],
  [''],
  ['2026-11-18'],
  ['2026-11'],
  ['2026-11-18T09:00Z'],
  ['2026-11-18T09:00:00'],
  ['2026-11-18 09:00:00Z'],
  ['2026-11-18T09:00:00-0500'],
  ['2026-02-30T09:00:00Z'],
  ['2026-11-18T25:00:00Z'],
  ['0000-11-18T09:00:00Z'],
  ['2026-11-18T09:00:00Z&_type=Patient'],
  ['2026-11-18T09:00:00Z\n'],
  [`2026-11-18T09:00:00.${'0'.repeat(1000)}Z`],
])('%j is not the time of an export', (transactionTime) => {
  expect(() => read({ transactionTime })).toThrow(
    expect.objectContaining({ kind: 'refused', message: expect.stringContaining('is not a FHIR instant') }),
  );
});

test('the time of an export is not in the future, except for a clock that is wrong by hours', () => {
  const inHours = (hours: number) => new Date(Date.now() + hours * 3_600_000).toISOString();
  expect(read({ transactionTime: inHours(12) }).as_of).toBeTypeOf('string');
  expect(() => read({ transactionTime: inHours(48) })).toThrow(/a time in the future/);
});

test('a manifest without a list of files, or with a file that has no address, is unreadable', () => {
  const transactionTime = '2026-11-18T09:00:00Z';
  for (const output of [
    undefined,
    null,
    {},
    'x',
    [null],
    [{ type: 'Patient' }],
    [{ type: 'Patient', url: 'http://' }],
  ]) {
    expect(() => read({ transactionTime, output })).toThrow(expect.objectContaining({ kind: 'unavailable' }));
  }
});

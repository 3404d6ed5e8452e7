import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { faults, mended } from '../../src/db/driverFaults.ts';

const entry = createRequire(import.meta.url).resolve('postgres');
const source = readFileSync(join(dirname(entry), '../../src/connection.js'), 'utf8');

test('the installed driver has each of the faults once, and none after it was mended', () => {
  const text = mended(source);
  for (const fault of faults) {
    expect(source.split(fault.before)).toHaveLength(2);
    expect(text).toContain(fault.after);
  }
});

test('another driver is not touched but refused', () => {
  expect(() => mended(source.replace('fetchArrayTypes()', 'fetchTypes()'))).toThrow(
    'The driver is not the one we mend',
  );
});

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { type DriverFile, faults, mended } from '../../src/db/driverFaults.ts';

const entry = createRequire(import.meta.url).resolve('postgres');
const sourceOf = (file: DriverFile) => readFileSync(join(dirname(entry), '../../src', file), 'utf8');

test.each(faults)('the installed driver has this fault once, and not after it was mended: $about', (fault) => {
  const source = sourceOf(fault.file);
  expect(source.split(fault.before)).toHaveLength(2);
  expect(mended(fault.file, source)).toContain(fault.after);
});

test('another driver is not touched but refused', () => {
  const other = sourceOf('connection.js').replace('fetchArrayTypes()', 'fetchTypes()');
  expect(() => mended('connection.js', other)).toThrow('The driver is not the one we mend');
});

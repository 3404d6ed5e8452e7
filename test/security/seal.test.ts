import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { SealFailure, sealWith, unsealWith } from '../../src/platform/security/seal.ts';

const key = randomBytes(32);
const bytes = fc.uint8Array({ maxLength: 300 }).map((array) => Buffer.from(array));

test('decrypts with the same key and binding', () => {
  fc.assert(
    fc.property(bytes, fc.string(), (plain, binding) => {
      expect(unsealWith(key, sealWith(key, plain, binding), binding)).toEqual(plain);
    }),
  );
});

test('rejects a changed bit anywhere', () => {
  fc.assert(
    fc.property(bytes, fc.nat(), fc.nat(7), (plain, at, bit) => {
      const sealed = sealWith(key, plain, 'row:1');
      const index = at % sealed.length;
      sealed.writeUInt8(sealed.readUInt8(index) ^ (1 << bit), index);
      expect(() => unsealWith(key, sealed, 'row:1')).toThrow(SealFailure);
    }),
  );
});

test('rejects truncated and extended values', () => {
  const sealed = sealWith(key, Buffer.from('secret'), 'row:1');
  for (let length = 0; length < sealed.length; length++) {
    expect(() => unsealWith(key, sealed.subarray(0, length), 'row:1')).toThrow(SealFailure);
  }
  expect(() => unsealWith(key, Buffer.concat([sealed, Buffer.of(0)]), 'row:1')).toThrow(SealFailure);
});

test('rejects another binding or key', () => {
  fc.assert(
    fc.property(fc.string(), fc.string(), (here, there) => {
      fc.pre(Buffer.compare(Buffer.from(here), Buffer.from(there)) !== 0);
      const sealed = sealWith(key, Buffer.from('secret'), here);
      expect(() => unsealWith(key, sealed, there)).toThrow(SealFailure);
    }),
  );
  const sealed = sealWith(key, Buffer.from('secret'), 'row:1');
  expect(() => unsealWith(randomBytes(32), sealed, 'row:1')).toThrow(SealFailure);
});

test('encrypts equal texts to different bytes, and the error does not contain the text', () => {
  const one = sealWith(key, Buffer.from('secret'), 'row:1');
  expect(one.equals(sealWith(key, Buffer.from('secret'), 'row:1'))).toBe(false);
  expect(one.includes('secret')).toBe(false);
  expect(() => unsealWith(key, one, 'row:2')).toThrow(/^(?!.*(secret|row:)).*$/);
});

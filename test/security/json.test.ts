import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { JsonTooComplex, parseJson, parseJsonInParts } from '../../src/platform/security/json.ts';

const limits = { depth_max: 40, values_max: 1_000_000 };
const bytes = (text: string) => Buffer.from(text);

/** A document of about 300 KB, in which large and small values alternate at several levels. */
function largeDocument(): Record<string, unknown> {
  const record = (n: number) => ({
    id: n,
    name: `Ünïcode 🏥 ${n}`,
    tags: ['a', null, true, -1.5e3],
    text: '[{"\\,:}]',
  });
  const records = Array.from({ length: 1000 }, (_, n) => record(n));
  return { first: 1, long: 'x'.repeat(100_000), entry: records, nested: { more: { entry: records }, last: [] }, '': 0 };
}

describe('parsing in parts', () => {
  test('gives what JSON.parse gives', async () => {
    for (const space of [0, 1]) {
      const text = JSON.stringify(largeDocument(), undefined, space);
      expect(await parseJsonInParts(bytes(text), limits)).toStrictEqual(JSON.parse(text));
      expect(await parseJsonInParts(bytes(`\ufeff \n${text}\r\n `), limits)).toStrictEqual(JSON.parse(text));
    }
    const long_text = JSON.stringify('y'.repeat(200_000));
    expect(await parseJsonInParts(bytes(long_text), limits)).toBe(JSON.parse(long_text));
    expect(await parseJsonInParts(bytes(`{${' '.repeat(100_000)}}`), limits)).toStrictEqual({});
  });

  test('gives what JSON.parse gives for any value', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.jsonValue({ maxDepth: 4 }), { minLength: 1 }), async (values) => {
        // Repeated until it is parsed in parts.
        const text = JSON.stringify(Array.from({ length: 40 }, () => ({ values, padding: ' '.repeat(3000) })));
        expect(await parseJsonInParts(bytes(text), limits)).toStrictEqual(JSON.parse(text));
      }),
      { numRuns: 20 },
    );
  });

  test('keeps a field called __proto__ an ordinary field', async () => {
    const text = `{"__proto__":{"admin":true},"entry":[${'{"a":1},'.repeat(20_000)}1]}`;
    const parsed = await parseJsonInParts(bytes(text), limits);
    expect(Object.getPrototypeOf(parsed)).toBe(Object.prototype);
    expect(Object.hasOwn(parsed as object, '__proto__')).toBe(true);
  });

  const filler = Array.from({ length: 20_000 }, (_, n) => `{"n":${n}}`).join(',');
  test.each([
    ['an element missing at the start', `[,${filler}]`],
    ['an element missing at the end', `[${filler},]`],
    ['an element missing next to a large one', `[[${filler}],,[${filler}]]`],
    ['a comma missing after a large element', `[[${filler}]1,2]`],
    ['text before a large element', `[1[${filler}],2]`],
    ['a field name missing before a large value', `{[${filler}]}`],
    ['a large value without a colon', `{"a"[${filler}]}`],
    ['brackets that do not match', `[${filler}}`],
    ['an end that is missing', `[${filler}`],
    ['an open string at the end', `[${filler}]"`],
    ['text before', `x[${filler}]`],
    ['text after', `[${filler}]x`],
    ['a second document', `[${filler}][${filler}]`],
  ])('rejects %s', async (_case, text) => {
    expect(() => JSON.parse(text)).toThrow(SyntaxError);
    await expect(parseJsonInParts(bytes(text), limits)).rejects.toThrow(SyntaxError);
  });

  test('rejects bytes that are not UTF-8', async () => {
    const text = Buffer.from(`[${filler},"\xff"]`, 'latin1');
    await expect(parseJsonInParts(text, limits)).rejects.toThrow(TypeError);
    expect(() => parseJson(Buffer.from('"\xff"', 'latin1'), limits)).toThrow(TypeError);
  });

  test('lets other work run between the parts', async () => {
    const text = bytes(`[${Array.from({ length: 16 }, () => `[${filler}]`).join(',')}]`);
    expect(text.length).toBeGreaterThan(3_000_000);
    let turns = 0;
    let parsing = true;
    const count = () => {
      turns += 1;
      if (parsing) setImmediate(count);
    };
    setImmediate(count);
    await parseJsonInParts(text, { depth_max: 5, values_max: 10_000_000 });
    parsing = false;
    // One turn per 256 KB that is scanned and about one per 64 KB that is parsed.
    expect(turns).toBeGreaterThan(text.length / 262_144 + text.length / 131_072);
  });
});

describe.each([
  ['at once', async (text: string) => parseJson(bytes(text), { depth_max: 5, values_max: 100 })],
  ['in parts', (text: string) => parseJsonInParts(bytes(text.padEnd(100_000)), { depth_max: 5, values_max: 100 })],
])('limits, parsing %s', (_name, parse) => {
  test('allow the stated depth and no more', async () => {
    const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth);
    expect(await parse(nested(5))).toStrictEqual([[[[[]]]]]);
    await expect(parse(nested(6))).rejects.toThrow(JsonTooComplex);
    await expect(parse('{"a":'.repeat(6))).rejects.toMatchObject({ limit: 'depth_max' });
    // Side by side is not inside each other.
    expect(await parse(`[${'[],'.repeat(20)}[]]`)).toHaveLength(21);
  });

  test('allow the stated number of values and no more', async () => {
    expect(await parse(JSON.stringify(Array(90).fill(1)))).toHaveLength(90);
    await expect(parse(JSON.stringify(Array(101).fill(1)))).rejects.toMatchObject({ limit: 'values_max' });
    await expect(parse(`[${'{},'.repeat(60)}{}]`)).rejects.toMatchObject({ limit: 'values_max' });
  });

  test('do not count what stands in strings', async () => {
    const text = JSON.stringify({ a: '[[[[[[[[{{{{{{{', b: '\\"[,,,,:::'.repeat(50), c: '\\' });
    expect(await parse(text)).toStrictEqual(JSON.parse(text));
  });
});

import { describe, expect, test } from 'vitest';
import { extractFiles } from '../../../src/http/embeddedFiles.ts';

const embedded = { list: 'documents', content: 'content_base64' };
const files = [Buffer.from('first'), Buffer.from([0xff, 0xfb, 0xfe, 0xff]), Buffer.alloc(200_000, 7)];
const body = JSON.stringify({
  'back\\slash "quoted"': 'content_base64',
  documents: files.map((file, n) => ({ filename: `"${n}".pdf`, content_base64: file.toString('base64') })),
});

function extract(chunks: Buffer[], json_bytes_max = 1_000_000) {
  const extraction = extractFiles(embedded, json_bytes_max);
  for (const chunk of chunks) extraction.add(chunk);
  const { json, files } = extraction.finish();
  return { body: JSON.parse(json.toString()), files };
}

describe('files in a JSON body', () => {
  test('are decoded, and replaced by placeholders', () => {
    const extracted = extract([Buffer.from(body)]);
    expect(extracted.files.map((file, n) => file.equals(files[n] ?? Buffer.alloc(0)))).toStrictEqual([
      true,
      true,
      true,
    ]);
    expect(extracted.body).toStrictEqual({
      'back\\slash "quoted"': 'content_base64',
      documents: [
        { filename: '"0".pdf', content_base64: '[file 0, 5 bytes]' },
        { filename: '"1".pdf', content_base64: '[file 1, 4 bytes]' },
        { filename: '"2".pdf', content_base64: '[file 2, 200000 bytes]' },
      ],
    });
  });

  test('are the same wherever the body is divided', () => {
    const short = Buffer.from(
      JSON.stringify(JSON.parse(body), (key, value) => (key === 'documents' ? value.slice(0, 2) : value)),
    );
    const whole = extract([short]);
    for (let at = 0; at <= short.length; at++) {
      expect(extract([short.subarray(0, at), short.subarray(at)]), `at ${at}`).toStrictEqual(whole);
    }
    expect(extract([...short].map((byte) => Buffer.from([byte])))).toStrictEqual(whole);
  });

  test('may have escaped slashes, and escaped names', () => {
    const sent = '{ "content\\u005fbase64" :\n "\\/\\/\\/\\/" }';
    expect(extract([Buffer.from(sent)])).toStrictEqual({
      body: { content_base64: '[file 0, 3 bytes]' },
      files: [Buffer.from([255, 255, 255])],
    });
  });

  test('are left to the validation if they are no text, or empty', () => {
    for (const value of [5, null, '', ['AAAA'], { content: 'AAAA' }]) {
      const sent = { content_base64: value };
      expect(extract([Buffer.from(JSON.stringify(sent))])).toStrictEqual({ body: sent, files: [] });
    }
  });

  test.each(['A', 'AA=A', 'A===', 'AA==AA==', 'AA-_', 'AA\\nA', 'ÄAAA', 'AAAA ', 'AAA'])('rejects %s', (content) => {
    const sent = Buffer.from(`{"content_base64":"${content}"}`);
    expect(() => extract([sent])).toThrow(/must be base64/);
  });

  test('are limited in size, as is the rest', () => {
    const large = Buffer.alloc(5_242_881).toString('base64');
    expect(() => extract([Buffer.from(`{"content_base64":"${large}"}`)])).toThrow(/5 MB/);
    expect(() => extract([Buffer.from('{"reason":"long"}')], 10)).toThrow(/exceeds/);
  });

  test('an incomplete body is not JSON', () => {
    for (const sent of ['{"content_base64":"AAAA', '{"reason":"x']) {
      expect(() => extract([Buffer.from(sent)])).toThrow(/JSON/);
    }
  });
});

import { describe, expect, test } from 'vitest';
import { sniffDocument } from '../../src/security/sniffDocument.ts';
import { documents, pdfOf } from '../harness/documents.ts';

const kinds = [
  ['pdf', documents.pdf, 'application/pdf'],
  ['png', documents.png, 'image/png'],
  ['jpeg', documents.jpeg, 'image/jpeg'],
] as const;

describe.each(kinds)('a %s', (_name, content, type) => {
  test('is known by its content', () => {
    expect(sniffDocument(content)).toBe(type);
  });

  test('cut off anywhere is none', () => {
    const white_space_after = /\s*$/.exec(content.toString('latin1'))?.[0].length ?? 0;
    for (let length = 0; length < content.length - white_space_after; length++) {
      expect(sniffDocument(content.subarray(0, length)), `${length} bytes`).toBeUndefined();
    }
  });

  test('with something behind its end is none', () => {
    for (const behind of ['<script>alert(1)</script>', 'PK\u0003\u0004', '\u0000']) {
      expect(sniffDocument(Buffer.concat([content, Buffer.from(behind)]))).toBeUndefined();
    }
  });

  test('with something before its beginning is none', () => {
    expect(sniffDocument(Buffer.concat([Buffer.from('GIF89a'), content]))).toBeUndefined();
  });
});

test('a picture with a flipped bit in its structure is none', () => {
  const broken = Buffer.from(documents.png);
  broken.writeUInt8(broken.readUInt8(20) ^ 1, 20);
  expect(sniffDocument(broken)).toBeUndefined();
});

test.each(['<html></html>', 'MZ\u0090', '%PDF-', 'plain text', '', '%!PS-Adobe-3.0'])('%j is none', (text) => {
  expect(sniffDocument(Buffer.from(text, 'latin1'))).toBeUndefined();
});

test('a large one is known too, at the very limit of an upload', () => {
  expect(pdfOf(5_242_880)).toHaveLength(5_242_880);
  expect(sniffDocument(pdfOf(5_242_880))).toBe('application/pdf');
});

import { crc32, deflateSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { sniffDocument } from '../../src/platform/security/documents.ts';
import { createPdf, documents } from '../harness/documents.ts';

const kinds = [
  ['pdf', documents.pdf, 'application/pdf'],
  ['png', documents.png, 'image/png'],
  ['jpeg', documents.jpeg, 'image/jpeg'],
] as const;

const join = (...parts: (Buffer | string | number[])[]) =>
  Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part, 'latin1') : Buffer.from(part))));

/** Formats that another program would run or unpack. */
const active: [string, string][] = [
  ['HTML', '<script>alert(1)</script>'],
  ['HTML with an event handler', '<IMG\tsrc=x onerror=alert(1)>'],
  ['HTML in UTF-16', [...'<html><script>'].join('\0')],
  ['SVG', '<svg onload="alert(1)"/>'],
  ['PHP', '<?php system($_GET["c"]); ?>'],
  ['a member of a ZIP archive', `PK\x03\x04\x14\x00${'\0'.repeat(30)}`],
  ['the directory of a ZIP archive', `PK\x05\x06${'\0'.repeat(18)}`],
  ['a PDF', '%PDF-1.7\n1 0 obj'],
  ['PostScript', '%!PS-Adobe-3.0'],
  ['a Windows program', `MZ${'\0'.repeat(58)}\x40\0\0\0PE\0\0`],
  ['a Linux program', '\x7fELF\x02\x01\x01'],
  ['a shell script', '\n#!/bin/sh\nid'],
  ['a Java class', '\xca\xfe\xba\xbe\0\0\0\x34'],
  ['a 7z archive', '7z\xbc\xaf\x27\x1c'],
  ['an old Office file', '\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1'],
];

describe.each(kinds)('a %s', (_name, content, type) => {
  test('is detected by its content', () => {
    expect(sniffDocument(content)).toBe(type);
  });

  test('is rejected if truncated anywhere', () => {
    const trailing_whitespace = /\s*$/.exec(content.toString('latin1'))?.[0].length ?? 0;
    for (let length = 0; length < content.length - trailing_whitespace; length++) {
      expect(sniffDocument(content.subarray(0, length)), `${length} bytes`).toBeUndefined();
    }
  });

  test('is accepted with padding after its end', () => {
    for (const padding of ['\0', '\n', '\0'.repeat(4096), ' \r\n', '\x1a']) {
      expect(sniffDocument(join(content, padding)), JSON.stringify(padding)).toBe(type);
    }
  });

  test.each(active)('is rejected if it is followed by %s', (_format, trailing) => {
    for (const before of ['', '\0'.repeat(100), 'vendor data ']) {
      expect(sniffDocument(join(content, before, trailing))).toBeUndefined();
    }
  });

  test('is rejected with leading content', () => {
    for (const leading of ['GIF89a', '<html>', 'MZ', 'x']) {
      expect(sniffDocument(join(leading, content)), leading).toBeUndefined();
    }
  });
});

const marker = (code: number, data: Buffer | string) => {
  const content = join(data);
  return join([0xff, code, (content.length + 2) >> 8, (content.length + 2) & 0xff], content);
};
/** The test image with additional segments after its start marker. */
const jpegWith = (...segments: Buffer[]) =>
  join(documents.jpeg.subarray(0, 2), ...segments, documents.jpeg.subarray(2));

describe('a JPEG as cameras and programs write it', () => {
  const exif = marker(0xe1, join('Exif\0\0II*\0\x08\0\0\0', documents.jpeg));
  const xmp = marker(
    0xe1,
    'http://ns.adobe.com/xap/1.0/\0<?xpacket begin="" id="W5M0MpCehiHzreSzNTczkc9d"?><x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF/></x:xmpmeta><?xpacket end="w"?>',
  );
  const random = (length: number) => Buffer.from(Array.from({ length }, (_, n) => (n * 7919 * (n >> 3)) & 0xff));
  const restarts = join(documents.jpeg.subarray(0, -2), [0xff, 0xd0, 0x12, 0xff, 0x00, 0xff, 0xd1], [0xff, 0xd9]);
  const progressive = join(
    documents.jpeg.subarray(0, -2),
    marker(0xc4, '\x10\x01'),
    marker(0xda, '\x01\x01\x00\x01\x05\x00'),
    [0x11, 0xff, 0x00],
    [0xff, 0xd9],
  );
  test.each<[string, Buffer]>([
    ['with a thumbnail in its metadata', jpegWith(exif)],
    [
      'with XMP metadata, a color profile and a comment',
      jpegWith(xmp, marker(0xe2, 'ICC_PROFILE\0'), marker(0xfe, 'Lavc')),
    ],
    ['with restart markers', restarts],
    ['with several scans', progressive],
    ['with fill bytes before a marker', join(documents.jpeg.subarray(0, 2), [0xff, 0xff], documents.jpeg.subarray(2))],
    ['with a second image (MPF)', join(jpegWith(marker(0xe2, 'MPF\0II*\0')), documents.jpeg)],
    ['with a second image after padding', join(documents.jpeg, '\0'.repeat(2000), documents.jpeg, '\0'.repeat(100))],
    ['with three images', join(documents.jpeg, progressive, restarts)],
    [
      'with a phone maker’s trailer',
      join(documents.jpeg, '\0\0\x01\n\x0e\0\0\0Image_UTC_Data1700000000000SEFHk\0\0\0\x01\0\0\0SEFT'),
    ],
    [
      'with a video after it (motion photo)',
      join(documents.jpeg, 'MotionPhoto_Data\0\0\0\x18ftypmp42', random(50_000)),
    ],
    ['with raw sensor data after it', join(documents.jpeg, random(200_000))],
    ['with the start of an image in its trailer', join(documents.jpeg, [0xff, 0xd8, 0xff, 0x00], random(1000))],
  ])('is accepted %s', (_case, content) => {
    expect(sniffDocument(content)).toBe('image/jpeg');
  });

  test.each(active)('is rejected with %s in its metadata, or in that of its second image', (_format, hidden) => {
    for (const segment of [marker(0xfe, hidden), marker(0xe1, `Exif\0\0${hidden}`)]) {
      expect(sniffDocument(jpegWith(segment))).toBeUndefined();
      expect(sniffDocument(join(documents.jpeg, jpegWith(segment)))).toBeUndefined();
    }
  });

  test('is rejected with a segment that ends beyond the file', () => {
    expect(
      sniffDocument(join(documents.jpeg.subarray(0, 2), [0xff, 0xe0, 0xff, 0xff], documents.jpeg)),
    ).toBeUndefined();
    expect(sniffDocument(join(documents.jpeg.subarray(0, 2), [0xff, 0xe0, 0, 0], documents.jpeg))).toBeUndefined();
  });
});

describe('a PDF as programs and gateways write it', () => {
  const { pdf } = documents;
  test.each<[string, Buffer]>([
    ['with a line feed before it', join('\n', pdf)],
    ['with CR and LF before it', join('\r\n\r\n', pdf)],
    ['with a byte order mark before it', join('\xef\xbb\xbf', pdf)],
    ['with print job commands around it', join('\x1b%-12345X@PJL JOB\n@PJL ENTER LANGUAGE=PDF\n', pdf, '\x1b%-12345X')],
    ['with a NUL after it', join(pdf, '\0')],
    ['with a short note after it', join(pdf, 'Scanned by gateway 7\r\n')],
    ['with an incremental update', join(pdf, pdf.subarray(9))],
  ])('is accepted %s', (_case, content) => {
    expect(sniffDocument(content)).toBe('application/pdf');
  });

  test('is rejected with more than 1 KB of other content before or after it', () => {
    expect(sniffDocument(join(' '.repeat(1100), pdf))).toBeUndefined();
    expect(sniffDocument(join(pdf, 'x'.repeat(1100)))).toBeUndefined();
  });

  test('is rejected if a ZIP archive ends inside it', () => {
    const zip = `PK\x03\x04\x14\x00${'\0'.repeat(30)}PK\x05\x06\0\0\0\0\x01\0\x01\0${'\0'.repeat(8)}\x20\x00`;
    const hidden = join(pdf.subarray(0, 60), `\n%${zip}\n`, pdf.subarray(60));
    expect(sniffDocument(hidden)).toBeUndefined();
  });
});

describe('a PNG as programs write it', () => {
  const chunk = (type: string, data: string) => {
    const body = join(type, data);
    const length = Buffer.alloc(4);
    length.writeUInt32BE(body.length - 4);
    const sum = Buffer.alloc(4);
    sum.writeUInt32BE(crc32(body));
    return join(length, body, sum);
  };
  const withChunk = (added: Buffer) => join(documents.png.subarray(0, 33), added, documents.png.subarray(33));
  test('is accepted with metadata, and with the rest of a larger picture after it', () => {
    expect(sniffDocument(withChunk(chunk('tEXt', 'Software\0Screenshot')))).toBe('image/png');
    expect(sniffDocument(join(documents.png, deflateSync(Buffer.alloc(5000, 7)), documents.png))).toBe('image/png');
  });

  test.each(active)('is rejected with %s in its metadata', (_format, hidden) => {
    expect(sniffDocument(withChunk(chunk('tEXt', `Comment\0${hidden}`)))).toBeUndefined();
  });
});

test('rejects an image with a flipped bit in its structure', () => {
  const broken = Buffer.from(documents.png);
  broken.writeUInt8(broken.readUInt8(20) ^ 1, 20);
  expect(sniffDocument(broken)).toBeUndefined();
});

test.each(['<html></html>', 'MZ\u0090', '%PDF-', 'plain text', '', '%!PS-Adobe-3.0'])('rejects %j', (text) => {
  expect(sniffDocument(Buffer.from(text, 'latin1'))).toBeUndefined();
});

test('detects a document of the maximum upload size', () => {
  expect(createPdf(5_242_880)).toHaveLength(5_242_880);
  expect(sniffDocument(createPdf(5_242_880))).toBe('application/pdf');
});

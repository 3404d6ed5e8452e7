import { crc32, deflateSync } from 'node:zlib';

/** A minimal valid file of each supported document type. */
export const documents = { pdf: pdf('Synthetic'), png: png(), jpeg: jpeg() };

/** A PDF of exactly `bytes` bytes: the padding is a comment before the cross-reference. */
export function createPdf(bytes: number): Buffer {
  const empty = pdf('').length;
  return pdf('x'.repeat(bytes - empty));
}

function pdf(comment: string): Buffer {
  const head = `%PDF-1.4\n1 0 obj << /Type /Catalog /Pages 2 0 R >> endobj\n2 0 obj << /Type /Pages /Kids [] /Count 0 >> endobj\n%${comment}\n`;
  const xref = 'xref\n0 3\n0000000000 65535 f \n0000000009 00000 n \n0000000058 00000 n \n';
  const at = String(head.length).padStart(10, '0');
  return Buffer.from(`${head}${xref}trailer << /Size 3 /Root 1 0 R >>\nstartxref\n${at}\n%%EOF\n`, 'latin1');
}

function png(): Buffer {
  const header = Buffer.from([0, 0, 0, 1, 0, 0, 0, 1, 8, 0, 0, 0, 0]);
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  return Buffer.concat([
    signature,
    chunk('IHDR', header),
    chunk('IDAT', deflateSync(Buffer.from([0, 255]))),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(data.length);
  const sum = Buffer.alloc(4);
  sum.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, sum]);
}

/** Markers and lengths of a one-pixel image; the entropy-coded data is a placeholder. */
function jpeg(): Buffer {
  const segment = (marker: number, data: number[]) => [0xff, marker, 0, data.length + 2, ...data];
  return Buffer.from([
    ...[0xff, 0xd8],
    ...segment(0xe0, [0x4a, 0x46, 0x49, 0x46, 0, 1, 1, 0, 0, 1, 0, 1, 0, 0]),
    ...segment(0xdb, [0, ...Array<number>(64).fill(1)]),
    ...segment(0xc0, [8, 0, 1, 0, 1, 1, 1, 0x11, 0]),
    ...segment(0xc4, [0, 1, ...Array<number>(15).fill(0), 0]),
    ...segment(0xda, [1, 1, 0, 0, 63, 0]),
    ...[0x3f, 0xff, 0x00, 0x2a],
    ...[0xff, 0xd9],
  ]);
}

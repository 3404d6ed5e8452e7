import { crc32 } from 'node:zlib';

/** What a document may be. */
export type DocumentType = 'application/pdf' | 'image/jpeg' | 'image/png';

/**
 * The type of a document by its content alone: the first bytes, the structure, and an end that is its end. Names and
 * declared types are not asked. A file that is cut off, or goes on after its end (so that another program may read it
 * as something else), is none of them.
 */
export function sniffDocument(content: Buffer): DocumentType | undefined {
  if (isPng(content)) return 'image/png';
  if (isJpeg(content)) return 'image/jpeg';
  return isPdf(content) ? 'application/pdf' : undefined;
}

const png_signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);

/** Chunks from IHDR to IEND, each with its checksum, some of them image data, and nothing behind. */
function isPng(content: Buffer): boolean {
  if (!content.subarray(0, 8).equals(png_signature)) return false;
  let at = 8;
  let has_data = false;
  while (at + 12 <= content.length) {
    const length = content.readUInt32BE(at);
    const type = content.toString('latin1', at + 4, at + 8);
    const end = at + 12 + length;
    if (end > content.length || (at === 8 && (type !== 'IHDR' || length !== 13))) return false;
    if (crc32(content.subarray(at + 4, end - 4)) !== content.readUInt32BE(end - 4)) return false;
    if (type === 'IDAT') has_data = true;
    if (type === 'IEND') return has_data && length === 0 && end === content.length;
    at = end;
  }
  return false;
}

const start_of_scan = 0xda;
const end_of_image = 0xd9;

/** Segments up to the picture, a frame among them, and the end marker as the last two bytes. */
function isJpeg(content: Buffer): boolean {
  if (content.length < 4 || content.readUInt16BE(0) !== 0xffd8) return false;
  if (content.readUInt16BE(content.length - 2) !== 0xff00 + end_of_image) return false;
  let at = 2;
  let has_frame = false;
  while (at + 4 <= content.length) {
    if (content[at] !== 0xff) return false;
    const marker = content[at + 1] ?? 0;
    // Fill bytes may stand before a marker.
    if (marker === 0xff) {
      at += 1;
      continue;
    }
    if (marker < 0xc0 || marker === end_of_image) return false;
    if (marker === start_of_scan) return has_frame && endsOnce(content, at);
    // 0xc0 to 0xcf are frames, but for the tables c4 and cc and the reserved c8.
    if (marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker)) has_frame = true;
    at += 2 + content.readUInt16BE(at + 2);
  }
  return false;
}

/** In picture data 0xff is always followed by 0, a restart or another segment; the end comes once, at the end. */
function endsOnce(content: Buffer, from: number): boolean {
  return content.indexOf(Buffer.from([0xff, end_of_image]), from) === content.length - 2;
}

/** The head at the very beginning, a cross-reference (a table or a stream), and nothing but white space behind the end. */
function isPdf(content: Buffer): boolean {
  if (!/^%PDF-[12]\.\d/.test(content.toString('latin1', 0, 9))) return false;
  const tail = content.toString('latin1', Math.max(0, content.length - 1024));
  if (!/startxref\s+\d+\s+%%EOF\s*$/.test(tail)) return false;
  return content.includes('trailer') || content.includes('/XRef');
}

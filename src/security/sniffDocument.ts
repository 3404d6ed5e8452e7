import { crc32 } from 'node:zlib';

export type DocumentType = 'application/pdf' | 'image/jpeg' | 'image/png';

/**
 * Detects a document's type from its content alone: magic bytes, structure and end marker. Names and declared types are
 * ignored. A file that is truncated, or continues after its end (and could be read as another format), has no type.
 */
export function sniffDocument(content: Buffer): DocumentType | undefined {
  if (isPng(content)) return 'image/png';
  if (isJpeg(content)) return 'image/jpeg';
  return isPdf(content) ? 'application/pdf' : undefined;
}

const png_signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);

/** Chunks from IHDR to IEND with valid checksums, at least one with image data, and nothing after. */
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

/** Segments up to the image data, including a frame, and the end marker as the last two bytes. */
function isJpeg(content: Buffer): boolean {
  if (content.length < 4 || content.readUInt16BE(0) !== 0xffd8) return false;
  if (content.readUInt16BE(content.length - 2) !== 0xff00 + end_of_image) return false;
  let at = 2;
  let has_frame = false;
  while (at + 4 <= content.length) {
    if (content[at] !== 0xff) return false;
    const marker = content[at + 1] ?? 0;
    // Fill bytes may precede a marker.
    if (marker === 0xff) {
      at += 1;
      continue;
    }
    if (marker < 0xc0 || marker === end_of_image) return false;
    if (marker === start_of_scan) return has_frame && endsOnce(content, at);
    // 0xc0 to 0xcf are frames, except for the tables c4 and cc and the reserved c8.
    if (marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker)) has_frame = true;
    at += 2 + content.readUInt16BE(at + 2);
  }
  return false;
}

/** In image data 0xff is always followed by 0, a restart or another segment, so the end marker occurs only at the end. */
function endsOnce(content: Buffer, from: number): boolean {
  return content.indexOf(Buffer.from([0xff, end_of_image]), from) === content.length - 2;
}

/** The header at offset 0, a cross-reference table or stream, and nothing but white space after the end. */
function isPdf(content: Buffer): boolean {
  if (!/^%PDF-[12]\.\d/.test(content.toString('latin1', 0, 9))) return false;
  const tail = content.toString('latin1', Math.max(0, content.length - 1024));
  if (!/startxref\s+\d+\s+%%EOF\s*$/.test(tail)) return false;
  return content.includes('trailer') || content.includes('/XRef');
}

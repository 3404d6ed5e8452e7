import { crc32 } from 'node:zlib';

export type DocumentType = 'application/pdf' | 'image/jpeg' | 'image/png';

/**
 * Detects a document's type from its content alone: magic bytes, structure and end marker. Names and declared types are
 * ignored. Cameras, phones and printers add data that viewers skip: second images, trailers, padding. It is accepted
 * unless it contains something that another program would run or unpack, so that the file could pass as two formats.
 * A truncated file has no type.
 */
export function sniffDocument(content: Buffer): DocumentType | undefined {
  const document = readPng(content) ?? readJpeg(content) ?? readPdf(content);
  if (!document || endsAsZip(content) || document.skipped.some(carriesActiveContent)) return undefined;
  return document.type;
}

/** `skipped`: the parts of the file that a viewer of this type does not draw. */
type SniffedDocument = { type: DocumentType; skipped: Buffer[] };

const png_signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);

/** Chunks from IHDR to IEND with valid checksums, at least one with image data. */
function readPng(content: Buffer): SniffedDocument | undefined {
  if (!content.subarray(0, 8).equals(png_signature)) return undefined;
  const skipped: Buffer[] = [];
  let at = 8;
  let has_data = false;
  while (at + 12 <= content.length) {
    const length = content.readUInt32BE(at);
    const type = content.toString('latin1', at + 4, at + 8);
    const end = at + 12 + length;
    if (end > content.length || (at === 8 && (type !== 'IHDR' || length !== 13))) return undefined;
    if (crc32(content.subarray(at + 4, end - 4)) !== content.readUInt32BE(end - 4)) return undefined;
    if (type === 'IEND') {
      if (!has_data || length !== 0) return undefined;
      return { type: 'image/png', skipped: [...skipped, content.subarray(end)] };
    }
    // fdAT holds the further frames of an animation.
    if (type === 'IDAT') has_data = true;
    else if (type !== 'fdAT') skipped.push(content.subarray(at + 8, end - 4));
    at = end;
  }
  return undefined;
}

/** One image, and whatever follows it: further images (MPF, as phones write them) and trailers. */
function readJpeg(content: Buffer): SniffedDocument | undefined {
  const first = readImage(content, 0);
  if (!first) return undefined;
  const skipped = first.metadata;
  let at = first.end;
  for (;;) {
    const next = content.indexOf(jpeg_start, at);
    const further = next === -1 ? undefined : readImage(content, next);
    // Bytes that look like a start inside a trailer are part of the trailer.
    if (next === -1 || !further) return { type: 'image/jpeg', skipped: [...skipped, content.subarray(at)] };
    skipped.push(content.subarray(at, next), ...further.metadata);
    at = further.end;
  }
}

const jpeg_start = Buffer.from([0xff, 0xd8, 0xff]);
const start_of_scan = 0xda;
const end_of_image = 0xd9;

/** Reads segments and image data from the start marker to the end marker; an image has a frame and a scan. */
function readImage(content: Buffer, start: number): { end: number; metadata: Buffer[] } | undefined {
  if (!content.subarray(start, start + 3).equals(jpeg_start)) return undefined;
  const metadata: Buffer[] = [];
  let at = start + 2;
  let has_frame = false;
  let has_scan = false;
  while (at + 2 <= content.length) {
    if (content[at] !== 0xff) return undefined;
    const marker = content[at + 1] ?? 0;
    // Fill bytes may precede a marker.
    if (marker === 0xff) {
      at += 1;
      continue;
    }
    if (marker === end_of_image) return has_scan ? { end: at + 2, metadata } : undefined;
    if (marker < 0xc0 || at + 4 > content.length) return undefined;
    const end = at + 2 + content.readUInt16BE(at + 2);
    if (end < at + 4 || end > content.length) return undefined;
    // 0xc0 to 0xcf are frames, except for the tables c4 and cc and the reserved c8.
    if (marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker)) has_frame = true;
    // e0 to ef are application data, fe is a comment.
    if (marker >= 0xe0) metadata.push(content.subarray(at + 4, end));
    at = end;
    if (marker !== start_of_scan) continue;
    if (!has_frame) return undefined;
    has_scan = true;
    at = endOfScan(content, at);
  }
  return undefined;
}

/** In image data, 0xff is followed by 0 or a restart marker (d0 to d7). Anything else is the next marker. */
function endOfScan(content: Buffer, from: number): number {
  for (let at = content.indexOf(0xff, from); at !== -1; at = content.indexOf(0xff, at + 1)) {
    const next = content[at + 1] ?? 0;
    if (next !== 0 && (next < 0xd0 || next > 0xd7)) return at;
  }
  return content.length;
}

/** What mail gateways and print spoolers add around a PDF: white space, NUL, control-Z, print job commands. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are bytes of a file, not text
const pdf_header = /^(?:\xef\xbb\xbf)?((?:[\s\0\x1a]|\x1b%-12345X|@PJL[^\n]*\n)*)%PDF-[12]\.\d/;
/** Viewers look for the header, and for the end of the file, within this distance. */
const pdf_slack_bytes = 1024;

/** Whether a file was meant to be a PDF, also if it is none that can be read. */
export function hasPdfHeader(content: Buffer): boolean {
  return pdf_header.test(content.toString('latin1', 0, pdf_slack_bytes));
}

/** The header, a cross-reference table or stream, and the end marker, with little but padding around. */
function readPdf(content: Buffer): SniffedDocument | undefined {
  const header = pdf_header.exec(content.toString('latin1', 0, pdf_slack_bytes));
  const end = content.lastIndexOf('%%EOF');
  if (!header || end === -1 || !(content.includes('trailer') || content.includes('/XRef'))) return undefined;
  if (!/startxref\s+\d+\s+$/.test(content.toString('latin1', Math.max(0, end - 100), end))) return undefined;
  const trailer = content.subarray(end + 5);
  if (withoutPadding(trailer).length > pdf_slack_bytes) return undefined;
  return { type: 'application/pdf', skipped: [Buffer.from(header[1] ?? '', 'latin1'), trailer] };
}

function withoutPadding(bytes: Buffer): Buffer {
  const padding = new Set([0x00, 0x09, 0x0a, 0x0c, 0x0d, 0x1a, 0x20]);
  let end = bytes.length;
  while (end > 0 && padding.has(bytes[end - 1] ?? -1)) end--;
  return bytes.subarray(0, end);
}

/**
 * Whether bytes that a viewer skips contain a format that another program would run or unpack. Called with metadata and
 * trailers, not with compressed picture data, in which short signatures occur by chance.
 */
export function carriesActiveContent(bytes: Buffer): boolean {
  if (bytes.length === 0) return false;
  const text = bytes.toString('latin1');
  // Without NUL, so that UTF-16 is found too.
  const markup_text = text.includes('\0') ? text.replaceAll('\0', '') : text;
  return document_start.test(text) || markup.test(markup_text) || carriesProgram(bytes);
}

/** The same without documents and markup, which an attachment of a document may be. */
export function carriesProgram(bytes: Buffer): boolean {
  const text = bytes.toString('latin1');
  return at_start.test(text) || anywhere.test(text) || hasProgram(bytes);
}

/** Browsers run these in any file that is served as HTML, XML or SVG, whatever precedes them. */
const markup =
  /<(?:!doctype|html|head|body|script|svg|iframe|object|embed|applet|meta|link|style|form|img|\?php|\?xml-stylesheet)(?=[\s>/]|$)|javascript:|vbscript:/i;

const document_start = /%PDF-\d/;

/** Signatures that are long enough not to occur by chance in a few megabytes. */
const anywhere = new RegExp(
  [
    '%!PS-Adobe',
    '\\{\\\\rtf',
    // ZIP, and with it Java archives and Office files: a member, or the directory at the end.
    'PK\\x03\\x04[\\x00-\\x3f]\\x00',
    'PK\\x05\\x06\\x00\\x00\\x00\\x00',
    'Rar!\\x1a\\x07',
    '7z\\xbc\\xaf\\x27\\x1c',
    '\\x7fELF[\\x01\\x02][\\x01\\x02]\\x01',
    '\\xca\\xfe\\xba\\xbe\\x00\\x00',
    '\\x00asm\\x01\\x00\\x00\\x00',
    // Old Office files, shortcuts, cabinets.
    '\\xd0\\xcf\\x11\\xe0\\xa1\\xb1\\x1a\\xe1',
    'L\\x00\\x00\\x00\\x01\\x14\\x02\\x00',
    'MSCF\\x00\\x00\\x00\\x00',
    '(?:^|\\n)#!\\s*/',
  ].join('|'),
);

/** Short signatures: Windows and macOS programs, Flash. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are bytes of a file, not text
const at_start = /^(?:MZ|\xfe\xed\xfa[\xce\xcf]|[\xce\xcf]\xfa\xed\xfe|[FCZ]WS[\x01-\x32])/;

/** A Windows program anywhere: `MZ`, with the offset of its real header at byte 60. */
function hasProgram(bytes: Buffer): boolean {
  for (let at = bytes.indexOf('MZ'); at !== -1 && at + 64 <= bytes.length; at = bytes.indexOf('MZ', at + 1)) {
    const header = at + bytes.readUInt32LE(at + 60);
    if (bytes.toString('latin1', header, header + 4) === 'PE\0\0') return true;
  }
  return false;
}

/** Programs look for the directory of a ZIP archive from the end of any file: it is followed by at most 65,535 bytes. */
export function endsAsZip(content: Buffer): boolean {
  const from = Math.max(0, content.length - 65_557);
  for (let at = content.indexOf(zip_end, from); at !== -1; at = content.indexOf(zip_end, at + 1)) {
    const record = content.subarray(at, at + 22);
    if (record.length < 22) return false;
    const disk = record.readUInt16LE(4);
    const [entries_here, entries] = [record.readUInt16LE(8), record.readUInt16LE(10)];
    if (disk === 0 && entries_here === entries) return true;
  }
  return false;
}

const zip_end = Buffer.from('PK\x05\x06', 'latin1');

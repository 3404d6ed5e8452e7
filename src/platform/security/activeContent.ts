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

import { promisify } from 'node:util';
import { inflate } from 'node:zlib';
import { carriesProgram } from './documents.ts';

/**
 * - `script`: JavaScript
 * - `action`: opens or sends files, or runs programs, when the document is opened or clicked
 * - `attachment`: a program, a script, an archive or an Office file, by its content or its name
 * - `unknown`: parts that cannot be inspected, because they are encrypted, or encoded in a way that no ordinary program
 *   uses for them
 */
export type PdfRisk = 'script' | 'action' | 'attachment' | 'unknown';

/**
 * What a PDF contains that can harm the reader's computer. Names are compared as PDF defines them, with `#53` for `S`;
 * objects in compressed object streams and attached PDFs are inspected too.
 */
export async function findPdfRisks(pdf: Buffer, bytes_max = inflated_bytes_max): Promise<ReadonlySet<PdfRisk>> {
  const risks = new Set<PdfRisk>();
  await inspect(pdf, risks, { bytes: bytes_max }, attachment_depth_max);
  return risks;
}

/** How much the streams of the file, and of the PDFs attached to it, may still expand. */
type Budget = { bytes: number };

const attachment_depth_max = 3;

async function inspect(pdf: Buffer, risks: Set<PdfRisk>, budget: Budget, depth: number): Promise<void> {
  const text = pdf.toString('latin1');
  const encrypted = has(text, 'Encrypt');
  const parts = [text];
  for (const { index } of text.matchAll(nameAnywhere('ObjStm'))) {
    const stream = streamAt(text, index);
    // Not encoded: part of `text`.
    if (stream?.filter === '') continue;
    const readable = stream?.filter === '/FlateDecode' && !encrypted;
    const content = readable ? await inflated(pdf.subarray(stream.from), budget) : undefined;
    if (content === undefined) return void risks.add('unknown');
    parts.push(content);
  }
  if (parts.some((each) => has(each, 'JavaScript') || (has(each, 'Rendition') && has(each, 'JS')))) risks.add('script');
  if (parts.some(hasAction)) risks.add('action');
  const has_form = parts.some((each) => has(each, 'XFA'));
  const has_attachments = parts.some((each) => hasAny(each, attachment_names));
  if (has_attachments && parts.some(hasProgramName)) risks.add('attachment');
  if (!has_form && !has_attachments) return;
  if (encrypted) return void risks.add('unknown');
  await inspectStreams(pdf, text, risks, { has_form, has_attachments, budget, depth });
}

/** Actions that run a program, send the form or load data from elsewhere, and media that bring their own player. */
const action_names = ['Launch', 'SubmitForm', 'ImportData', 'RichMedia', 'GoToE'];
const attachment_names = ['EmbeddedFile', 'EmbeddedFiles', 'EF'];

/** Far more than a document has: each takes time to check. */
const jumps_max = 1000;

function hasAction(part: string): boolean {
  if (hasAny(part, action_names)) return true;
  let jumps = 0;
  for (const { index } of part.matchAll(nameAnywhere('GoToR'))) {
    if (++jumps > jumps_max || !opensNeighbor(part, index)) return true;
  }
  return false;
}

/**
 * Whether an action that opens another document names a file next to this one, in plain characters. Anything else may be a
 * network path, which sends the reader's credentials to a server, or a URL.
 */
function opensNeighbor(text: string, at: number): boolean {
  const from = text.lastIndexOf('<<', at);
  const to = text.indexOf('>>', at);
  if (from === -1 || to === -1 || to - from > dictionary_max) return false;
  const dictionary = decodeNames(text.slice(from + 2, to));
  // Quotes that do not match, comments or nested dictionaries: the dictionary may end elsewhere.
  const rest = dictionary.replace(/\([^()\\]*\)/g, '');
  if (/[()<>%]/.test(rest)) return false;
  const files = [...dictionary.matchAll(/\/(?:F|UF|FS|Win|Unix|DOS|Mac)(?![\w#])\s*(\([^()\\]*\))?/g)];
  return files.length === 1 && /^\((?:[\w -]+\/)*[\w -]+\.pdf\)$/i.test(files[0]?.[1] ?? '');
}

/** Extensions that Windows, macOS or Office run, or that contain what they run. */
const program_name =
  /\.(?:exe|com|scr|pif|bat|cmd|ps1|psm1|vbs|vbe|jse?|wsf|wsh|hta|msi|msp|msix|appx|jar|class|lnk|url|reg|cpl|dll|sys|scf|inf|chm|iso|img|vhdx?|sh|command|app|pkg|dmg|apk|html?|svg|do[ct]m|xl[st]m|xlam|pp[st]m|zip|rar|7z|cab|gz|tar)\s*$/i;

/** Whether a file name in a file specification is that of a program. */
function hasProgramName(part: string): boolean {
  const names = part.matchAll(/\/U?F(?![\w#])\s*(?:\(((?:[^()\\]|\\[\s\S])*)\)|<([0-9a-f\s]*)>)/gi);
  for (const [, literal, hex] of names) {
    const name =
      literal === undefined
        ? Buffer.from((hex ?? '').replace(/\s/g, ''), 'hex').toString('latin1')
        : unescaped(literal);
    // Of UTF-16, NUL remains between the letters.
    if (program_name.test(name.replaceAll('\0', ''))) return true;
  }
  return false;
}

function unescaped(literal: string): string {
  return literal.replace(/\\(?:([0-7]{1,3})|\r?\n|([\s\S]))/g, (_all, octal?: string, character = '') =>
    octal === undefined ? character : String.fromCharCode(Number.parseInt(octal, 8)),
  );
}

/** All streams of a file together. A file of 5 MB that expands further is built to harm. */
const inflated_bytes_max = 67_108_864;
/** Far more than a document of 5 MB has. */
const streams_max = 10_000;
/** The dictionary of an object stream has some 100 bytes. */
const dictionary_max = 2000;

/** The stream in whose dictionary a name stands. */
function streamAt(text: string, at: number): { filter: string; from: number } | undefined {
  const keyword = /\bstream\r?\n/.exec(text.slice(at, at + dictionary_max));
  if (!keyword) return undefined;
  const object = text.lastIndexOf('obj', at);
  const dictionary = decodeNames(text.slice(Math.max(object, at - dictionary_max), at + keyword.index));
  // A predictor would have to be undone as well.
  if (dictionary.includes('/Predictor')) return undefined;
  const filter = /\/Filter\s*\[?\s*((?:\/\w+\s*)+)/.exec(dictionary)?.[1]?.trim();
  if (filter === undefined && dictionary.includes('/Filter')) return undefined;
  return { filter: filter ?? '', from: at + keyword.index + keyword[0].length };
}

/**
 * XFA forms contain XML with scripts of its own, in any of the streams. So may attachments be: the type of their stream
 * is optional.
 */
async function inspectStreams(
  pdf: Buffer,
  text: string,
  risks: Set<PdfRisk>,
  {
    has_form,
    has_attachments,
    budget,
    depth,
  }: { has_form: boolean; has_attachments: boolean; budget: Budget; depth: number },
): Promise<void> {
  if (has_form && form_script.test(text)) risks.add('script');
  let streams = 0;
  for (const { index, 0: keyword } of text.matchAll(/\bstream\r?\n/g)) {
    if (++streams > streams_max) return void risks.add('unknown');
    const before = decodeNames(text.slice(Math.max(0, index - dictionary_max), index));
    const dictionary = before.slice(before.lastIndexOf('obj') + 1);
    const content = await readContent(pdf, text, { dictionary, from: index + keyword.length }, budget);
    if (content === undefined) {
      if (budget.bytes <= 0 || (has_attachments && !picture_filter.test(dictionary))) return void risks.add('unknown');
      continue;
    }
    if (has_form && form_script.test(content)) risks.add('script');
    if (has_attachments) await inspectAttachment(content, risks, budget, depth);
  }
}

/** Encodings of pictures, which are no use for anything else. */
const picture_filter = /\/(?:DCT|JPX|CCITTFax|JBIG2)Decode\b/;

/** The content of a stream, or undefined if it is encoded otherwise, or its end cannot be found. */
async function readContent(
  pdf: Buffer,
  text: string,
  { dictionary, from }: { dictionary: string; from: number },
  budget: Budget,
): Promise<string | undefined> {
  if (!/\/Filter\b/.test(dictionary)) {
    const end = text.indexOf('endstream', from);
    // Streams that overlap would be read again and again.
    budget.bytes -= (end === -1 ? text.length : end) - from;
    return end === -1 || budget.bytes < 0 ? undefined : text.slice(from, end);
  }
  if (!/\/Filter\s*(?:\[\s*\/FlateDecode\s*\]|\/FlateDecode\b)/.test(dictionary)) return undefined;
  return inflated(pdf.subarray(from), budget);
}

async function inspectAttachment(content: string, risks: Set<PdfRisk>, budget: Budget, depth: number): Promise<void> {
  const bytes = Buffer.from(content, 'latin1');
  if (carriesProgram(bytes)) risks.add('attachment');
  if (!content.slice(0, 1024).includes('%PDF-')) return;
  if (depth === 0) return void risks.add('unknown');
  await inspect(bytes, risks, budget, depth - 1);
}

const form_script = /<(?:\w+:)?script\b/i;

const inflateAsync = promisify(inflate);

/** Undefined if it cannot be inflated within the budget, which is used up then. Runs in zlib's thread pool. */
async function inflated(bytes: Buffer, budget: Budget): Promise<string | undefined> {
  if (budget.bytes <= 0) return undefined;
  try {
    const content = await inflateAsync(bytes, { maxOutputLength: budget.bytes });
    budget.bytes -= content.length;
    return content.toString('latin1');
  } catch (error) {
    if ((error as { code?: string }).code === 'ERR_BUFFER_TOO_LARGE') budget.bytes = 0;
    return undefined;
  }
}

function has(text: string, name: string): boolean {
  return hasAny(text, [name]);
}

function hasAny(text: string, names: readonly string[]): boolean {
  return text.search(nameAnywhere(...names)) !== -1;
}

/** Matches one of these PDF names, with any of its characters written as a code. */
function nameAnywhere(...names: readonly string[]): RegExp {
  const written = names.map((name) => [...name].map(characterOrCode).join(''));
  return new RegExp(`/(?:${written.join('|')})(?![^\\s\\0()<>\\[\\]{}/%])`, 'g');
}

function characterOrCode(character: string): string {
  const code = character.charCodeAt(0).toString(16);
  return `(?:${character}|#${code.replace(/[a-f]/g, (digit) => `[${digit}${digit.toUpperCase()}]`)})`;
}

function decodeNames(text: string): string {
  return text.replace(/#([0-9a-f]{2})/gi, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)));
}

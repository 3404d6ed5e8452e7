import { promisify } from 'node:util';
import { inflate } from 'node:zlib';

/**
 * Whether a PDF contains JavaScript, or may contain it where it cannot be inspected: in object streams that are
 * encrypted, or encoded in a way that no ordinary program uses for them. Names are compared as PDF defines them, with
 * `#53` for `S`.
 */
export async function mayContainScript(pdf: Buffer, bytes_max = inflated_bytes_max): Promise<boolean> {
  const text = pdf.toString('latin1');
  const encrypted = has(text, 'Encrypt');
  const parts = [text];
  let budget = bytes_max;
  for (const { index } of text.matchAll(nameAnywhere('ObjStm'))) {
    const stream = streamAt(text, index);
    if (!stream || (encrypted && stream.filter !== '')) return true;
    // Not encoded: part of `text`.
    if (stream.filter === '') continue;
    const content = stream.filter === '/FlateDecode' ? await inflated(pdf.subarray(stream.from), budget) : undefined;
    if (content === undefined) return true;
    budget -= content.length;
    parts.push(content);
  }
  if (parts.some((each) => has(each, 'JavaScript') || (has(each, 'Rendition') && has(each, 'JS')))) return true;
  if (!parts.some((each) => has(each, 'XFA'))) return false;
  return encrypted || hasFormScript(pdf, text, budget);
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

/** XFA forms contain XML with scripts of its own, in any of the streams. */
async function hasFormScript(pdf: Buffer, text: string, budget: number): Promise<boolean> {
  if (form_script.test(text)) return true;
  let [left, streams] = [budget, 0];
  for (const { index, 0: keyword } of text.matchAll(/\bstream\r?\n/g)) {
    if (++streams > streams_max) return true;
    const dictionary = text.slice(Math.max(0, index - dictionary_max), index);
    if (!dictionary.slice(dictionary.lastIndexOf('obj') + 1).includes('FlateDecode')) continue;
    const content = await inflated(pdf.subarray(index + keyword.length), left);
    if (content === undefined) continue;
    if (form_script.test(content)) return true;
    left -= content.length;
  }
  return left <= 0;
}

const form_script = /<(?:\w+:)?script\b/i;

const inflateAsync = promisify(inflate);

/** Undefined if it cannot be inflated within the budget. Runs in zlib's thread pool. */
async function inflated(bytes: Buffer, budget: number): Promise<string | undefined> {
  if (budget <= 0) return undefined;
  try {
    return (await inflateAsync(bytes, { maxOutputLength: budget })).toString('latin1');
  } catch {
    return undefined;
  }
}

function has(text: string, name: string): boolean {
  return text.search(nameAnywhere(name)) !== -1;
}

/** Matches a PDF name, with any of its characters written as a code. */
function nameAnywhere(name: string): RegExp {
  const characters = [...name].map((each) => {
    const code = each.charCodeAt(0).toString(16);
    return `(?:${each}|#${code.replace(/[a-f]/g, (digit) => `[${digit}${digit.toUpperCase()}]`)})`;
  });
  return new RegExp(`/${characters.join('')}(?![^\\s\\0()<>\\[\\]{}/%])`, 'g');
}

function decodeNames(text: string): string {
  return text.replace(/#([0-9a-f]{2})/gi, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)));
}

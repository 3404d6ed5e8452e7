import type { FastifyRequest } from 'fastify';
import { ApiError, apiError } from '../catalog/errors.ts';
import { document_bytes_max, type EmbeddedFiles, filePlaceholder } from '../model/requests/documents.ts';
import { type Form, parseBody } from './bodies.ts';
import { invalid } from './validate.ts';

type Limits = { body_bytes_max: number; json_bytes_max: number };

/**
 * Reads a JSON body with files in base64. They are decoded while the body arrives, so that only their bytes are kept,
 * once. In the fields, each is replaced by a `filePlaceholder`.
 */
export async function readEmbeddedFiles(
  request: FastifyRequest,
  embedded: EmbeddedFiles,
  { body_bytes_max, json_bytes_max }: Limits,
): Promise<Form> {
  if (request.isMultipart()) throw apiError('media_type_unsupported', { expected: 'application/json' });
  const tooLarge = () => apiError('body_too_large', { limit: megabytes(body_bytes_max) });
  if (Number(request.headers['content-length'] ?? 0) > body_bytes_max) throw tooLarge();
  const extraction = extractFiles(embedded, json_bytes_max);
  let bytes = 0;
  try {
    // Not destroyed with an error: its sender gets a response.
    for await (const chunk of request.raw.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > body_bytes_max) throw tooLarge();
      extraction.add(chunk);
    }
  } catch (error) {
    // Node reads on after a refusal only if reading had not started: the next request on the connection would wait forever.
    request.raw.resume();
    // Any other error: the connection ended before the body did.
    throw error instanceof ApiError ? error : apiError('request_timeout', undefined, { cause: error });
  }
  const { json, files } = extraction.finish();
  const parsed = parseBody(json);
  const body = parsed === undefined ? {} : parsed;
  if (typeof body !== 'object' || body === null || Array.isArray(body)) throw apiError('body_not_object');
  return { fields: body as Record<string, unknown>, files };
}

function megabytes(bytes: number): string {
  return `${bytes / 1_048_576} MB`;
}

const [quote, backslash, colon] = [0x22, 0x5c, 0x3a];
const blanks = new Set([0x20, 0x09, 0x0a, 0x0d]);

/**
 * Splits JSON into files and the rest. It only follows strings: what is not JSON is left to the parser of the rest. A
 * name is the string before a colon.
 */
export function extractFiles({ list, content: content_field }: EmbeddedFiles, json_bytes_max: number) {
  const rest: Buffer[] = [];
  let rest_bytes = 0;
  const files: Buffer[] = [];
  let state: 'outside' | 'in_string' | 'in_content' = 'outside';
  let escaped = false;
  /** The bytes of the last string, of which a field's name is one. */
  let name: number[] = [];
  /** Whether the last string was this name, and whether a colon followed it. */
  let expects_content: 'no' | 'after_name' | 'after_colon' = 'no';
  let contents = 0;
  const text = Buffer.allocUnsafe(decoded_at_once);
  const nextDecoder = () => createDecoder(`${list}[${contents++}]`, content_field, text);
  let content = nextDecoder();

  const keep = (bytes: Buffer) => {
    rest_bytes += bytes.length;
    if (rest_bytes > json_bytes_max)
      throw apiError('body_too_large', { limit: `${megabytes(json_bytes_max)} besides its files` });
    // A copy: a part of a chunk would keep all of it in memory.
    rest.push(Buffer.from(bytes));
  };

  const endContent = () => {
    const file = content.finish();
    // An empty one is a missing field.
    keep(Buffer.from(file.length === 0 ? '"' : `${filePlaceholder(files.length, file.length)}"`));
    if (file.length > 0) files.push(file);
    content = nextDecoder();
    expects_content = 'no';
    state = 'outside';
  };

  return {
    add: (chunk: Buffer) => {
      let kept_from = 0;
      for (let at = 0; at < chunk.length; at++) {
        if (state === 'in_content') at = content.addAll(chunk, at);
        if (at === chunk.length) break;
        const byte = chunk[at] ?? 0;
        if (state === 'in_content') {
          if (byte === quote && !content.is_escaped) {
            endContent();
            kept_from = at + 1;
          } else content.add(byte);
        } else if (state === 'in_string') {
          if (byte === quote && !escaped) {
            state = 'outside';
            expects_content = isName(name, content_field) ? 'after_name' : 'no';
          } else if (name.length <= name_bytes_max) name.push(byte);
          escaped = byte === backslash && !escaped;
        } else if (byte === quote && expects_content === 'after_colon') {
          keep(chunk.subarray(kept_from, at + 1));
          state = 'in_content';
        } else if (byte === quote) {
          state = 'in_string';
          escaped = false;
          name = [];
        } else if (byte === colon && expects_content === 'after_name') expects_content = 'after_colon';
        else if (!blanks.has(byte)) expects_content = 'no';
      }
      if (state !== 'in_content') keep(chunk.subarray(kept_from));
    },
    finish: () => {
      if (state !== 'outside') throw apiError('body_not_json');
      return { json: Buffer.concat(rest), files };
    },
  };
}

/** With every character escaped, the names of content fields are shorter. */
const name_bytes_max = 200;

function isName(bytes: readonly number[], name: string): boolean {
  const sent = Buffer.from(bytes).toString('utf8');
  if (!sent.includes('\\')) return sent === name;
  try {
    return JSON.parse(`"${sent}"`) === name;
  } catch {
    return false;
  }
}

const decoded_at_once = 65_536;

/** Decodes the base64 of one file, of which some senders escape the slashes. `text`: for what is not decoded yet. */
function createDecoder(document: string, content_field: string, text: Buffer) {
  const field = `${document}.${content_field}`;
  const parts: Buffer[] = [];
  let length = 0;
  let bytes = 0;
  let ended = false;
  let is_escaped = false;
  const reject = () => invalid(field, `${field} must be base64: A to Z, a to z, 0 to 9, + and /, padded with =`);

  const decode = () => {
    if (length % 4 !== 0) throw reject();
    const part = Buffer.from(text.toString('latin1', 0, length), 'base64');
    length = 0;
    bytes += part.length;
    if (bytes > document_bytes_max) throw apiError('document_too_large', { document }, { field });
    parts.push(part);
  };

  return {
    get is_escaped() {
      return is_escaped;
    },
    /** Adds bytes of the alphabet, and returns where they end. */
    addAll: (chunk: Buffer, from: number): number => {
      let at = from;
      if (is_escaped || ended) return at;
      for (; at < chunk.length && alphabet[chunk[at] ?? 0]; at++) {
        text[length++] = chunk[at] ?? 0;
        if (length === decoded_at_once) decode();
      }
      return at;
    },
    add: (byte: number) => {
      if (byte === backslash && !is_escaped) {
        is_escaped = true;
        return;
      }
      if (is_escaped && byte !== slash) throw reject();
      is_escaped = false;
      if (byte === padding) ended = true;
      else if (ended || !alphabet[byte]) throw reject();
      text[length++] = byte;
      if (length === decoded_at_once) decode();
    },
    finish: (): Buffer => {
      if (text.subarray(Math.max(0, length - 3), length).every((byte) => byte === padding) && length >= 3)
        throw reject();
      decode();
      return parts.length === 1 && parts[0] ? parts[0] : Buffer.concat(parts);
    },
  };
}

const [slash, padding] = [0x2f, 0x3d];
const alphabet = Uint8Array.from({ length: 256 }, (_, code) =>
  /[A-Za-z0-9+/]/.test(String.fromCharCode(code)) ? 1 : 0,
);

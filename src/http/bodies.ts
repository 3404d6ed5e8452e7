import type { FastifyInstance, FastifyRequest } from 'fastify';
import { ApiError, apiError } from '../catalog/errors.ts';
import { text_max } from '../model/fields.ts';
import { cleanFileName, document_bytes_max } from '../model/requests/documents.ts';
import { fairSlots, SlotsBusy } from '../platform/db/fairSlots.ts';
import { findRepeatedName, JsonTooComplex, parseJson } from '../platform/security/json.ts';
import { rejectUnstorable } from './validate.ts';

/** The deepest body of the API has 7 levels. */
const body_limits = { depth_max: 32, values_max: 20_000 };

/** Parses JSON bodies, and no others. */
export function acceptJson(server: FastifyInstance): void {
  server.removeAllContentTypeParsers();
  server.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, content, done) => {
    try {
      done(null, parseBody(typeof content === 'string' ? Buffer.from(content) : content));
    } catch (error) {
      done(error as Error);
    }
  });
}

/** Leaves JSON bodies unread: the handler reads them (embeddedFiles.ts). */
export function leaveJsonUnread(server: FastifyInstance): void {
  server.removeContentTypeParser('application/json');
  server.addContentTypeParser('application/json', (_request, _body, done) => done(null, undefined));
}

/** Parses forms of this type, and no other bodies. A repeated field becomes an array, which the schema rejects. */
export function acceptUrlEncoded(server: FastifyInstance, names: readonly string[]): void {
  server.removeAllContentTypeParsers();
  server.addContentTypeParser(url_encoded_type, { parseAs: 'string' }, (_request, content, done) => {
    const form = new URLSearchParams(String(content));
    const fields = names.filter((name) => form.has(name)).map((name) => [name, form.getAll(name)] as const);
    done(
      null,
      Object.fromEntries(fields.map(([name, [first, ...more]]) => [name, more.length > 0 ? [first, ...more] : first])),
    );
  });
}

const url_encoded_type = 'application/x-www-form-urlencoded';

/** The value of a JSON body; undefined if it is blank. */
export function parseBody(bytes: Buffer): unknown {
  if (bytes.every(isWhiteSpace)) return undefined;
  try {
    const body = parseJson(bytes, body_limits);
    // Only an escape sequence can produce such a character, so other bodies skip the check.
    if (bytes.includes('\\u') && /\\u(0000|d[89a-f])/i.test(bytes.toString('latin1'))) rejectUnstorable(body);
    const repeated = findRepeatedName(bytes);
    if (repeated !== undefined) throw repeatedField(repeated);
    return body;
  } catch (error) {
    throw bodyError(error);
  }
}

function repeatedField(path: string): ApiError {
  const field = path.slice(0, 200).replace(/\p{Cc}/gu, ' ');
  return apiError('invalid_field', { rule: `${field} must be sent only once` }, { field });
}

/** A compressed body, or one in another character set, would fail as JSON that is not valid. */
export function requireReadableBody(headers: FastifyRequest['headers']): void {
  const encoding = headers['content-encoding'] ?? 'identity';
  if (encoding.trim().toLowerCase() !== 'identity') throw apiError('body_encoding_unsupported');
  const [, charset = 'utf-8'] = /;\s*charset\s*=\s*"?([^\s";]+)/i.exec(headers['content-type'] ?? '') ?? [];
  if (!/^(utf-?8|us-ascii)$/i.test(charset)) throw apiError('charset_unsupported');
}

function isWhiteSpace(byte: number): boolean {
  return byte === 0x20 || (byte >= 0x09 && byte <= 0x0d);
}

function bodyError(error: unknown): Error {
  if (error instanceof ApiError) return error;
  if (!(error instanceof JsonTooComplex)) return apiError('body_not_json');
  const { depth_max, values_max } = body_limits;
  const limit = error.limit === 'depth_max' ? `${depth_max} levels of nesting` : `${values_max} values`;
  return apiError('body_too_complex', { limit });
}

/** A body with files. Their declared types are ignored: callers can set them to anything. */
export type Form = { fields: Record<string, unknown>; files: readonly Buffer[] };

/** How many forms of one client may wait for their turn. Their bodies are not read meanwhile. */
const waiting_max = 32;
/** Shorter than the 30 s that a request may take to arrive, so that the sender gets an explanation. */
const wait_ms_max = 10_000;

export type FormLimiter = <T>(client_id: string, request: FastifyRequest, work: () => Promise<T>) => Promise<T>;

/**
 * Limits how many forms are handled at once, divided among clients. A form counts until its response is sent: its file
 * is in memory that long.
 */
export function formLimiter(total: number): FormLimiter {
  const slots = fairSlots({ total, per_client: 'share', waiting_max, wait_ms_max });
  return async (client_id, request, work) => {
    const gone = new AbortController();
    const onClose = () => gone.abort(apiError('request_timeout'));
    request.raw.once('close', onClose);
    try {
      return await slots.run(client_id, work, gone.signal);
    } catch (error) {
      if (error instanceof SlotsBusy) throw apiError('uploads_busy', undefined, { retry_after_s: 2, cause: error });
      throw error;
    } finally {
      request.raw.off('close', onClose);
    }
  };
}

/** Reads a multipart form with one file in the part `file_field`. */
export async function readForm(request: FastifyRequest, file_field: string): Promise<Form> {
  if (!request.isMultipart()) throw apiError('media_type_unsupported', { expected: 'multipart/form-data' });
  const fields: Record<string, unknown> = Object.create(null);
  let file: Buffer | undefined;
  let name = '';
  try {
    const limits = { fileSize: document_bytes_max, files: 1, fields: 30, fieldSize: 4 * text_max, fieldNameSize: 200 };
    for await (const part of request.parts({ limits })) {
      if (part.type === 'field') {
        // Forms have CRLF line breaks, which would count as two characters.
        const value = typeof part.value === 'string' ? part.value.replace(/\r\n?/g, '\n') : part.value;
        // A repeated field becomes an array, which the schema rejects, as with repeated query parameters.
        fields[part.fieldname] = part.fieldname in fields ? [fields[part.fieldname], value] : value;
      } else {
        const content = await part.toBuffer();
        if (part.fieldname === file_field) [file, name] = [content, cleanFileName(part.filename)];
        else fields[part.fieldname] = content.length;
      }
    }
  } catch (error) {
    throw formError(error);
  }
  // The body only contains the name of the file. A text field in place of the file does not count.
  const { [file_field]: _text, ...others } = fields;
  return { fields: file ? { ...others, [file_field]: name } : others, files: file ? [file] : [] };
}

function formError(error: unknown): unknown {
  const code = (error as { code?: string } | null)?.code ?? '';
  if (code === 'FST_REQ_FILE_TOO_LARGE')
    return apiError('document_too_large', { document: 'document' }, { field: 'document' });
  if (code === 'FST_FILES_LIMIT')
    return apiError('invalid_field', { rule: 'document must be one file' }, { field: 'document' });
  if (/^FST_(PARTS|FIELDS)_LIMIT$/.test(code)) return apiError('form_malformed');
  // Errors of the parser itself have no code: a truncated or malformed form.
  if (error instanceof Error && !code.startsWith('CONNECTION'))
    return apiError('form_malformed', undefined, { cause: error });
  return error;
}

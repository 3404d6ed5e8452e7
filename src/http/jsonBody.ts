import type { FastifyInstance, FastifyRequest } from 'fastify';
import { ApiError, apiError } from '../catalog/errors.ts';
import { JsonTooComplex, parseJson } from '../platform/security/json.ts';
import { rejectUnstorable } from './validate.ts';

/** The deepest body of the API has 7 levels. */
const body_limits = { depth_max: 32, values_max: 20_000 };

/** Parses JSON bodies, and no others. */
export function acceptJson(server: FastifyInstance): void {
  server.removeAllContentTypeParsers();
  server.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, content, done) => {
    const bytes = typeof content === 'string' ? Buffer.from(content) : content;
    if (bytes.every(isWhiteSpace)) return done(null, undefined);
    try {
      const body = parseJson(bytes, body_limits);
      // Only an escape sequence can produce such a character, so other bodies skip the check.
      if (bytes.includes('\\u') && /\\u(0000|d[89a-f])/i.test(bytes.toString('latin1'))) rejectUnstorable(body);
      done(null, body);
    } catch (error) {
      done(bodyError(error));
    }
  });
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

import type { FastifyRequest } from 'fastify';
import { apiError } from '../errors.ts';
import { document_bytes_max } from '../model/document.ts';

/** The declared file name and type are ignored: callers can set them to anything. */
export type UploadedFile = { content: Buffer };

export type Form = { fields: Record<string, unknown>; file: UploadedFile | undefined };

/** Forms in memory at the same time. Others wait, so that 100 parallel uploads take 8 × 5 MB instead of 500 MB. */
const forms_max = 8;

/** Limits how many forms are handled at once. A form counts until its response is sent: its file is in memory that long. */
export function formLimiter(max = forms_max) {
  let free = max;
  const waiting: (() => void)[] = [];
  return async <T>(work: () => Promise<T>): Promise<T> => {
    if (free > 0) free -= 1;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next) next();
      else free += 1;
    }
  };
}

/** Reads a multipart form with one file in the part `file_field`. */
export async function readForm(request: FastifyRequest, file_field: string): Promise<Form> {
  if (!request.isMultipart()) throw apiError('media_type_unsupported', { expected: 'multipart/form-data' });
  const fields: Record<string, unknown> = Object.create(null);
  let file: UploadedFile | undefined;
  try {
    const limits = { fileSize: document_bytes_max, files: 1, fields: 30, fieldSize: 65_536, fieldNameSize: 200 };
    for await (const part of request.parts({ limits })) {
      if (part.type === 'field') {
        // A repeated field becomes an array, which the schema rejects, as with repeated query parameters.
        fields[part.fieldname] = part.fieldname in fields ? [fields[part.fieldname], part.value] : part.value;
      } else {
        const content = await part.toBuffer();
        if (part.fieldname === file_field) file = { content };
        else fields[part.fieldname] = content.length;
      }
    }
  } catch (error) {
    throw formError(error);
  }
  // The body only records that a file was sent. A text field in place of the file does not count.
  const { [file_field]: _text, ...others } = fields;
  return { fields: file ? { ...others, [file_field]: 'file' } : others, file };
}

function formError(error: unknown): unknown {
  const code = (error as { code?: string } | null)?.code ?? '';
  if (code === 'FST_REQ_FILE_TOO_LARGE') return apiError('document_too_large', undefined, { field: 'document' });
  if (code === 'FST_FILES_LIMIT')
    return apiError('invalid_field', { rule: 'document must be one file' }, { field: 'document' });
  if (/^FST_(PARTS|FIELDS)_LIMIT$/.test(code)) return apiError('form_malformed');
  // Errors of the parser itself have no code: a truncated or malformed form.
  if (error instanceof Error && !code.startsWith('CONNECTION'))
    return apiError('form_malformed', undefined, { cause: error });
  return error;
}

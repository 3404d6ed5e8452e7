import type { ApiError, ResponseOf } from '../../service/api.ts';

export type EditForm = ResponseOf<'jobs.edit.form'>['form'];
export type EditField = EditForm['fields'][number];
export type EditValues = Record<string, string | string[]>;

/** The request as the inputs show it. */
export function toValues(fields: readonly EditField[]): EditValues {
  return Object.fromEntries(fields.map((field) => [field.name, toValue(field)]));
}

function toValue({ input, value }: EditField): string | string[] {
  if (input === 'list') return Array.isArray(value) ? value.map(String) : [];
  if (value === null || value === undefined) return '';
  return typeof value === 'object' ? JSON.stringify(value, null, 2) : String(value);
}

/** Thrown for a value that cannot be sent. */
export class FieldProblem extends Error {
  readonly field: string;
  constructor(field: string, message: string) {
    super(message);
    this.field = field;
  }
}

/** The request to send: an empty field is left out, unless the request clears it. */
export function toRequest(fields: readonly EditField[], values: EditValues): Record<string, unknown> {
  return Object.fromEntries(
    fields.flatMap((field): [string, unknown][] => {
      const value = values[field.name] ?? '';
      if (value.length > 0) return [[field.name, parseValue(field, value)]];
      return field.cleared ? [[field.name, null]] : [];
    }),
  );
}

function parseValue({ name, input, value: before }: EditField, value: string | string[]): unknown {
  if (typeof value !== 'string') return value;
  if (input === 'boolean') return value === 'true';
  if (input === 'number') return Number(value);
  // A note is a text or an object; the text of a note may look like JSON.
  if (input !== 'json' || typeof before === 'string' || !/^\s*[[{]/.test(value)) return value;
  try {
    return JSON.parse(value);
  } catch {
    throw new FieldProblem(name, 'This is not valid JSON.');
  }
}

/** What the service says about single fields, by the name of the input. */
export function listFieldErrors({ field, code, message, errors }: ApiError): Record<string, string> {
  const all = errors.length > 0 ? errors : [{ field: field ?? null, code, message }];
  return Object.fromEntries(
    all.flatMap((each) => {
      if (each.field === null) return [];
      const name = each.field.split(/[.[]/)[0] ?? each.field;
      return [
        [
          name,
          each.code === 'missing_field'
            ? 'This field is required.'
            : toSentence(each.message.replace(each.field, 'This')),
        ],
      ];
    }),
  );
}

function toSentence(message: string): string {
  return message.endsWith('.') ? message : `${message}.`;
}

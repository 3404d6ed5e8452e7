import { type Static, type TSchema, type TSchemaOptions, Type } from 'typebox';

/** The maximum length of strings that declare none. */
const text_max = 2000;
/** A token from an EMR may contain a signed statement of several thousand characters. */
export const credential_max = 8000;

/**
 * A string. `messages` replaces the standard message of a rule where the interface prescribes another one; `{name}`
 * stands for the path of the field in the body.
 */
export function text(options: TSchemaOptions & { minLength?: number; maxLength?: number; messages?: Messages } = {}) {
  return Type.String({ maxLength: text_max, ...options });
}
export type Messages = Partial<Record<'minLength' | 'maxLength' | 'pattern' | 'anyOf', string>>;

/** A flag that is sent as the string `true` or `false`. */
export function flag(description: string) {
  return Type.Enum(['true', 'false'], { description });
}

/** A field that null resets to the EMR's value. */
export function resettable<Schema extends TSchema>(schema: Schema) {
  return Type.Optional(Type.Unsafe<Static<Schema> | null>({ ...schema, null_resets: true }));
}

export function nullable<Schema extends TSchema>(schema: Schema) {
  return Type.Union([schema, Type.Null()]);
}

/** Values of an EMR's records. Null if the EMR does not know the value. */
export const known = {
  text: nullable(Type.String()),
  date: nullable(Type.String({ format: 'date' })),
  number: nullable(Type.Number()),
};

export const id = Type.String({ pattern: '^[0-9a-f]{32}$', description: 'UUID without hyphens' });
export const date_time = Type.String({ format: 'date-time' });
export const success = Type.Literal(true);
export const activity = Type.Enum(['active', 'inactive']);

export const pagination = Type.Object({
  page: Type.Integer(),
  current_page: Type.Integer({ description: 'Same as page' }),
  page_size: Type.Integer(),
  total_count: Type.Integer(),
  total_pages: Type.Integer(),
});

/** The parameters of a range of days. */
export function days(of: string) {
  return {
    start_date: Type.Optional(Type.String({ format: 'date', description: `First ${of}, YYYY-MM-DD, inclusive` })),
    end_date: Type.Optional(Type.String({ format: 'date', description: `Last ${of}, YYYY-MM-DD, inclusive` })),
  };
}

/** The paging parameters of a list. */
export function paging(page_size: number, page_size_max: number) {
  return {
    page: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000_000, default: 1 })),
    page_size: Type.Optional(Type.Integer({ minimum: 1, maximum: page_size_max, default: page_size })),
  };
}

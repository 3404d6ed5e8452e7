import { Type } from 'typebox';

/** The shapes that several rows of Larkspur share. */
export const text = Type.String({ maxLength: 200 });
export const textOrNull = Type.Union([text, Type.Null()]);
export const flag = Type.Enum(['Y', 'N']);
export const id = Type.String({ pattern: '^[A-Za-z0-9-]{1,40}$' });
export const usDate = Type.String({ pattern: '^(0[1-9]|1[0-2])/(0[1-9]|[12][0-9]|3[01])/[0-9]{4}$' });
export const address = Type.Object(
  { line1: text, line2: textOrNull, city: text, state: text, zip: text },
  { additionalProperties: false },
);
export const addressOneLine = Type.Object(
  { line1: text, city: text, state: text, zip: text },
  { additionalProperties: false },
);
export const addressBlank = { line1: '', line2: null, city: '', state: '', zip: '' };
export const addressOneLineBlank = { line1: '', city: '', state: '', zip: '' };

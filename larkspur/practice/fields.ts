import { Type } from 'typebox';

/** The shapes that several rows of Larkspur share. */
export const text = Type.String({ maxLength: 2000 });
export const textOrNull = Type.Union([text, Type.Null()]);
export const flag = Type.Enum(['Y', 'N']);
export const id = Type.String({ pattern: '^[A-Za-z0-9-]{1,40}$' });
export const usDate = Type.String({ pattern: '^(0[1-9]|1[0-2])/(0[1-9]|[12][0-9]|3[01])/[0-9]{4}$' });
export const usDateOrNull = Type.Union([usDate, Type.Null()]);
/** What the clock on the practice's wall shows. */
export const wallTime = Type.String({
  pattern: '^(0[1-9]|1[0-2])/(0[1-9]|[12][0-9]|3[01])/[0-9]{4} ([01][0-9]|2[0-3]):[0-5][0-9]$',
});
export const minutes = Type.Integer({ minimum: 1, maximum: 1440 });
export const idOrNull = Type.Union([id, Type.Null()]);
export const longTextOrNull = Type.Union([Type.String({ maxLength: 100_000 }), Type.Null()]);
/** Dollars, as text: no cent is ever lost to a floating point. */
export const money = Type.String({ pattern: '^-?[0-9]{1,9}([.][0-9]{1,2})?$' });
export const moneyOrNull = Type.Union([money, Type.Null()]);
export const sexCode = Type.Enum(['M', 'F', 'U']);
export const moment = Type.Unsafe<Date>({});
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

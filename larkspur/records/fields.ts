import { Type } from 'typebox';

/** Schemas that several records share. */
export const TEXT_MAX = 32_000;
export const text = Type.String({ maxLength: TEXT_MAX });
export const textOrNull = Type.Union([text, Type.Null()]);
export const longTextOrNull = Type.Union([Type.String({ maxLength: 100_000 }), Type.Null()]);
export const flag = Type.Enum(['Y', 'N']);
export const id = Type.String({ pattern: '^[A-Za-z0-9-]{1,40}$' });
export const idOrNull = Type.Union([id, Type.Null()]);
export const sexCode = Type.Enum(['M', 'F', 'U']);

export const usDate = Type.String({ pattern: '^(0[1-9]|1[0-2])/(0[1-9]|[12][0-9]|3[01])/[0-9]{4}$' });
/** Not before 1880: an earlier year is a mistake. */
export const birthDate = Type.String({
  pattern: '^(0[1-9]|1[0-2])/(0[1-9]|[12][0-9]|3[01])/(18[89][0-9]|19[0-9]{2}|[2-9][0-9]{3})$',
});
export const usDateOrNull = Type.Union([usDate, Type.Null()]);
/** A local time at the practice, without a zone. */
export const localTime = Type.String({
  pattern: '^(0[1-9]|1[0-2])/(0[1-9]|[12][0-9]|3[01])/[0-9]{4} ([01][0-9]|2[0-3]):[0-5][0-9]$',
});
/** The offset of a local time, where the caller gave one. */
export const utcOffset = Type.String({ pattern: '^[+-](0[0-9]|1[0-4]):[0-5][0-9]$' });
export const timestamp = Type.Unsafe<Date>({});
export const timestampOrNull = Type.Unsafe<Date | null>({});
export const minutes = Type.Integer({ minimum: 1, maximum: 1440 });

/** Dollars as decimal text, so that no cents are lost to floating point. */
export const money = Type.String({ pattern: '^-?[0-9]{1,9}([.][0-9]{1,2})?$' });
export const moneyOrNull = Type.Union([money, Type.Null()]);

export const address = Type.Object(
  { line1: text, line2: textOrNull, city: text, state: text, zip: text },
  { additionalProperties: false },
);
export const emptyAddress = { line1: '', line2: null, city: '', state: '', zip: '' };

/** Pharmacies, insurers and referring providers have addresses without a second line. */
export const shortAddress = Type.Object(
  { line1: text, city: text, state: text, zip: text },
  { additionalProperties: false },
);
export const emptyShortAddress = { line1: '', city: '', state: '', zip: '' };

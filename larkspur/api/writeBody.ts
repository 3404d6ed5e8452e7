import { type TProperties, type TSchema, Type } from 'typebox';

/** The body of a write: its own fields and the caller's reference, by which a lost answer can be found again. */
export function writeBody<Fields extends TProperties>(fields: Fields) {
  return Type.Object(
    { externalRef: Type.String({ minLength: 1, maxLength: 100 }), ...fields },
    { additionalProperties: false },
  );
}

/** May be left out, or sent as null. */
export function optional<Field extends TSchema>(field: Field) {
  return Type.Optional(Type.Union([field, Type.Null()]));
}

export const atMost = (maxLength: number) => Type.String({ maxLength });
export const typed = (maxLength: number) => Type.String({ minLength: 1, maxLength });
export const recordId = typed(40);
export const priority = Type.Enum(['H', 'N']);

import { type TProperties, type TSchema, Type } from 'typebox';
import { relationships } from '../charts/guarantors.ts';
import { insurancePriority, subscriberRelationships } from '../charts/patientInsurances.ts';
import { address, birthDate, flag, money, sexCode, TEXT_MAX, text, usDate } from '../records/fields.ts';
import type { Page } from '../records/recordKind.ts';

const PAGE_SIZE_MAX = 500;
const PAGE_SIZE_DEFAULT = 200;

const positiveInteger = Type.Optional(Type.String({ pattern: '^[1-9][0-9]{0,6}$' }));
export const pageFields = { page: positiveInteger, pageSize: positiveInteger };

export function parsePage({ page, pageSize }: { page?: string; pageSize?: string }): Page {
  return { page: Number(page ?? 1), pageSize: Math.min(Number(pageSize ?? PAGE_SIZE_DEFAULT), PAGE_SIZE_MAX) };
}

/** The body of a write: its fields and the caller's reference, which finds the receipt after a lost response. */
export function writeBody<Fields extends TProperties>(fields: Fields) {
  return Type.Object(
    { externalRef: Type.String({ minLength: 1, maxLength: 100 }), ...fields },
    { additionalProperties: false },
  );
}

/** May be omitted or null. */
export function optional<Field extends TSchema>(field: Field) {
  return Type.Optional(Type.Union([field, Type.Null()]));
}

export const textUpTo = (maxLength: number) => Type.String({ maxLength });
export const requiredText = (maxLength: number) => Type.String({ minLength: 1, maxLength });
export const recordId = requiredText(40);
export const priority = Type.Enum(['H', 'N']);

export const relationshipCode = Type.Enum(Object.keys(relationships) as (keyof typeof relationships)[]);
const subscriberCode = Type.Enum(Object.keys(subscriberRelationships) as (keyof typeof subscriberRelationships)[]);
const partialAddress = Type.Partial(address);

export const guarantorFields = {
  firstName: requiredText(TEXT_MAX),
  middleName: optional(text),
  lastName: requiredText(TEXT_MAX),
  birthDate: optional(birthDate),
  sexCode: optional(sexCode),
  phone: optional(text),
  address: Type.Optional(partialAddress),
};

export const guarantor = Type.Object(guarantorFields, { additionalProperties: false });

export const insuranceFields = {
  subscriberNumber: requiredText(TEXT_MAX),
  groupNumber: optional(text),
  priority: optional(insurancePriority),
  planBegins: optional(usDate),
  copayment: optional(money),
  relationshipCode: optional(subscriberCode),
};

/** The fields that create_patient and update_patient share. */
export const demographicFields = {
  middleName: optional(text),
  homePhone: optional(text),
  cellPhone: optional(text),
  email: optional(text),
  noEmailReason: optional(text),
  address: Type.Optional(partialAddress),
  language: optional(text),
  race: optional(text),
  ethnicity: optional(text),
  selfPayFlag: Type.Optional(flag),
  releaseOfInfoFlag: Type.Optional(flag),
  rxConsentFlag: Type.Optional(flag),
  referringId: optional(recordId),
  referringFirstName: optional(text),
  referringLastName: optional(text),
  pcpId: optional(recordId),
  pcpFirstName: optional(text),
  pcpLastName: optional(text),
  renderingProviderId: optional(recordId),
  defaultFacilityId: optional(recordId),
  emergencyContact: optional(
    Type.Object(
      { firstName: optional(text), lastName: optional(text), relation: optional(text), phone: optional(text) },
      { additionalProperties: false },
    ),
  ),
};

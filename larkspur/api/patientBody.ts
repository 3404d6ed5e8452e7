import { Type } from 'typebox';
import { relationships } from '../charts/guarantors.ts';
import { insurancePriority, subscriberRelationships } from '../charts/patientInsurances.ts';
import { flag, money, sexCode, text, textOrNull, usDate } from '../practice/fields.ts';
import { optional, recordId, typed } from './writeBody.ts';

export const address = Type.Partial(
  Type.Object({ line1: text, line2: textOrNull, city: text, state: text, zip: text }, { additionalProperties: false }),
);

export const relationshipCode = Type.Enum(Object.keys(relationships) as (keyof typeof relationships)[]);
const subscriberCode = Type.Enum(Object.keys(subscriberRelationships) as (keyof typeof subscriberRelationships)[]);

/** A person who pays, as typed in. */
export const guarantorFields = {
  firstName: typed(2000),
  middleName: optional(text),
  lastName: typed(2000),
  birthDate: optional(usDate),
  sexCode: optional(sexCode),
  phone: optional(text),
  address: Type.Optional(address),
};

export const guarantor = Type.Object(guarantorFields, { additionalProperties: false });

export const insuranceFields = {
  subscriberNumber: typed(2000),
  groupNumber: optional(text),
  priority: optional(insurancePriority),
  planBegins: optional(usDate),
  copayment: optional(money),
  relationshipCode: optional(subscriberCode),
};

/** What may be said about a patient both when the chart is made and later. */
export const demographicFields = {
  middleName: optional(text),
  homePhone: optional(text),
  cellPhone: optional(text),
  email: optional(text),
  noEmailReason: optional(text),
  address: Type.Optional(address),
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

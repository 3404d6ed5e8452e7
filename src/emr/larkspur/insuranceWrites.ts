import type { SubscriberRelationship } from '../../model/requests/insurance.ts';
import type { Operations } from '../connector.ts';
import type { InsuranceFields, Subscriber } from '../writeInputs.ts';
import { path } from './call.ts';
import { insurance_properties, toChanges } from './changes.ts';
import { defineWrite, type Receipt } from './defineWrite.ts';
import { defined, sexCode, usDate } from './values.ts';

export const addPatientInsurance = defineWrite<Operations['addPatientInsurance']>(
  'add_patient_insurance',
  (input) => ({
    path: path`/api/patients/${input.patient_ehr_id}/insurances`,
    body: {
      companyId: input.company_ehr_id,
      subscriberNumber: input.member_id,
      ...toFields(input),
      ...defined({ priority: input.priority, guarantorId: input.guarantor_ehr_id }),
    },
  }),
  toSaved,
);

export const updatePatientInsurance = defineWrite<Operations['updatePatientInsurance']>(
  'update_patient_insurance',
  (input) => ({
    path: path`/api/patient-insurances/${input.insurance_ehr_id}`,
    body: {
      ...defined({
        companyId: input.company_ehr_id,
        subscriberNumber: input.member_id,
        priority: input.priority,
        guarantorId: input.guarantor_ehr_id,
      }),
      ...toFields(input),
    },
  }),
  toSaved,
);

function toSaved(receipt: Receipt) {
  return { ehr_id: receipt.recordId, changes: toChanges(receipt, insurance_properties) };
}

function toFields(input: InsuranceFields): Record<string, unknown> {
  const { relationship, subscriber } = input;
  return defined({
    groupNumber: input.group_id,
    planBegins: input.plan_begin_date && usDate(input.plan_begin_date),
    copayment: input.copayment === null ? null : input.copayment?.toFixed(2),
    relationshipCode: relationship,
    guarantor: subscriber && toGuarantor(subscriber, relationship),
  });
}

/** Larkspur leaves omitted fields unchanged if it knows the person. An address has no nulls, only empty lines. */
function toGuarantor(
  { street, city, state, zip, ...person }: Subscriber,
  relationship: SubscriberRelationship | null | undefined,
) {
  const line = (value: string | null | undefined) => (value === null ? '' : value);
  const address = defined({ line1: line(street), city: line(city), state: line(state), zip: line(zip) });
  return defined({
    firstName: person.first_name,
    lastName: person.last_name,
    sexCode: person.sex === null ? 'U' : person.sex && sexCode(person.sex),
    birthDate: person.dob && usDate(person.dob),
    phone: person.phone,
    address: Object.keys(address).length > 0 ? address : undefined,
    relationshipCode: relationship && guarantor_codes[relationship],
  });
}

/** The subscriber's relationship to the patient, as one of Larkspur's guarantor codes. */
const guarantor_codes: Record<SubscriberRelationship, string> = {
  '01': '1',
  '02': '2',
  '17': '18',
  '19': '3',
  '20': '8',
  '25': '99',
  '32': '18',
  '33': '18',
  '53': '53',
};

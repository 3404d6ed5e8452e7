import { Type } from 'typebox';
import { Compile } from 'typebox/compile';
import type { LiveInsurance } from '../../model/liveChart.ts';
import type { SubscriberRelationship } from '../../model/requests/insurance.ts';
import type { InsuranceFields, Subscriber } from '../operations/insurance.ts';
import { collect } from '../operations/operation.ts';
import type { Operations } from '../operations/operations.ts';
import { path } from './call.ts';
import { insurance_properties, toChanges } from './changes.ts';
import { defineList, readPages } from './lists.ts';
import { defineWrite, type LarkspurOperation, type Receipt, reading } from './operation.ts';
import type { SendRequest } from './session.ts';
import { blankToNull, defined, flag, id, isoDate, nullToBlank, sexCode, text, textOrNull, usDate } from './values.ts';

async function listPatientInsurances(request: SendRequest, patient_ehr_id: string): Promise<LiveInsurance[]> {
  const rows = await collect(
    readPages(request, { ...insurances, path: path`/api/patients/${patient_ehr_id}/insurances` }),
  );
  return rows
    .filter((row) => row.active)
    .map(({ ehr_id, active: _active, ...fields }) => ({ emr_insurance_id: ehr_id, ...fields }));
}

const insurances = defineList({
  path: '',
  row: Compile(
    Type.Object({
      insuranceId: id,
      priority: Type.Integer(),
      companyId: textOrNull,
      companyName: text,
      subscriberNumber: textOrNull,
      groupNumber: textOrNull,
      planBegins: textOrNull,
      copayment: textOrNull,
      relationshipCode: textOrNull,
      guarantorId: textOrNull,
      guarantorIsPatient: flag,
      activeFlag: flag,
    }),
  ),
  toSource: (row) => ({
    ehr_id: row.insuranceId,
    active: row.activeFlag === 'Y',
    priority: row.priority,
    insurance_ehr_id: blankToNull(row.companyId),
    insurance_name: row.companyName,
    insurance_subscriber_number: blankToNull(row.subscriberNumber),
    group_id: blankToNull(row.groupNumber),
    plan_begin_date: isoDate(row.planBegins),
    copayment: blankToNull(row.copayment),
    relationship_to_subscriber: blankToNull(row.relationshipCode),
    guarantor_id: blankToNull(row.guarantorId),
    is_guarantor_patient: row.guarantorIsPatient === 'Y',
  }),
});

const addPatientInsurance = defineWrite<Operations['addPatientInsurance']>(
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

const updatePatientInsurance = defineWrite<Operations['updatePatientInsurance']>(
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

/** Larkspur leaves omitted fields unchanged if it knows the person. */
function toGuarantor(
  { street, city, state, zip, ...person }: Subscriber,
  relationship: SubscriberRelationship | null | undefined,
) {
  const address = defined({
    line1: nullToBlank(street),
    city: nullToBlank(city),
    state: nullToBlank(state),
    zip: nullToBlank(zip),
  });
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

export const insurance_operations: readonly LarkspurOperation[] = [
  { operation: 'listPatientInsurances', open: reading(listPatientInsurances) },
  { operation: 'addPatientInsurance', open: addPatientInsurance },
  { operation: 'updatePatientInsurance', open: updatePatientInsurance },
];

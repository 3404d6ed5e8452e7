import { type Static, Type } from 'typebox';
import { Compile } from 'typebox/compile';
import type { LiveInsurance } from '../../model/liveChart.ts';
import type { PatientInsuranceSource } from '../../model/records/patientInsurances.ts';
import type { SubscriberRelationship } from '../../model/requests/insurance.ts';
import type { InsuranceFields, Subscriber } from '../operations/insurance.ts';
import { collect } from '../operations/operation.ts';
import type { Operations } from '../operations/operations.ts';
import { path } from './call.ts';
import { insurance_properties, toChanges } from './changes.ts';
import { defineList, readPages } from './lists.ts';
import { defineWrite, type LarkspurOperation, listing, type Receipt, reading } from './operation.ts';
import type { SendRequest } from './session.ts';
import { blankToNull, defined, flag, id, isoDate, nullToBlank, sexCode, text, textOrNull, usDate } from './values.ts';

async function listPatientInsurances(request: SendRequest, patient_ehr_id: string): Promise<LiveInsurance[]> {
  const rows = await readPolicies(request, patient_ehr_id);
  return rows
    .filter((row) => row.in_force)
    .map(({ source }) => {
      const {
        ehr_id,
        patient_ehr_id: _patient,
        patient_mrn: _mrn,
        plan_end_date: _end,
        active: _active,
        ...fields
      } = source;
      return { emr_insurance_id: ehr_id, ...fields };
    });
}

async function listPatientPolicies(request: SendRequest, patient_ehr_id: string): Promise<PatientInsuranceSource[]> {
  return (await readPolicies(request, patient_ehr_id)).map(({ source }) => source);
}

function readPolicies(request: SendRequest, patient_ehr_id: string) {
  const toSource = (row: PolicyRow) => {
    const source = policies.toSource(row);
    return { ehr_id: source.ehr_id, source, in_force: row.inForceFlag === 'Y' };
  };
  const path_of_patient = path`/api/patients/${patient_ehr_id}/insurances`;
  return collect(readPages(request, { row: policies.row, path: path_of_patient, toSource }));
}

const Policy = Type.Object({
  insuranceId: id,
  patientId: id,
  mrn: id,
  priority: Type.Integer(),
  companyId: textOrNull,
  companyName: text,
  subscriberNumber: textOrNull,
  groupNumber: textOrNull,
  planBegins: textOrNull,
  planEnds: textOrNull,
  copayment: textOrNull,
  relationshipCode: textOrNull,
  guarantorId: textOrNull,
  guarantorIsPatient: flag,
  activeFlag: flag,
  inForceFlag: flag,
});
type PolicyRow = Static<typeof Policy>;

const policies = defineList({
  path: '/api/patient-insurances',
  row: Compile(Policy),
  toSource: (row): PatientInsuranceSource => ({
    ehr_id: row.insuranceId,
    patient_ehr_id: row.patientId,
    patient_mrn: row.mrn,
    priority: row.priority,
    insurance_ehr_id: blankToNull(row.companyId),
    insurance_name: row.companyName,
    insurance_subscriber_number: blankToNull(row.subscriberNumber),
    group_id: blankToNull(row.groupNumber),
    plan_begin_date: isoDate(row.planBegins),
    plan_end_date: isoDate(row.planEnds),
    copayment: blankToNull(row.copayment),
    relationship_to_subscriber: blankToNull(row.relationshipCode),
    guarantor_id: blankToNull(row.guarantorId),
    is_guarantor_patient: row.guarantorIsPatient === 'Y',
    active: row.activeFlag === 'Y',
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
        priority: input.sequence ?? input.priority,
        swapPriority: input.sequence && 'Y',
        planEnds: input.plan_end_date && usDate(input.plan_end_date),
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
  { operation: 'listPolicies', open: listing(policies) },
  { operation: 'listPatientInsurances', open: reading(listPatientInsurances) },
  { operation: 'listPatientPolicies', open: reading(listPatientPolicies) },
  { operation: 'addPatientInsurance', open: addPatientInsurance },
  { operation: 'updatePatientInsurance', open: updatePatientInsurance },
];

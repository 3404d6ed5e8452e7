import type * as fhir from 'fhir/r4.js';
import { type Emr, findReferencing, onlyOf } from '../references.ts';
import { markersOf } from '../transport/markers.ts';
import { hasCode } from '../values.ts';

/** SNOMED CT: patient referral. */
export const referral_code: fhir.CodeableConcept = {
  coding: [{ system: 'http://snomed.info/sct', code: '3457005', display: 'Patient referral' }],
};

/**
 * Whether this is our record of who referred the patient, and to whom. Other referrals are orders of the practice, which
 * we never change.
 */
export function isOwnReferral(request: fhir.ServiceRequest): boolean {
  return hasCode(request.code, 'http://snomed.info/sct', ['3457005']) && markersOf(request).length > 0;
}

/** Our record of the referral of a patient. */
export async function findReferral({ client }: Emr, patient_ehr_id: string): Promise<fhir.ServiceRequest | undefined> {
  const reference = `Patient/${patient_ehr_id}`;
  const found = await findReferencing<fhir.ServiceRequest>(client, 'ServiceRequest', referral_params, [reference]);
  const own = onlyOf(patient_ehr_id, found, ({ subject }) => [subject]);
  return own.find((each) => each.status === 'active' && isOwnReferral(each));
}

const referral_params = ['patient', 'subject'];

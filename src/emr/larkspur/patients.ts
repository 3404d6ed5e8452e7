import { Type } from 'typebox';
import { Compile } from 'typebox/compile';
import type { PatientSource } from '../../model/records/patients.ts';
import { EmrFailure } from '../emrFailure.ts';
import { collect } from '../operations/operation.ts';
import { findsNobody, hasSearchedName, type PatientSearch } from '../operations/patients.ts';
import { path, requireBody } from './call.ts';
import { defineList, readPages } from './lists.ts';
import { type LarkspurOperation, listing, reading } from './operation.ts';
import type { SendRequest } from './session.ts';
import {
  addressTwoLines,
  blankToNull,
  id,
  isoDate,
  text,
  textOrNull,
  toSex,
  unreadable_response,
  usDate,
} from './values.ts';

const patients = defineList({
  path: '/api/patients',
  row: Compile(
    Type.Object({
      patientId: id,
      mrn: id,
      firstName: text,
      middleName: textOrNull,
      lastName: text,
      birthDate: textOrNull,
      sexCode: textOrNull,
      homePhone: textOrNull,
      cellPhone: textOrNull,
      email: textOrNull,
      address: addressTwoLines,
      primaryInsuranceName: textOrNull,
      primarySubscriberNumber: textOrNull,
      mergedInto: textOrNull,
    }),
  ),
  toLeft: ({ patientId, mrn, mergedInto }) =>
    mergedInto ? { ehr_id: patientId, mrn: blankToNull(mrn), merged_into: mergedInto } : undefined,
  toSource: (row): PatientSource => ({
    ehr_id: row.patientId,
    mrn: row.mrn,
    first_name: row.firstName,
    middle_name: blankToNull(row.middleName),
    last_name: row.lastName,
    dob: isoDate(row.birthDate),
    sex: toSex(row.sexCode),
    phone: blankToNull(row.homePhone),
    cell_phone: blankToNull(row.cellPhone),
    email: blankToNull(row.email),
    address_street: blankToNull(row.address.line1),
    address_line2: blankToNull(row.address.line2),
    address_city: blankToNull(row.address.city),
    address_state: blankToNull(row.address.state),
    address_zip: blankToNull(row.address.zip),
    insurance_name: blankToNull(row.primaryInsuranceName),
    insurance_subscriber_number: blankToNull(row.primarySubscriberNumber),
  }),
});

async function findPatient(request: SendRequest, mrn: string): Promise<PatientSource | undefined> {
  if (mrn.length > mrn_max) return undefined;
  const matches: PatientSource[] = [];
  const merged_into = new Set<string>();
  for await (const page of readPages(request, patients, { mrn })) {
    matches.push(...page);
    for (const left of page.left ?? []) merged_into.add(left.merged_into ?? '');
  }
  const [surviving] = merged_into;
  if (matches.length === 0 && surviving && merged_into.size === 1) return readPatient(request, surviving);
  // Writes go to the chart returned here, so a wrong match must fail.
  if (matches.some((patient) => patient.mrn !== mrn)) throw new EmrFailure('unavailable', unreadable_response);
  if (matches.length > 1) {
    throw new EmrFailure('refused', 'Larkspur has several patients with this MRN.', { code: 'patient_ambiguous' });
  }
  return matches[0];
}

/** The chart that a merged one points to, which is never a merged one itself. */
async function readPatient(request: SendRequest, patient_id: string): Promise<PatientSource> {
  const chart = requireBody(
    await request({ method: 'GET', path: path`/api/patients/${patient_id}`, schema: patients.row }),
  );
  if (chart.patientId !== patient_id || chart.mergedInto) throw new EmrFailure('unavailable', unreadable_response);
  return patients.toSource(chart);
}

/** Larkspur's own limit. */
const mrn_max = 200;

async function searchPatients(request: SendRequest, search: PatientSearch): Promise<PatientSource[]> {
  if (findsNobody(search)) return [];
  const params = {
    mrn: search.mrn,
    firstName: search.first_name,
    lastName: search.last_name,
    phone: search.phone,
    birthDate: search.dob && usDate(search.dob),
  };
  const criteria = Object.entries(params).filter((pair): pair is [string, string] => pair[1] !== undefined);
  const matches = await collect(readPages(request, patients, Object.fromEntries(criteria)));
  // Larkspur searches names by prefix.
  return matches.filter((patient) => hasSearchedName(patient, search));
}

export const patient_operations: readonly LarkspurOperation[] = [
  { operation: 'listPatients', open: listing(patients) },
  { operation: 'findPatient', open: reading(findPatient) },
  { operation: 'searchPatients', open: reading(searchPatients) },
];

import { Type } from 'typebox';
import { Compile } from 'typebox/compile';
import type { PatientSource } from '../../model/records/patients.ts';
import { EmrFailure, type EmrMedication, type EmrPatientPharmacy } from '../connector.ts';
import { collect } from '../implementations.ts';
import { path, requireBody, unreadable_response } from './call.ts';
import { readPages } from './lists.ts';
import { patients } from './patients.ts';
import type { SendRequest } from './session.ts';
import { blankToNull, flag, id, isoDate, text, textOrNull } from './values.ts';

export async function findPatient(request: SendRequest, mrn: string): Promise<PatientSource | undefined> {
  if (mrn.length > mrn_max) return undefined;
  const found = await collect(readPages(request, patients, { mrn }));
  // Writes go to the chart returned here, so a wrong match must fail.
  if (found.some((patient) => patient.mrn !== mrn)) throw new EmrFailure('unavailable', unreadable_response);
  if (found.length > 1) {
    throw new EmrFailure('refused', 'Larkspur has several patients with this MRN.', { code: 'patient_ambiguous' });
  }
  return found[0];
}

export async function listMedications(request: SendRequest, patient_ehr_id: string): Promise<EmrMedication[]> {
  const url = path`/api/patients/${patient_ehr_id}/medications`;
  const { rows } = requireBody(await request({ method: 'GET', path: url, schema: medications }));
  return rows.map((row) => ({
    ehr_id: row.medicationId,
    name: row.name,
    strength: blankToNull(row.strength),
    frequency: blankToNull(row.frequency),
    start_date: isoDate(row.startDate),
    refills: row.refills === null ? null : String(row.refills),
    notes: blankToNull(row.notes),
    active: row.activeFlag === 'Y',
  }));
}

export async function listPatientPharmacies(
  request: SendRequest,
  patient_ehr_id: string,
): Promise<EmrPatientPharmacy[]> {
  const url = path`/api/patients/${patient_ehr_id}/pharmacies`;
  const { rows } = requireBody(await request({ method: 'GET', path: url, schema: patient_pharmacies }));
  return rows.map((row) => ({
    ehr_id: row.pharmacyId,
    is_primary: row.primaryFlag === 'Y' ? '1' : '0',
    name: row.name,
    address: blankToNull(row.address.line1),
    city: blankToNull(row.address.city),
    state: blankToNull(row.address.state),
    zip: blankToNull(row.address.zip),
    phone: blankToNull(row.phone),
  }));
}

/** Larkspur's own limit. */
const mrn_max = 200;
const medications = Compile(
  Type.Object({
    rows: Type.Array(
      Type.Object({
        medicationId: id,
        name: text,
        strength: textOrNull,
        frequency: textOrNull,
        startDate: textOrNull,
        refills: Type.Union([Type.Integer(), textOrNull]),
        notes: textOrNull,
        activeFlag: flag,
      }),
    ),
  }),
);
const patient_pharmacies = Compile(
  Type.Object({
    rows: Type.Array(
      Type.Object({
        pharmacyId: id,
        primaryFlag: flag,
        name: text,
        phone: textOrNull,
        address: Type.Object({ line1: textOrNull, city: textOrNull, state: textOrNull, zip: textOrNull }),
      }),
    ),
  }),
);

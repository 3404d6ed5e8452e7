import { listMedications } from '../charts/medications.ts';
import { addPatientPharmacy, listPatientPharmacies } from '../charts/patientPharmacies.ts';
import { findMrn, patients } from '../charts/patients.ts';
import { read, write } from '../machine/operation.ts';
import { getRecord } from '../machine/recordKind.ts';
import { flag } from '../practice/fields.ts';
import { getActive } from '../practice/getActive.ts';
import { pharmacies } from '../practice/pharmacies.ts';
import { optional, recordId, writeBody } from './writeBody.ts';

export const patientListOperations = [
  read({
    name: 'list_medications',
    method: 'GET',
    path: '/api/patients/:patientId/medications',
    handle: async ({ sql, params }) => {
      await getRecord(sql, patients, params.patientId);
      return { rows: await listMedications(sql, params.patientId) };
    },
  }),
  read({
    name: 'list_patient_pharmacies',
    method: 'GET',
    path: '/api/patients/:patientId/pharmacies',
    handle: async ({ sql, params }) => {
      await getRecord(sql, patients, params.patientId);
      return { rows: await listPatientPharmacies(sql, params.patientId) };
    },
  }),
  write({
    name: 'add_patient_pharmacy',
    path: '/api/patients/:patientId/pharmacies',
    body: writeBody({ pharmacyId: recordId, primaryFlag: optional(flag) }),
    patientMrn: (sql, params) => findMrn(sql, params.patientId),
    write: async ({ sql, params, body }) => {
      await getRecord(sql, patients, params.patientId);
      await getActive(sql, pharmacies, body.pharmacyId);
      return addPatientPharmacy(sql, params.patientId, body.pharmacyId, body.primaryFlag === 'Y');
    },
  }),
];

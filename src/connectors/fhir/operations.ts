import type { Operations } from '../connector.ts';
import { listPatientInsurances } from './charts/coverage.ts';
import { getAlerts, listEncounters, listMedications } from './charts/liveChart.ts';
import { searchPatients } from './charts/searchPatients.ts';
import { appointments, getAppointment } from './lists/appointments.ts';
import { claims } from './lists/claims.ts';
import { listScheduleBlocks } from './lists/hours.ts';
import { orders } from './lists/orders.ts';
import { insuranceProviders, listPatientPharmacies, listPharmacies, locations } from './lists/organizations.ts';
import { findPatient, patients } from './lists/patients.ts';
import { providers, referringProviders, staff } from './lists/providers.ts';
import { changing, whole } from './lists/readList.ts';
import { listVisitStatuses, listVisitTypes } from './lists/visitCodes.ts';
import type { needs } from './needs.ts';
import type { Emr } from './references.ts';
import { createAppointment } from './writes/createAppointment.ts';
import { addPatientInsurance, updatePatientInsurance } from './writes/insuranceWrites.ts';
import { createPatient, updatePatient } from './writes/patientWrites.ts';
import { uploadDocument } from './writes/uploadDocument.ts';

/** Everything that a FHIR server may be asked for; which of it this one can do is said in needs.ts. */
export function operationsOf(emr: Emr): Pick<Operations, keyof typeof needs> {
  return {
    listProviders: () => whole(emr, providers),
    listStaff: () => whole(emr, staff),
    listReferringProviders: () => whole(emr, referringProviders),
    listLocations: () => whole(emr, locations),
    listPharmacies: () => listPharmacies(emr),
    listInsuranceProviders: () => whole(emr, insuranceProviders),
    listPatients: changing(emr, patients),
    listVisitTypes: () => listVisitTypes(emr),
    listVisitStatuses,
    listAppointments: changing(emr, appointments),
    listScheduleBlocks: () => listScheduleBlocks(emr),
    listClaims: changing(emr, claims),
    listOrders: changing(emr, orders),
    getAppointment: (ehr_id) => getAppointment(emr, ehr_id),
    findPatient: (mrn) => findPatient(emr, mrn),
    searchPatients: (search) => searchPatients(emr, search),
    listMedications: (patient_ehr_id) => listMedications(emr, patient_ehr_id),
    listPatientPharmacies: (patient_ehr_id) => listPatientPharmacies(emr, patient_ehr_id),
    listEncounters: (patient_ehr_id) => listEncounters(emr, patient_ehr_id),
    listPatientInsurances: (patient_ehr_id) => listPatientInsurances(emr, patient_ehr_id),
    getAlerts: (patient_ehr_id) => getAlerts(emr, patient_ehr_id),
    createAppointment: createAppointment(emr),
    uploadDocument: uploadDocument(emr),
    createPatient: createPatient(emr),
    updatePatient: updatePatient(emr),
    addPatientInsurance: addPatientInsurance(emr),
    updatePatientInsurance: updatePatientInsurance(emr),
  };
}

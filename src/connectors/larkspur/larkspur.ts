import type { Connector, OperationName, Operations } from '../connector.ts';
import { findPatient, listMedications, listPatientPharmacies } from './charts.ts';
import { claims } from './claims.ts';
import { getCodeLists, insuranceProviders, referringProviders, visitStatuses, visitTypes } from './codeLists.ts';
import { addPatientInsurance, updatePatientInsurance } from './insuranceWrites.ts';
import { pages } from './lists.ts';
import {
  getAlerts,
  getBalances,
  listEncounters,
  listGuarantors,
  listPatientInsurances,
  searchPatients,
} from './liveChart.ts';
import { locations, pharmacies } from './locations.ts';
import { orders } from './orders.ts';
import { patients } from './patients.ts';
import {
  addGuarantor,
  createPatient,
  requestEligibility,
  setResponsibleParty,
  updatePatient,
} from './patientWrites.ts';
import { providers } from './providers.ts';
import { appointments, getAppointment, scheduleBlocks } from './schedule.ts';
import { openSession } from './session.ts';
import { signIn } from './signIn.ts';
import { staff } from './staff.ts';
import {
  addPatientPharmacy,
  addRefill,
  addTelephoneAction,
  createAppointment,
  createTelephoneEncounter,
  uploadDocument,
} from './writes.ts';

const offers = [
  'listProviders',
  'listStaff',
  'listLocations',
  'listPharmacies',
  'listPatients',
  'listInsuranceProviders',
  'listReferringProviders',
  'listVisitTypes',
  'listVisitStatuses',
  'listAppointments',
  'listScheduleBlocks',
  'listClaims',
  'listOrders',
  'getCodeLists',
  'getAppointment',
  'findPatient',
  'listMedications',
  'listPatientPharmacies',
  'searchPatients',
  'listEncounters',
  'listGuarantors',
  'getBalances',
  'getAlerts',
  'listPatientInsurances',
  'addPatientPharmacy',
  'createTelephoneEncounter',
  'addRefill',
  'addTelephoneAction',
  'uploadDocument',
  'createAppointment',
  'createPatient',
  'updatePatient',
  'addPatientInsurance',
  'updatePatientInsurance',
  'addGuarantor',
  'setResponsibleParty',
  'requestEligibility',
] as const satisfies readonly OperationName[];

export const larkspur: Connector = {
  name: 'larkspur',
  display_name: 'Larkspur',
  credential_fields: [
    { name: 'username', label: 'User name', secret: false, autocomplete: 'username' },
    { name: 'password', label: 'Password', secret: true, autocomplete: 'current-password' },
  ],
  limits: { parallel_max: 4 },
  restricted_fields: true,
  // The parser gives every address a path of '/', and takes the '?' of an empty query into `href` alone.
  refuseAddress: (url) =>
    url.pathname === '/' && !url.href.includes('?') ? undefined : 'must be the address of the practice without a path.',
  signIn,
  offers,
  open: (door, access): Pick<Operations, (typeof offers)[number]> => {
    const ask = openSession(door, access);
    return {
      listProviders: () => pages(ask, providers),
      listStaff: () => pages(ask, staff),
      listLocations: () => pages(ask, locations),
      listPharmacies: () => pages(ask, pharmacies),
      listPatients: () => pages(ask, patients),
      listInsuranceProviders: () => pages(ask, insuranceProviders),
      listReferringProviders: () => pages(ask, referringProviders),
      listVisitTypes: () => pages(ask, visitTypes),
      listVisitStatuses: () => pages(ask, visitStatuses),
      listAppointments: () => pages(ask, appointments),
      listScheduleBlocks: () => pages(ask, scheduleBlocks),
      listClaims: () => pages(ask, claims),
      listOrders: () => pages(ask, orders),
      getCodeLists: () => getCodeLists(ask),
      getAppointment: (ehr_id) => getAppointment(ask, ehr_id),
      findPatient: (mrn) => findPatient(ask, mrn),
      listMedications: (patient_ehr_id) => listMedications(ask, patient_ehr_id),
      listPatientPharmacies: (patient_ehr_id) => listPatientPharmacies(ask, patient_ehr_id),
      searchPatients: (search) => searchPatients(ask, search),
      listEncounters: (patient_ehr_id) => listEncounters(ask, patient_ehr_id),
      listGuarantors: (patient_ehr_id) => listGuarantors(ask, patient_ehr_id),
      getBalances: (patient_ehr_id) => getBalances(ask, patient_ehr_id),
      getAlerts: (patient_ehr_id) => getAlerts(ask, patient_ehr_id),
      listPatientInsurances: (patient_ehr_id) => listPatientInsurances(ask, patient_ehr_id),
      addPatientPharmacy: addPatientPharmacy(ask),
      createTelephoneEncounter: createTelephoneEncounter(ask),
      addRefill: addRefill(ask),
      addTelephoneAction: addTelephoneAction(ask),
      uploadDocument: uploadDocument(ask),
      createAppointment: createAppointment(ask),
      createPatient: createPatient(ask),
      updatePatient: updatePatient(ask),
      addPatientInsurance: addPatientInsurance(ask),
      updatePatientInsurance: updatePatientInsurance(ask),
      addGuarantor: addGuarantor(ask),
      setResponsibleParty: setResponsibleParty(ask),
      requestEligibility: requestEligibility(ask),
    };
  },
};

import type { Connector } from '../connector.ts';
import { bindOperations, type Implementations, operationNames } from '../implementations.ts';
import { findPatient, listMedications, listPatientPharmacies } from './charts.ts';
import { claims } from './claims.ts';
import { getCodeLists, visitStatuses, visitTypes } from './codeLists.ts';
import { addPatientInsurance, updatePatientInsurance } from './insuranceWrites.ts';
import { type List, readPages } from './lists.ts';
import {
  getAlerts,
  getBalances,
  listEncounters,
  listGuarantors,
  listPatientInsurances,
  searchPatients,
} from './liveChart.ts';
import { orders } from './orders.ts';
import { insuranceProviders, locations, pharmacies } from './organizations.ts';
import { patients } from './patients.ts';
import {
  addGuarantor,
  createPatient,
  requestEligibility,
  setResponsibleParty,
  updatePatient,
} from './patientWrites.ts';
import { findReferringProviders, providers, referringProviders, staff } from './providers.ts';
import { appointments, getAppointment, scheduleBlocks } from './schedule.ts';
import { openSession, type SendRequest } from './session.ts';
import { checkProduct, signIn, signOut } from './signIn.ts';
import {
  addPatientPharmacy,
  addRefill,
  addTelephoneAction,
  createAppointment,
  createTelephoneEncounter,
  uploadDocument,
} from './writes.ts';

const operations: Implementations<SendRequest> = {
  listProviders: listing(providers),
  listStaff: listing(staff),
  listLocations: listing(locations),
  listPharmacies: listing(pharmacies),
  listPatients: listing(patients),
  listInsuranceProviders: listing(insuranceProviders),
  listReferringProviders: listing(referringProviders),
  listVisitTypes: listing(visitTypes),
  listVisitStatuses: listing(visitStatuses),
  listAppointments: listing(appointments),
  listScheduleBlocks: listing(scheduleBlocks),
  listClaims: listing(claims),
  listOrders: listing(orders),
  getCodeLists: (request) => () => getCodeLists(request),
  getAppointment: reading(getAppointment),
  findPatient: reading(findPatient),
  listMedications: reading(listMedications),
  listPatientPharmacies: reading(listPatientPharmacies),
  searchPatients: reading(searchPatients),
  findReferringProviders: reading(findReferringProviders),
  listEncounters: reading(listEncounters),
  listGuarantors: reading(listGuarantors),
  getBalances: reading(getBalances),
  getAlerts: reading(getAlerts),
  listPatientInsurances: reading(listPatientInsurances),
  addPatientPharmacy,
  createTelephoneEncounter,
  addRefill,
  addTelephoneAction,
  uploadDocument,
  createAppointment,
  createPatient,
  updatePatient,
  addPatientInsurance,
  updatePatientInsurance,
  addGuarantor,
  setResponsibleParty,
  requestEligibility,
};

export const larkspur: Connector = {
  name: 'larkspur',
  display_name: 'Larkspur',
  credential_fields: [
    { name: 'username', label: 'Username', secret: false, autocomplete: 'username' },
    { name: 'password', label: 'Password', secret: true, autocomplete: 'current-password' },
  ],
  limits: { parallel_max: 4 },
  unsupported_fields: {},
  // The parser gives every address a path of '/', and shows the '?' of an empty query only in `href`.
  refuseAddress: (url) =>
    url.pathname === '/' && !url.href.includes('?') ? undefined : 'must be the address of the practice without a path.',
  describeServer: async (endpoint) => {
    await checkProduct(endpoint);
    return { capabilities: operationNames(operations) };
  },
  code_digits: 6,
  sandbox_codes_path: '/codes',
  signIn,
  signOut,
  capabilities: operationNames(operations),
  open: (endpoint, access) => bindOperations(operations, openSession(endpoint, access)),
};

function listing<Row, Source extends { ehr_id: string }>(defineList: List<Row, Source>) {
  return (request: SendRequest) => () => readPages(request, defineList);
}

function reading<Key, Result>(read: (request: SendRequest, key: Key) => Promise<Result>) {
  return (request: SendRequest) => (key: Key) => read(request, key);
}

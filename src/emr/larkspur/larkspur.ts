import type { Connector } from '../connector.ts';
import { bindOperations, type Implementations, operationNames } from '../implementations.ts';
import {
  appointments,
  createAppointment,
  getAppointment,
  scheduleBlocks,
  visitStatuses,
  visitTypes,
} from './appointments.ts';
import { getCodeLists } from './changes.ts';
import { getAlerts, getBalances, listMedications, uploadDocument } from './chart.ts';
import { claims } from './claims.ts';
import { addRefill, addTelephoneAction, createTelephoneEncounter, listEncounters } from './encounters.ts';
import { addGuarantor, listGuarantors, setResponsibleParty } from './guarantors.ts';
import { addPatientInsurance, listPatientInsurances, updatePatientInsurance } from './insurances.ts';
import { type List, readPages } from './lists.ts';
import { orders } from './orders.ts';
import {
  addPatientPharmacy,
  insuranceProviders,
  listPatientPharmacies,
  locations,
  pharmacies,
} from './organizations.ts';
import { findPatient, patients, searchPatients } from './patients.ts';
import { createPatient, requestEligibility, updatePatient } from './patientWrites.ts';
import { findReferringProviders, providers, referringProviders, staff } from './providers.ts';
import { checkProduct, openSession, type SendRequest, signIn, signOut } from './session.ts';

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

function listing<Row, Source extends { ehr_id: string }>(list: List<Row, Source>) {
  return (request: SendRequest) => () => readPages(request, list);
}

function reading<Key, Result>(read: (request: SendRequest, key: Key) => Promise<Result>) {
  return (request: SendRequest) => (key: Key) => read(request, key);
}

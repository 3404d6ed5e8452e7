import type { Capability, Connector, EmrWrite, OperationName, Operations } from '../connector.ts';
import { operationNames } from '../implementations.ts';
import type { FieldCapability, FieldOperation } from '../writeInputs.ts';
import { appointments, getAppointment, listVisitStatuses, visitTypes } from './appointments/appointments.ts';
import { createAppointment } from './appointments/booking.ts';
import { scheduleBlocks } from './appointments/hours.ts';
import { getAlerts } from './chart/alerts.ts';
import { uploadDocument } from './chart/documents.ts';
import { addRefill, listMedications } from './chart/medications.ts';
import { orders } from './chart/orders.ts';
import { claims } from './claims/claims.ts';
import { getBalances } from './coverage/accounts.ts';
import { listPatientInsurances } from './coverage/coverage.ts';
import { addPatientInsurance, updatePatientInsurance } from './coverage/coverageWrites.ts';
import {
  addGuarantor,
  guarantor_fields,
  guarantor_requires,
  listGuarantors,
  responsible_party_requires,
  setResponsibleParty,
} from './coverage/guarantors.ts';
import { listEncounters } from './encounters/encounters.ts';
import { addTelephoneAction, createTelephoneEncounter } from './encounters/telephoneEncounters.ts';
import { incrementalList, plainList } from './lists.ts';
import { changed_referral, named_doctor, new_referral, referral_fields } from './patients/doctors.ts';
import { findPatient, patients, searchPatients } from './patients/patients.ts';
import { createPatient, insurance_fields, updatePatient } from './patients/patientWrites.ts';
import { locations } from './practice/locations.ts';
import { insuranceProviders } from './practice/organizations.ts';
import {
  added_pharmacy,
  addPatientPharmacy,
  listPatientPharmacies,
  new_patient_pharmacy,
  pharmacies,
} from './practice/pharmacies.ts';
import {
  findReferringProviders,
  listPractitioners,
  providers,
  referringProviders,
  staff,
} from './practice/providers.ts';
import type { Emr } from './references.ts';
import {
  type Capabilities,
  can,
  lists,
  meetsAll,
  type Requirement,
  reads,
  searches,
  stores,
  us_core_patient,
} from './transport/capabilities.ts';

/**
 * Every operation that a FHIR server may support. `requires` names only what the operation cannot work without:
 * optional additions (the insurance of a patient, the results of an order) are left out where the server lacks them.
 */
export const operations: {
  [Name in OperationName]?: { requires: readonly Requirement[]; open: (emr: Emr) => Operations[Name] };
} = {
  listProviders: { requires: [lists('Practitioner')], open: (emr) => listPractitioners(emr, providers) },
  listStaff: { requires: [lists('Practitioner')], open: (emr) => listPractitioners(emr, staff) },
  listReferringProviders: {
    requires: [lists('Practitioner')],
    open: (emr) => listPractitioners(emr, referringProviders),
  },
  listLocations: { requires: [lists('Location')], open: (emr) => plainList(emr, locations(emr)) },
  listPharmacies: { requires: [lists('Organization')], open: pharmacies },
  listInsuranceProviders: { requires: [lists('Organization')], open: (emr) => plainList(emr, insuranceProviders) },
  listPatients: { requires: [lists('Patient')], open: (emr) => incrementalList(emr, patients) },
  listVisitTypes: { requires: [searches('Appointment')], open: visitTypes },
  listVisitStatuses: { requires: [searches('Appointment')], open: () => listVisitStatuses },
  listAppointments: { requires: [lists('Appointment')], open: (emr) => incrementalList(emr, appointments) },
  listScheduleBlocks: {
    requires: [lists('Practitioner'), searches('Schedule', 'actor'), searches('Slot', 'schedule', 'start')],
    open: scheduleBlocks,
  },
  listClaims: { requires: [lists('Claim'), reads('Patient')], open: (emr) => incrementalList(emr, claims) },
  listOrders: { requires: [lists('ServiceRequest'), reads('Patient')], open: (emr) => incrementalList(emr, orders) },
  getAppointment: { requires: [reads('Appointment')], open: byKey(getAppointment) },
  findPatient: { requires: [searches('Patient', 'identifier'), reads('Patient')], open: byKey(findPatient) },
  searchPatients: {
    requires: [searches('Patient', 'identifier', 'birthdate', 'given', 'family', 'phone|telecom'), reads('Patient')],
    open: byKey(searchPatients),
  },
  findReferringProviders: { requires: named_doctor, open: byKey(findReferringProviders) },
  listMedications: {
    requires: [{ ...searches('MedicationRequest', 'patient'), or: searches('MedicationStatement', 'patient') }],
    open: byKey(listMedications),
  },
  listPatientPharmacies: {
    requires: [{ ...searches('MedicationRequest', 'patient'), or: reads('Patient') }],
    open: byKey(listPatientPharmacies),
  },
  listGuarantors: { requires: [searches('RelatedPerson', 'patient')], open: byKey(listGuarantors) },
  getBalances: {
    requires: [{ ...searches('Invoice', 'patient|subject'), or: searches('Account', 'patient|subject') }],
    open: byKey(getBalances),
  },
  listEncounters: { requires: [searches('Encounter', 'patient')], open: byKey(listEncounters) },
  listPatientInsurances: {
    requires: [searches('Coverage', 'beneficiary|patient')],
    open: byKey(listPatientInsurances),
  },
  getAlerts: { requires: [searches('Flag', 'patient')], open: byKey(getAlerts) },
  createAppointment: { requires: [can('Appointment', 'create')], open: createAppointment },
  uploadDocument: { requires: [can('DocumentReference', 'create')], open: uploadDocument },
  createTelephoneEncounter: {
    requires: [stores('Encounter'), { ...stores('Task'), or: stores('Communication') }],
    open: createTelephoneEncounter,
  },
  addTelephoneAction: {
    requires: [reads('Encounter'), { ...stores('Communication'), or: stores('Task') }],
    open: addTelephoneAction,
  },
  addRefill: {
    requires: [reads('Encounter'), reads('MedicationRequest'), { ...stores('MedicationRequest'), or: stores('Task') }],
    open: addRefill,
  },
  createPatient: { requires: [can('Patient', 'create')], open: createPatient },
  updatePatient: { requires: [can('Patient', 'read', 'update')], open: updatePatient },
  addPatientPharmacy: { requires: added_pharmacy, open: addPatientPharmacy },
  addGuarantor: { requires: guarantor_requires, open: addGuarantor },
  setResponsibleParty: { requires: responsible_party_requires, open: setResponsibleParty },
  addPatientInsurance: {
    requires: [can('Coverage', 'create'), reads('Organization')],
    open: addPatientInsurance,
  },
  updatePatientInsurance: {
    requires: [can('Coverage', 'read', 'update'), reads('Organization')],
    open: updatePatientInsurance,
  },
};

/** Fields that a server can only store, or check, with something that not every server has. */
export const server_fields: Readonly<Record<FieldCapability, readonly Requirement[]>> = {
  // FHIR's way of assigning work, and of giving it a priority, is a Task.
  'uploadDocument.emr_assigned_to_id': [can('Task', 'create')],
  'uploadDocument.is_high_priority': [can('Task', 'create')],
  'searchPatients.include': [searches('Coverage', 'beneficiary|patient')],
  'createAppointment.prevent_double_booking': [searches('Appointment', 'date')],
  'createAppointment.secondary_provider': [{ ...can('Appointment', 'create'), books_people: true }],
  ...requireFor('createPatient', insurance_fields, [can('Coverage', 'create')]),
  'createPatient.insurance_provider_id': [can('Coverage', 'create'), searches('Coverage', 'payor')],
  // Servers may drop elements that they do not know. They keep those that they search by or name a profile for.
  'createPatient.language': [searches('Patient', 'language')],
  ...requireFor('createPatient', ['race', 'ethnicity'], [{ ...can('Patient', 'create'), profile: us_core_patient }]),
  'createPatient.pcp_id': [searches('Patient', 'general-practitioner')],
  'updatePatient.pcp_id': [searches('Patient', 'general-practitioner')],
  ...requireFor(
    'updatePatient',
    ['pcp_first_name', 'pcp_last_name'],
    [searches('Patient', 'general-practitioner'), ...named_doctor],
  ),
  ...requireFor('createPatient', guarantor_fields, guarantor_requires),
  ...requireFor('createPatient', referral_fields, new_referral),
  ...requireFor('updatePatient', referral_fields, changed_referral),
  'createPatient.pharmacy_id': new_patient_pharmacy,
  // A subscriber other than the patient is a record of its own.
  'addPatientInsurance.subscriber_demographics': [can('RelatedPerson', 'create')],
  'updatePatientInsurance.subscriber_demographics': [can('RelatedPerson', 'create')],
};

/**
 * The fields that FHIR R4 has no place for, and those that the interface restricts to other EMRs. Requests with one of
 * them are rejected.
 */
export const unsupported_fields: Connector['unsupported_fields'] = {
  createPatient: [
    'no_email_reason',
    'check_eligibility',
    'release_of_info',
    'rx_history_consent',
    'self_pay',
    'default_facility_id',
  ],
  updatePatient: ['save_previous_address'],
  createAppointment: ['new_patient'],
  uploadDocument: ['template_name'],
  createTelephoneEncounter: ['template_name'],
};

export function fieldNames(fields: typeof server_fields): FieldCapability[] {
  // The type of the table allows no other keys.
  return Object.keys(fields) as FieldCapability[];
}

/** The operations that a server with these capabilities supports, and the fields that not every server can store. */
export function supportedCapabilities(capabilities: Capabilities): Capability[] {
  const names = supportedOperations(capabilities);
  const fields = fieldNames(server_fields).filter(
    (field) => names.some((name) => field.startsWith(`${name}.`)) && meetsAll(capabilities, server_fields[field] ?? []),
  );
  return [...names, ...fields];
}

/** The operations that a server with these capabilities supports. */
export function supportedOperations(capabilities: Capabilities): OperationName[] {
  return operationNames(operations).filter((name) => meetsAll(capabilities, operations[name]?.requires ?? []));
}

export function openOperations(emr: Emr): Partial<Operations> {
  const names = supportedOperations(emr.client.capabilities);
  return Object.fromEntries(names.map((name) => [name, announceWrites(emr, operations[name]?.open(emr))]));
}

/** Writes first read what they refer to, which may take seconds, and announce when they send something. */
function announceWrites(emr: Emr, operation: unknown): unknown {
  // Writes are the only operations that are objects.
  if (typeof operation !== 'object' || operation === null) return operation;
  const write = operation as EmrWrite<unknown, unknown>;
  return {
    ...write,
    announces: true,
    send: (input, marker, sending) => emr.client.announce(sending, () => write.send(input, marker)),
  } satisfies EmrWrite<unknown, unknown>;
}

function requireFor(
  operation: FieldOperation,
  fields: readonly string[],
  requirements: readonly Requirement[],
): Record<FieldCapability, readonly Requirement[]> {
  return Object.fromEntries(fields.map((field) => [`${operation}.${field}`, requirements]));
}

function byKey<Key, Result>(operation: (emr: Emr, key: Key) => Promise<Result>) {
  return (emr: Emr) => (key: Key) => operation(emr, key);
}

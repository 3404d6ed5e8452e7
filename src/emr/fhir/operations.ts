import type { Capability, EmrWrite, OperationName, Operations } from '../connector.ts';
import type { FieldCapability, FieldOperation } from '../fields.ts';
import { operationNames } from '../operations.ts';
import { getBalances } from './charts/balances.ts';
import { listPatientInsurances } from './charts/coverage.ts';
import { listGuarantors } from './charts/guarantors.ts';
import { getAlerts, listEncounters, listMedications } from './charts/liveChart.ts';
import { listPatientPharmacies } from './charts/pharmacies.ts';
import { searchPatients } from './charts/searchPatients.ts';
import { appointments, getAppointment } from './lists/appointments.ts';
import { claims } from './lists/claims.ts';
import { scheduleBlocks } from './lists/hours.ts';
import { locations } from './lists/locations.ts';
import { orders } from './lists/orders.ts';
import { insuranceProviders, pharmacies, plainList } from './lists/organizations.ts';
import { findPatient, patients } from './lists/patients.ts';
import { findReferringProviders, listPractitioners, providers, referringProviders, staff } from './lists/providers.ts';
import { incrementalList } from './lists/readList.ts';
import { listVisitStatuses, visitTypes } from './lists/visitCodes.ts';
import type { Emr } from './references.ts';
import { can, list, meetsAll, type Requirement, read, search, stored } from './requirements.ts';
import { type Capabilities, us_core_patient } from './transport/capabilities.ts';
import { addRefill } from './writes/addRefill.ts';
import { createAppointment } from './writes/createAppointment.ts';
import { named_doctor } from './writes/doctors.ts';
import {
  addGuarantor,
  guarantor_fields,
  guarantor_requires,
  responsible_party_requires,
  setResponsibleParty,
} from './writes/guarantors.ts';
import { addPatientInsurance, updatePatientInsurance } from './writes/insuranceWrites.ts';
import { createPatient, insurance_fields, updatePatient } from './writes/patientWrites.ts';
import { added_pharmacy, addPatientPharmacy, new_patient_pharmacy } from './writes/pharmacyWrites.ts';
import { changed_referral, new_referral, referral_fields } from './writes/referrals.ts';
import { addTelephoneAction, createTelephoneEncounter } from './writes/telephoneEncounters.ts';
import { uploadDocument } from './writes/uploadDocument.ts';

/**
 * Every operation that a FHIR server may support. `requires` names only what the operation cannot work without:
 * optional additions (the insurance of a patient, the results of an order) are left out where the server lacks them.
 */
export const operations: {
  [Name in OperationName]?: { requires: readonly Requirement[]; open: (emr: Emr) => Operations[Name] };
} = {
  listProviders: { requires: [list('Practitioner')], open: (emr) => listPractitioners(emr, providers) },
  listStaff: { requires: [list('Practitioner')], open: (emr) => listPractitioners(emr, staff) },
  listReferringProviders: {
    requires: [list('Practitioner')],
    open: (emr) => listPractitioners(emr, referringProviders),
  },
  listLocations: { requires: [list('Location')], open: (emr) => plainList(emr, locations(emr)) },
  listPharmacies: { requires: [list('Organization')], open: pharmacies },
  listInsuranceProviders: { requires: [list('Organization')], open: (emr) => plainList(emr, insuranceProviders) },
  listPatients: { requires: [list('Patient')], open: (emr) => incrementalList(emr, patients) },
  listVisitTypes: { requires: [search('Appointment')], open: visitTypes },
  listVisitStatuses: { requires: [search('Appointment')], open: () => listVisitStatuses },
  listAppointments: { requires: [list('Appointment')], open: (emr) => incrementalList(emr, appointments) },
  listScheduleBlocks: {
    requires: [list('Practitioner'), search('Schedule', 'actor'), search('Slot', 'schedule', 'start')],
    open: scheduleBlocks,
  },
  listClaims: { requires: [list('Claim'), read('Patient')], open: (emr) => incrementalList(emr, claims) },
  listOrders: { requires: [list('ServiceRequest'), read('Patient')], open: (emr) => incrementalList(emr, orders) },
  getAppointment: { requires: [read('Appointment')], open: byKey(getAppointment) },
  findPatient: { requires: [search('Patient', 'identifier'), read('Patient')], open: byKey(findPatient) },
  searchPatients: {
    requires: [search('Patient', 'identifier', 'birthdate', 'given', 'family', 'phone|telecom'), read('Patient')],
    open: byKey(searchPatients),
  },
  findReferringProviders: { requires: named_doctor, open: byKey(findReferringProviders) },
  listMedications: {
    requires: [{ ...search('MedicationRequest', 'patient'), or: search('MedicationStatement', 'patient') }],
    open: byKey(listMedications),
  },
  listPatientPharmacies: {
    requires: [{ ...search('MedicationRequest', 'patient'), or: read('Patient') }],
    open: byKey(listPatientPharmacies),
  },
  listGuarantors: { requires: [search('RelatedPerson', 'patient')], open: byKey(listGuarantors) },
  getBalances: {
    requires: [{ ...search('Invoice', 'patient|subject'), or: search('Account', 'patient|subject') }],
    open: byKey(getBalances),
  },
  listEncounters: { requires: [search('Encounter', 'patient')], open: byKey(listEncounters) },
  listPatientInsurances: { requires: [search('Coverage', 'beneficiary|patient')], open: byKey(listPatientInsurances) },
  getAlerts: { requires: [search('Flag', 'patient')], open: byKey(getAlerts) },
  createAppointment: { requires: [can('Appointment', 'create')], open: createAppointment },
  uploadDocument: { requires: [can('DocumentReference', 'create')], open: uploadDocument },
  createTelephoneEncounter: {
    requires: [stored('Encounter'), { ...stored('Task'), or: stored('Communication') }],
    open: createTelephoneEncounter,
  },
  addTelephoneAction: {
    requires: [read('Encounter'), { ...stored('Communication'), or: stored('Task') }],
    open: addTelephoneAction,
  },
  addRefill: {
    requires: [read('Encounter'), read('MedicationRequest'), { ...stored('MedicationRequest'), or: stored('Task') }],
    open: addRefill,
  },
  createPatient: { requires: [can('Patient', 'create')], open: createPatient },
  updatePatient: { requires: [can('Patient', 'read', 'update')], open: updatePatient },
  addPatientPharmacy: { requires: added_pharmacy, open: addPatientPharmacy },
  addGuarantor: { requires: guarantor_requires, open: addGuarantor },
  setResponsibleParty: { requires: responsible_party_requires, open: setResponsibleParty },
  addPatientInsurance: {
    requires: [can('Coverage', 'create'), read('Organization')],
    open: addPatientInsurance,
  },
  updatePatientInsurance: {
    requires: [can('Coverage', 'read', 'update'), read('Organization')],
    open: updatePatientInsurance,
  },
};

/** Fields that a server can only store, or check, with something that not every server has. */
export const server_fields: Readonly<Record<FieldCapability, readonly Requirement[]>> = {
  // FHIR's way of assigning work, and of giving it a priority, is a Task.
  'uploadDocument.emr_assigned_to_id': [can('Task', 'create')],
  'uploadDocument.is_high_priority': [can('Task', 'create')],
  'searchPatients.include': [search('Coverage', 'beneficiary|patient')],
  'createAppointment.prevent_double_booking': [search('Appointment', 'date')],
  'createAppointment.secondary_provider': [{ ...can('Appointment', 'create'), books_people: true }],
  ...requireFor('createPatient', insurance_fields, [can('Coverage', 'create')]),
  'createPatient.insurance_provider_id': [can('Coverage', 'create'), search('Coverage', 'payor')],
  // Servers may drop elements that they do not know. They keep those that they search by or name a profile for.
  'createPatient.language': [search('Patient', 'language')],
  ...requireFor('createPatient', ['race', 'ethnicity'], [{ ...can('Patient', 'create'), profile: us_core_patient }]),
  'createPatient.pcp_id': [search('Patient', 'general-practitioner')],
  'updatePatient.pcp_id': [search('Patient', 'general-practitioner')],
  ...requireFor(
    'updatePatient',
    ['pcp_first_name', 'pcp_last_name'],
    [search('Patient', 'general-practitioner'), ...named_doctor],
  ),
  ...requireFor('createPatient', guarantor_fields, guarantor_requires),
  ...requireFor('createPatient', referral_fields, new_referral),
  ...requireFor('updatePatient', referral_fields, changed_referral),
  'createPatient.pharmacy_id': new_patient_pharmacy,
  // A subscriber other than the patient is a record of its own.
  'addPatientInsurance.subscriber_demographics': [can('RelatedPerson', 'create')],
  'updatePatientInsurance.subscriber_demographics': [can('RelatedPerson', 'create')],
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
  return Object.fromEntries(names.map((name) => [name, announcing(emr, operations[name]?.open(emr))]));
}

/** Writes read what they refer to first, which may take seconds: they say when they send something. */
function announcing(emr: Emr, operation: unknown): unknown {
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

import type { Capability, OperationName, Operations } from '../connector.ts';
import type { FieldCapability, FieldOperation } from '../fields.ts';
import { operationNames } from '../operations.ts';
import { listPatientInsurances } from './charts/coverage.ts';
import { getAlerts, listEncounters, listMedications } from './charts/liveChart.ts';
import { searchPatients } from './charts/searchPatients.ts';
import { appointments, getAppointment } from './lists/appointments.ts';
import { claims } from './lists/claims.ts';
import { scheduleBlocks } from './lists/hours.ts';
import { orders } from './lists/orders.ts';
import { insuranceProviders, listPatientPharmacies, locations, pharmacies, plainList } from './lists/organizations.ts';
import { findPatient, patients } from './lists/patients.ts';
import { listPractitioners, providers, referringProviders, staff } from './lists/providers.ts';
import { incrementalList } from './lists/readList.ts';
import { listVisitStatuses, visitTypes } from './lists/visitCodes.ts';
import type { Emr } from './references.ts';
import { type Capabilities, type Interaction, us_core_patient } from './transport/capabilities.ts';
import { addRefill } from './writes/addRefill.ts';
import { createAppointment } from './writes/createAppointment.ts';
import { addPatientInsurance, updatePatientInsurance } from './writes/insuranceWrites.ts';
import { createPatient, insurance_fields, updatePatient } from './writes/patientWrites.ts';
import { addTelephoneAction, createTelephoneEncounter } from './writes/telephoneEncounters.ts';
import { uploadDocument } from './writes/uploadDocument.ts';

/**
 * What a server must support for an operation to be offered. `a|b`: either parameter will do. `all`: the server must
 * return all records of the type to a search without criteria.
 */
export type Requirement = {
  type: string;
  interactions: readonly Interaction[];
  params?: readonly string[];
  all?: true;
  /** The statement must name this profile. */
  profile?: string;
  /** The server must take appointments with other participants than the patient. */
  books_people?: true;
  /** What will do instead. */
  or?: Requirement;
};

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
  listLocations: { requires: [list('Location')], open: (emr) => plainList(emr, locations) },
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
  listMedications: { requires: [search('MedicationRequest', 'patient')], open: byKey(listMedications) },
  listPatientPharmacies: { requires: [search('MedicationRequest', 'patient')], open: byKey(listPatientPharmacies) },
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
  // Servers store elements that they do not know, or drop them. What they search by, or name a profile for, they keep.
  'createPatient.language': [search('Patient', 'language')],
  ...requireFor('createPatient', ['race', 'ethnicity'], [{ ...can('Patient', 'create'), profile: us_core_patient }]),
  'createPatient.pcp_id': [search('Patient', 'general-practitioner')],
  'updatePatient.pcp_id': [search('Patient', 'general-practitioner')],
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
    (field) =>
      names.some((name) => field.startsWith(`${name}.`)) &&
      server_fields[field]?.every((requirement) => meets(capabilities, requirement)),
  );
  return [...names, ...fields];
}

/** The operations that a server with these capabilities supports. */
export function supportedOperations(capabilities: Capabilities): OperationName[] {
  return operationNames(operations).filter((name) =>
    operations[name]?.requires.every((requirement) => meets(capabilities, requirement)),
  );
}

export function openOperations(emr: Emr): Partial<Operations> {
  const names = supportedOperations(emr.client.capabilities);
  return Object.fromEntries(names.map((name) => [name, operations[name]?.open(emr)]));
}

function meets(capabilities: Capabilities, { or, ...requirement }: Requirement): boolean {
  return meetsItself(capabilities, requirement) || (or !== undefined && meets(capabilities, or));
}

function meetsItself(capabilities: Capabilities, requirement: Omit<Requirement, 'or'>): boolean {
  const { type, interactions, params = [], all, profile, books_people } = requirement;
  if (profile !== undefined && !capabilities.hasProfile(type, profile)) return false;
  if (books_people && capabilities.books_by_slot) return false;
  const [supported, known] = [capabilities.interactions(type), capabilities.searchParams(type)];
  // Without versions an update could overwrite a concurrent change, so updates are not offered.
  const safe = !interactions.includes('update') || capabilities.versionedUpdate(type);
  const searchable = params.every((names) => names.split('|').some((name) => known.has(name)));
  return (
    safe && searchable && (!all || capabilities.listsAll(type)) && interactions.every((each) => supported.has(each))
  );
}

function requireFor(
  operation: FieldOperation,
  fields: readonly string[],
  requirements: readonly Requirement[],
): Record<FieldCapability, readonly Requirement[]> {
  return Object.fromEntries(fields.map((field) => [`${operation}.${field}`, requirements]));
}

function list(type: string): Requirement {
  return { ...search(type), all: true };
}

function search(type: string, ...params: string[]): Requirement {
  return { type, interactions: ['search-type'], params };
}

function read(type: string): Requirement {
  return can(type, 'read');
}

/** Records that are created, and found by their marker if the response is lost. */
function stored(type: string): Requirement {
  return { type, interactions: ['create', 'search-type'], params: ['identifier'] };
}

function can(type: string, ...interactions: Interaction[]): Requirement {
  return { type, interactions };
}

function byKey<Key, Result>(operation: (emr: Emr, key: Key) => Promise<Result>) {
  return (emr: Emr) => (key: Key) => operation(emr, key);
}

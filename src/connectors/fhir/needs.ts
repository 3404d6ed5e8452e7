import type { OperationName } from '../connector.ts';
import type { Interaction } from './transport/capabilities.ts';

/**
 * What a server must be able to do for an operation to be offered; `a|b`: one of two parameters will do, `whole`: it must
 * give all records of the type.
 */
export type Need = { type: string; interactions: readonly Interaction[]; params?: readonly string[]; whole?: true };

/**
 * Only what an operation is nothing without: what it merely takes along where there is some (the insurance of a patient,
 * the results of an order) is not asked for here. Reads that a write or a search does besides are.
 */
export const needs = {
  listProviders: [listed('Practitioner')],
  listStaff: [listed('Practitioner')],
  listReferringProviders: [listed('Practitioner')],
  listLocations: [listed('Location')],
  listPharmacies: [listed('Organization')],
  listInsuranceProviders: [listed('Organization')],
  listPatients: [listed('Patient')],
  listVisitTypes: [searched('Appointment')],
  listVisitStatuses: [searched('Appointment')],
  listAppointments: [listed('Appointment')],
  listScheduleBlocks: [listed('Practitioner'), searched('Schedule', 'actor'), searched('Slot', 'schedule', 'start')],
  listClaims: [listed('Claim'), read('Patient')],
  listOrders: [listed('ServiceRequest'), read('Patient')],
  getAppointment: [read('Appointment')],
  findPatient: [searched('Patient', 'identifier'), read('Patient')],
  searchPatients: [searched('Patient', 'identifier', 'birthdate', 'given', 'family', 'phone|telecom'), read('Patient')],
  listMedications: [searched('MedicationRequest', 'patient')],
  listPatientPharmacies: [searched('MedicationRequest', 'patient')],
  listEncounters: [searched('Encounter', 'patient')],
  listPatientInsurances: [searched('Coverage', 'beneficiary|patient')],
  getAlerts: [searched('Flag', 'patient')],
  createAppointment: [can('Appointment', 'create')],
  uploadDocument: [can('DocumentReference', 'create')],
  createPatient: [can('Patient', 'create'), can('Coverage', 'create')],
  updatePatient: [can('Patient', 'read', 'update')],
  addPatientInsurance: [can('Coverage', 'create'), can('RelatedPerson', 'create'), read('Organization')],
  updatePatientInsurance: [can('Coverage', 'read', 'update'), can('RelatedPerson', 'create'), read('Organization')],
} satisfies Partial<Record<OperationName, readonly Need[]>>;

function listed(type: string): Need {
  return { ...searched(type), whole: true };
}

function searched(type: string, ...params: string[]): Need {
  return { type, interactions: ['search-type'], params };
}

function read(type: string): Need {
  return can(type, 'read');
}

function can(type: string, ...interactions: Interaction[]): Need {
  return { type, interactions };
}

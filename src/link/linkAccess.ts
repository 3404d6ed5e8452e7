import type { Capability, OperationName } from '../connectors/connector.ts';

/** What an account can do in the EMR, as Link says it to people. `known`: as stated by this server. */
export type LinkAccess = { known: boolean; reads: ReadSubject[]; writes: WriteSubject[] };

export type ReadSubject = keyof typeof reads;
export type WriteSubject = keyof typeof writes;

/** Link's page has a text for each of them; one of its operations is enough. */
const reads = {
  patients: ['listPatients', 'searchPatients', 'findPatient'],
  insurance: ['listPatientInsurances'],
  medications: ['listMedications'],
  orders: ['listOrders'],
  visits: ['listEncounters'],
  balances: ['getBalances'],
  appointments: ['listAppointments'],
  schedules: ['listScheduleBlocks'],
  claims: ['listClaims'],
  providers: ['listProviders', 'listReferringProviders'],
  staff: ['listStaff'],
  locations: ['listLocations'],
  pharmacies: ['listPharmacies'],
} as const satisfies Record<string, readonly OperationName[]>;

const writes = {
  patients: ['createPatient', 'updatePatient', 'addGuarantor', 'setResponsibleParty', 'addPatientPharmacy'],
  insurance: ['addPatientInsurance', 'updatePatientInsurance', 'requestEligibility'],
  appointments: ['createAppointment'],
  documents: ['uploadDocument'],
  messages: ['createTelephoneEncounter', 'addTelephoneAction'],
  refills: ['addRefill'],
} as const satisfies Record<string, readonly OperationName[]>;

export function toAccess(capabilities: readonly Capability[], known: boolean): LinkAccess {
  return { known, reads: subjects(reads, capabilities), writes: subjects(writes, capabilities) };
}

function subjects<Subject extends string>(
  table: Record<Subject, readonly Capability[]>,
  capabilities: readonly Capability[],
): Subject[] {
  // The type of the table allows no other keys.
  const names = Object.keys(table) as Subject[];
  return names.filter((name) => table[name].some((operation) => capabilities.includes(operation)));
}

import type { Capability, OperationName } from '../../emr/connector.ts';

/** What an account can do in the EMR, as Link says it to people. `known`: as stated by this server. */
export type LinkAccess = { known: boolean; reads: string[]; writes: string[] };

/**
 * What Link names before anyone signs in, in this order. Complete, so that a new operation does not compile without a
 * decision: consent must not cover less than what happens. The page has a text for each subject. `null`: code lists and
 * names that say nothing about a person.
 */
const subjects: Record<OperationName, `reads ${string}` | `writes ${string}` | null> = {
  listPatients: 'reads patients',
  searchPatients: 'reads patients',
  findPatient: 'reads patients',
  listGuarantors: 'reads patients',
  getAlerts: 'reads patients',
  listPatientPharmacies: 'reads patients',
  listPatientInsurances: 'reads insurance',
  listMedications: 'reads medications',
  listOrders: 'reads orders',
  listEncounters: 'reads visits',
  getBalances: 'reads balances',
  listAppointments: 'reads appointments',
  getAppointment: 'reads appointments',
  listScheduleBlocks: 'reads schedules',
  listClaims: 'reads claims',
  listProviders: 'reads providers',
  listReferringProviders: 'reads providers',
  findReferringProviders: 'reads providers',
  listStaff: 'reads staff',
  listLocations: 'reads locations',
  listPharmacies: 'reads pharmacies',
  listInsuranceProviders: null,
  listVisitTypes: null,
  listVisitStatuses: null,
  getCodeLists: null,
  createPatient: 'writes patients',
  updatePatient: 'writes patients',
  addGuarantor: 'writes patients',
  setResponsibleParty: 'writes patients',
  addPatientPharmacy: 'writes patients',
  addPatientInsurance: 'writes insurance',
  updatePatientInsurance: 'writes insurance',
  requestEligibility: 'writes insurance',
  createAppointment: 'writes appointments',
  uploadDocument: 'writes documents',
  createTelephoneEncounter: 'writes messages',
  addTelephoneAction: 'writes messages',
  addRefill: 'writes refills',
};

export function toAccess(capabilities: readonly Capability[], known: boolean): LinkAccess {
  const offered = Object.entries(subjects).filter(([name]) => capabilities.includes(name as OperationName));
  const named = (kind: 'reads' | 'writes') => {
    const found = offered.flatMap(([, subject]) =>
      subject?.startsWith(`${kind} `) ? [subject.slice(kind.length + 1)] : [],
    );
    return [...new Set(found)];
  };
  return { known, reads: named('reads'), writes: named('writes') };
}

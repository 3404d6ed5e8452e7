import { fold, isSameName } from '../model/fold.ts';
import type { LiveAlerts, LiveEncounter, LiveGuarantor, LiveInsurance, LivePharmacy } from '../model/liveChart.ts';
import type { AppointmentSource } from '../model/records/appointments.ts';
import type { Kind, SourceOf } from '../model/records/kinds.ts';
import type { PatientSource } from '../model/records/patients.ts';
import type { CodeLists } from '../model/settings.ts';
import type {
  FieldCapability,
  InsuranceUpdate,
  NewAppointment,
  NewInsurance,
  NewPatient,
  PatientUpdate,
  Payer,
  Saved,
} from './writeInputs.ts';

/**
 * A write to the EMR. The EMR stores our marker with the record, so that `find` can tell after a lost response whether
 * the write arrived. Without `find`, a lost response requires a manual check.
 */
export type EmrWrite<Input, Output> = {
  send: (input: Input, marker: string, sending?: () => Promise<void>) => Promise<Output>;
  /**
   * `send` calls `sending` right before its first request that may change something, and waits for it. Until then nothing
   * has to be looked up after a crash. Absent: `send` may change something from its start.
   */
  announces?: true;
  find?: (marker: string, input: Input) => Promise<Output | undefined>;
};

export type EmrMedication = {
  ehr_id: string;
  name: string;
  strength: string | null;
  frequency: string | null;
  /** YYYY-MM-DD */
  start_date: string | null;
  refills: string | null;
  notes: string | null;
  active: boolean;
};
/** A pharmacy on a patient's list. */
export type EmrPatientPharmacy = { ehr_id: string } & Omit<LivePharmacy, 'pharmacy_id'>;
/** `cancelled`: the visit did not take place and will not: cancelled, missed or moved. */
export type EmrEncounter = LiveEncounter & { cancelled: boolean };
/**
 * Search criteria. All given criteria must match. Names are compared as a whole by `fold` (model/fold.ts), never by
 * prefix: a single match is taken for the patient who was searched for.
 */
export type PatientSearch = {
  dob?: string | undefined;
  first_name?: string | undefined;
  last_name?: string | undefined;
  phone?: string | undefined;
  mrn?: string | undefined;
};

/** Names and numbers in EMRs are shorter. A longer one may not fit into a URL. */
const criterion_max = 500;

/** Whether a search finds nobody, whatever the EMR: a blank criterion would otherwise match every patient. */
export function findsNobody(search: PatientSearch): boolean {
  const criteria = Object.values(search).filter((value) => value !== undefined);
  return criteria.length === 0 || criteria.some((value) => value.trim() === '' || value.length > criterion_max);
}

/**
 * Whether a patient has the names of a search, which may have been interpreted more broadly by the EMR. A first name of
 * several words may be stored as first and middle name.
 */
export function hasSearchedName(
  { first_name, middle_name, last_name }: Pick<PatientSource, 'first_name' | 'middle_name' | 'last_name'>,
  search: Pick<PatientSearch, 'first_name' | 'last_name'>,
): boolean {
  const middle_names = fold(middle_name ?? '').split(' ');
  const given_names = [
    first_name,
    ...middle_names.map((_, n) => [first_name, ...middle_names.slice(0, n + 1)].join(' ')),
  ];
  return (
    (search.first_name === undefined || given_names.some((each) => isSameName(each, search.first_name))) &&
    (search.last_name === undefined || isSameName(last_name, search.last_name))
  );
}
export type Written = { ehr_id: string };

/**
 * A page of a list. `through`: everything up to this point has been returned, and a later attempt may resume here
 * (`from`). null: an earlier `through` is no longer valid. `whole`: the pages contain the complete list, although only
 * changes were requested, because this EMR does not tell which of its records changed. `left`: the EMR ids of records
 * that still exist but are no longer part of the list, such as merged charts. They are deleted on our side.
 */
export type ListPage<Source> = Source[] & { through?: string | null; whole?: true; left?: readonly string[] };

/** Reads a list to its end or fails. Records missing from a complete list are deleted on our side. */
export type Listing<Source> = {
  (options?: { since?: string | undefined; from?: string | undefined }): AsyncIterable<ListPage<Source>>;
  /**
   * Supports reading only what changed `since` an instant, and resuming `from` where an earlier read of the same kind
   * stopped. Otherwise both parameters are ignored.
   */
  incremental?: true;
  /**
   * Which of these records (EMR ids) no longer exist, without reading them all. A list without it is read in full more
   * often instead.
   */
  findDeleted?: (known: readonly string[]) => Promise<string[]>;
};

/** One operation per record kind: `listPharmacies: Listing<PharmacySource>`. */
export type ListOperations = { [K in Kind as K['operation']]: Listing<SourceOf<K>> };

type ReferringProviderSource = SourceOf<Extract<Kind, { operation: 'listReferringProviders' }>>;

/** Every operation an EMR may support. A connector implements a subset. */
export type Operations = ListOperations & {
  getCodeLists: () => Promise<CodeLists>;
  getAppointment: (ehr_id: string) => Promise<AppointmentSource | undefined>;
  findPatient: (mrn: string) => Promise<PatientSource | undefined>;
  listMedications: (patient_ehr_id: string) => Promise<EmrMedication[]>;
  listPatientPharmacies: (patient_ehr_id: string) => Promise<EmrPatientPharmacy[]>;
  searchPatients: (search: PatientSearch) => Promise<PatientSource[]>;
  /** All referring providers with exactly this name, compared by `fold` (model/fold.ts). */
  findReferringProviders: (name: { first_name: string; last_name: string }) => Promise<ReferringProviderSource[]>;
  listEncounters: (patient_ehr_id: string) => Promise<EmrEncounter[]>;
  listGuarantors: (patient_ehr_id: string) => Promise<LiveGuarantor[]>;
  /** null: the EMR does not say. */
  getBalances: (patient_ehr_id: string) => Promise<{ patient_balance: number | null; account_balance: number | null }>;
  getAlerts: (patient_ehr_id: string) => Promise<LiveAlerts>;
  listPatientInsurances: (patient_ehr_id: string) => Promise<LiveInsurance[]>;
  addPatientPharmacy: EmrWrite<{ patient_ehr_id: string; pharmacy_ehr_id: string }, Written>;
  createTelephoneEncounter: EmrWrite<
    {
      patient_ehr_id: string;
      provider_ehr_id: string;
      location_ehr_id: string;
      assigned_to_ehr_id: string;
      high_priority: boolean;
      reason: string | null;
      caller: string | null;
      message: string | null;
      pharmacy_ehr_id: string | null;
      template_name: string | null;
    },
    Written
  >;
  addTelephoneAction: EmrWrite<{ encounter_ehr_id: string; text: string; high_priority: boolean }, Written>;
  createAppointment: EmrWrite<NewAppointment, Written>;
  uploadDocument: EmrWrite<
    {
      patient_ehr_id: string;
      folder: string;
      type: 'application/pdf' | 'image/jpeg' | 'image/png';
      content: Buffer;
      /** As the sender called the file. null: unknown. */
      file_name: string | null;
      assigned_to_ehr_id: string | null;
      reviewed: boolean;
      high_priority: boolean;
      notes: string | null;
      template_name: string | null;
    },
    Written
  >;
  createPatient: EmrWrite<NewPatient, Written & { mrn: string }>;
  updatePatient: EmrWrite<PatientUpdate, Saved>;
  addPatientInsurance: EmrWrite<NewInsurance, Saved>;
  updatePatientInsurance: EmrWrite<InsuranceUpdate, Saved>;
  /** Always creates a new guarantor record, even if the person already has one. */
  addGuarantor: EmrWrite<Payer & { patient_ehr_id: string }, Written>;
  /** `guarantor_ehr_id` is null if the patient is responsible. */
  setResponsibleParty: EmrWrite<
    { patient_ehr_id: string; relationship: Payer['relationship']; guarantor_ehr_id: string | null },
    Written
  >;
  requestEligibility: EmrWrite<{ patient_ehr_id: string }, Written>;
  addRefill: EmrWrite<{ encounter_ehr_id: string; medication_ehr_id: string; pharmacy_ehr_id: string | null }, Written>;
};
export type OperationName = keyof Operations;
export type Capability = OperationName | FieldCapability;

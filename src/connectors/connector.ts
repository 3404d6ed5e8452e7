import type { LiveAlerts, LiveEncounter, LiveGuarantor, LiveInsurance, LivePharmacy } from '../model/liveChart.ts';
import type { AppointmentSource } from '../model/records/appointments.ts';
import type { Kind, SourceOf } from '../model/records/kinds.ts';
import type { PatientSource } from '../model/records/patients.ts';
import type { CodeLists } from '../model/settings.ts';
import type { Outbound } from '../security/outbound.ts';
import type { SigningKeys } from '../security/signingKeys.ts';
import type { InsuranceUpdate, NewInsurance, NewPatient, PatientUpdate, Payer, Saved } from './patientWrites.ts';

/** What the connector calls through: one EMR instance at one address. `keys` are ours, for EMRs that know us by them. */
export type Door = {
  address: string;
  outbound: Outbound;
  signal: AbortSignal;
  keys?: Pick<SigningKeys, 'current'> | undefined;
};

/** A field of the sign-in form. Link draws its form from these, the API checks credentials against them. */
export type CredentialField = {
  name: string;
  label: string;
  secret: boolean;
  autocomplete: 'username' | 'current-password' | 'off';
  /** It may be left empty. */
  optional?: boolean;
};

/** One of several ways to sign in. The person chooses one, and its name travels with the credentials as `way`. */
export type SignInWay = {
  name: string;
  label: string;
  about: string;
  /** Of the connector's `credential_fields`, by name. */
  fields: readonly string[];
  /** What the EMR's administrator needs of us: where our public keys stand, or where the EMR's page is to lead back to. */
  tells?: 'key_set' | 'return_address';
  /** The person signs in on the EMR's own page, in a window of its own; see `PageSignIn`. */
  on_page?: boolean;
};

/** A sign-in on a page of the EMR: `start` says where the person goes, `finish` takes up what they come back with. */
export type PageSignIn = {
  start: (
    door: Door,
    credentials: Credentials,
    back: { return_address: string; state: string },
  ) => Promise<{ url: string; kept: Grant }>;
  /** `returned` is the address, with everything in it, at which the person came back. */
  finish: (door: Door, credentials: Credentials, kept: Grant, returned: URL) => Promise<PageOutcome>;
};
export type PageOutcome = { outcome: 'signed_in'; grant: Grant } | { outcome: 'refused'; because: 'person' | 'access' };

export type Credentials = Record<string, string>;
/** What an EMR gave us to come back with: session and device tokens, in the connector's own shape. Kept sealed. */
export type Grant = Record<string, string>;

export type SignIn =
  | {
      outcome: 'signed_in';
      grant: Grant;
      user: { ehr_id: string; name: string };
      /** The zone of the EMR instance; absent where it is not told: then the one known before holds, else UTC. */
      timezone?: string | undefined;
      /** What this very server can do, where that differs from one to the next; absent: all that the connector offers. */
      offers?: readonly OperationName[];
    }
  | { outcome: 'code_required' }
  /** `access`: what was given is neither a user name nor a password (a client of the EMR's, a token). */
  | { outcome: 'refused'; because: 'credentials' | 'code' | 'locked' | 'access' };

/** An open account: its grant is renewed silently where the EMR allows it, and then handed to `keepGrant`. */
export type Access = {
  credentials: Credentials;
  grant: Grant;
  keepGrant: (grant: Grant) => Promise<void>;
  /** The zone of the EMR instance, for EMRs that tell instants rather than what a clock shows; absent: UTC. */
  timezone?: string | undefined;
};

/**
 * A write to the EMR. The marker is ours: the EMR keeps it with the record, so that after a lost answer `find` can
 * tell whether the write arrived. A write without `find` cannot be asked for; a lost answer then needs a person.
 */
export type EmrWrite<Input, Output> = {
  send: (input: Input, marker: string) => Promise<Output>;
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
/** What patients are searched by; everything that is given must match. */
export type PatientSearch = {
  dob?: string | undefined;
  first_name?: string | undefined;
  last_name?: string | undefined;
  phone?: string | undefined;
  mrn?: string | undefined;
};
export type Written = { ehr_id: string };

/**
 * A page of a list. `through`: everything up to here has been given, and a later try may begin here (`from`); null: what
 * was said of it before does not hold.
 */
export type ListPage<Source> = Source[] & { through?: string | null };

/** Reads a list of the EMR to its end, or fails: what is missing from a list that ended well is deleted on our side. */
export type Listing<Source> = {
  (asked?: { since?: string | undefined; from?: string | undefined }): AsyncIterable<ListPage<Source>>;
  /**
   * It can be asked for what was changed or added `since` an instant alone, and can be taken up `from` where a reading
   * of the same kind came to; else both are passed over.
   */
  incremental?: true;
};

/** One operation per record kind: `listPharmacies: Listing<PharmacySource>`. */
export type ListOperations = { [K in Kind as K['operation']]: Listing<SourceOf<K>> };

/** Everything an EMR may offer. What a connector leaves out is a capability its EMR does not have. */
export type Operations = ListOperations & {
  getCodeLists: () => Promise<CodeLists>;
  getAppointment: (ehr_id: string) => Promise<AppointmentSource | undefined>;
  findPatient: (mrn: string) => Promise<PatientSource | undefined>;
  listMedications: (patient_ehr_id: string) => Promise<EmrMedication[]>;
  listPatientPharmacies: (patient_ehr_id: string) => Promise<EmrPatientPharmacy[]>;
  searchPatients: (search: PatientSearch) => Promise<PatientSource[]>;
  listEncounters: (patient_ehr_id: string) => Promise<LiveEncounter[]>;
  listGuarantors: (patient_ehr_id: string) => Promise<LiveGuarantor[]>;
  getBalances: (patient_ehr_id: string) => Promise<{ patient_balance: number; account_balance: number }>;
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
  createAppointment: EmrWrite<
    {
      patient_ehr_id: string;
      provider_ehr_id: string;
      secondary_provider_ehr_id: string | null;
      location_ehr_id: string;
      visit_type: string;
      /** What the clock of the EMR instance shows: `2026-03-08T09:30:00`. */
      starts_at: string;
      minutes: number | null;
      reason: string | null;
      note: string | null;
      new_patient: boolean;
      prevent_double_booking: boolean;
    },
    Written
  >;
  uploadDocument: EmrWrite<
    {
      patient_ehr_id: string;
      folder: string;
      type: 'application/pdf' | 'image/jpeg' | 'image/png';
      content: Buffer;
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
  /** A guarantor's record of its own, also for a person who has one. */
  addGuarantor: EmrWrite<Payer & { patient_ehr_id: string }, Written>;
  /** `guarantor_ehr_id` is null where the patient pays. */
  setResponsibleParty: EmrWrite<
    { patient_ehr_id: string; relationship: Payer['relationship']; guarantor_ehr_id: string | null },
    Written
  >;
  requestEligibility: EmrWrite<{ patient_ehr_id: string }, Written>;
  addRefill: EmrWrite<{ encounter_ehr_id: string; medication_ehr_id: string; pharmacy_ehr_id: string | null }, Written>;
};
export type OperationName = keyof Operations;

export type Connector = {
  name: string;
  display_name: string;
  credential_fields: readonly CredentialField[];
  /** Where there are several ways to sign in; the fields are then those of all of them. */
  sign_in_ways?: readonly SignInWay[];
  page_sign_in?: PageSignIn;
  /** The EMR sends its one-time codes: a sign-in without one sends another. Absent where people have an app for it. */
  resend_code?: boolean;
  /** `parallel_max`: how many lanes of one account may be at work in this EMR at once. */
  limits: { parallel_max: number };
  /** Whether it has the fields that the interface knows for some EMRs only. */
  restricted_fields: boolean;
  /** What the EMR's address must be like beyond the outbound guard: the rest of a sentence, or undefined when fine. */
  refuseAddress: (url: URL) => string | undefined;
  /** Signs a person in. Throws EmrFailure when the EMR cannot be reached. `page_grant` is what the EMR's page gave. */
  signIn: (
    door: Door,
    credentials: Credentials,
    one_time_code: string | undefined,
    page_grant?: Grant,
  ) => Promise<SignIn>;
  /**
   * Looks again at what the server of an open account can do, for EMRs that differ in it; undefined: nothing else than
   * before. Every sync begins with it.
   */
  discover?: (door: Door, access: Access) => Promise<{ grant: Grant; offers: readonly OperationName[] } | undefined>;
  /** The operations that `open` gives; known without signing in, so that a request can be refused at once. */
  offers: readonly OperationName[];
  open: (door: Door, access: Access) => Partial<Operations>;
};

/**
 * The five ways in which an EMR call ends badly; each decides what happens next:
 * `login_required` parks the account's work, `refused` and `not_found` are final, `unavailable` is tried again,
 * `unknown_outcome` (the write may or may not have arrived) is asked about before it is tried again.
 */
export type EmrFailureKind = 'login_required' | 'refused' | 'not_found' | 'unavailable' | 'unknown_outcome';

/** `message` is in plain words, fit to be shown: never a raw body, an address, a credential or a stack. */
export class EmrFailure extends Error {
  readonly kind: EmrFailureKind;
  readonly retry_after_ms: number | undefined;
  /** Of an unknown outcome: the EMR said that it took the write, and does not show it. It is never sent again. */
  readonly taken: boolean;
  /** More about a refusal, in words of ours (`conflict_type`, `duplicate_patient_mrn`), for the event. */
  readonly details: Record<string, unknown> | undefined;

  constructor(
    kind: EmrFailureKind,
    message: string,
    options: { retry_after_ms?: number; taken?: boolean; details?: Record<string, unknown>; cause?: unknown } = {},
  ) {
    super(message, { cause: options.cause });
    this.details = options.details;
    this.name = 'EmrFailure';
    this.kind = kind;
    this.taken = options.taken ?? false;
    this.retry_after_ms = options.retry_after_ms;
  }
}

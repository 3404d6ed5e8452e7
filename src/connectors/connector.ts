import type { LiveAlerts, LiveEncounter, LiveGuarantor, LiveInsurance, LivePharmacy } from '../model/liveChart.ts';
import type { AppointmentSource } from '../model/records/appointments.ts';
import type { Kind, SourceOf } from '../model/records/kinds.ts';
import type { PatientSource } from '../model/records/patients.ts';
import type { CodeLists } from '../model/settings.ts';
import type { Outbound } from '../security/outbound.ts';
import type { SigningKeys } from '../security/signingKeys.ts';
import type { ConnectionReport, Evidence, ReportStep } from './evidence.ts';
import type { FieldCapability, FieldOperation } from './fields.ts';
import type {
  InsuranceUpdate,
  NewAppointment,
  NewInsurance,
  NewPatient,
  PatientUpdate,
  Payer,
  Saved,
} from './patientWrites.ts';

export { EmrFailure, type EmrFailureKind, kind_codes } from './emrFailure.ts';

/** One EMR instance at one address. `keys` are our signing keys, for EMRs that identify us by public key. */
export type EmrEndpoint = {
  address: string;
  outbound: Outbound;
  signal: AbortSignal;
  keys?: Pick<SigningKeys, 'current'> | undefined;
  /** Collects the connection report of a sign-in, also of one that fails. Connectors without a report ignore it. */
  record?: ((step: ReportStep) => void) | undefined;
};

/**
 * A field of the sign-in form. Link renders its form from these fields, and the API validates credentials against them.
 */
export type CredentialField = {
  name: string;
  label: string;
  secret: boolean;
  autocomplete: 'username' | 'current-password' | 'off';
  optional?: boolean;
};

/** One of several ways to sign in. The name of the chosen one is sent with the credentials as `way`. */
export type SignInWay = {
  name: string;
  label: string;
  about: string;
  /** Names of the connector's `credential_fields`. */
  fields: readonly string[];
  /**
   * What the EMR's administrator must register: the URL of our public keys, or the address the EMR redirects back to.
   */
  must_register?: 'key_set' | 'return_address';
  /** An operator can configure it once for all accounts at an address (an EMR app). */
  by_app?: true;
  /** The person signs in on the EMR's own page, in a separate window. See `PageSignIn`. */
  on_page?: boolean;
};

/** Sign-in on a page of the EMR: `start` returns the URL to open, `finish` handles the redirect back. */
export type PageSignIn = {
  start: (
    endpoint: EmrEndpoint,
    credentials: Credentials,
    back: { return_address: string; state: string },
  ) => Promise<{ url: string; pending: Grant }>;
  /** `returned` is the full redirect URL. `pending` is what `start` returned. */
  finish: (endpoint: EmrEndpoint, credentials: Credentials, pending: Grant, returned: URL) => Promise<PageOutcome>;
};
/** `person`: the person declined. `expired`: the page's result is no longer valid, for example an authorization code. */
export type PageOutcome =
  | { outcome: 'signed_in'; grant: Grant }
  | { outcome: 'refused'; reason: 'person' }
  | { outcome: 'refused'; reason: 'expired' }
  | SignInRefusal;

export type Credentials = Record<string, string>;
/** Session and device tokens issued by the EMR, in the connector's own format. Stored encrypted. */
export type Grant = Record<string, string>;

export type SignIn =
  | {
      outcome: 'signed_in';
      grant: Grant;
      /** Who signed in. An account belongs to one EMR user: `ehr_id` is the same for the same person only. */
      user: { ehr_id: string; name: string };
      /** The time zone of the EMR instance. Absent if unknown: the previously stored zone is kept, or UTC. */
      timezone?: string | undefined;
      /** What this server supports, for EMRs whose servers differ. Absent: everything the connector implements. */
      capabilities?: readonly Capability[];
      /** What was found out about single capabilities. Those without evidence count as declared. */
      evidence?: readonly Evidence<Capability>[];
      report?: ConnectionReport;
    }
  | { outcome: 'code_required' }
  | SignInRefusal;

/**
 * Why the EMR refused a sign-in, never one reason for another:
 * - `credentials`, `code`, `locked`: a user name and password
 * - `client`: the EMR does not know the OAuth client; `secret`: it does not accept the client's secret
 * - `access`: another credential (a token), or the EMR does not say whether it was the client or the secret
 * - `key`: the EMR has no key of ours for this client
 * - `no_records`: the sign-in was accepted, but the account cannot read anything
 * - `scope`: the EMR does not grant the requested `scopes`
 * - `method`: the EMR does not allow this way to sign in, but perhaps `supported_ways`
 */
export type SignInRefusal =
  | {
      outcome: 'refused';
      reason: 'credentials' | 'code' | 'locked' | 'access' | 'client' | 'secret' | 'key' | 'no_records';
    }
  | { outcome: 'refused'; reason: 'scope'; scopes: string }
  | { outcome: 'refused'; reason: 'method'; supported_ways: readonly string[] };

/**
 * A linked account. The connector renews its grant without a person where the EMR allows it and passes it to
 * `saveGrant`.
 */
export type Access = {
  credentials: Credentials;
  grant: Grant;
  saveGrant: (grant: Grant) => Promise<void>;
  /** The time zone of the EMR instance, for EMRs that send instants instead of local times. Absent: UTC. */
  timezone?: string | undefined;
};

/**
 * A write to the EMR. The EMR stores our marker with the record, so that `find` can tell after a lost response whether
 * the write arrived. Without `find`, a lost response requires a manual check.
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
/** `cancelled`: the visit did not take place and will not: cancelled, missed or moved. */
export type EmrEncounter = LiveEncounter & { cancelled: boolean };
/** Search criteria. All given criteria must match. Names match by prefix, without regard to case and accents. */
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
export type Written = { ehr_id: string };

/**
 * A page of a list. `through`: everything up to this point has been returned, and a later attempt may resume here
 * (`from`). null: an earlier `through` is no longer valid.
 */
export type ListPage<Source> = Source[] & { through?: string | null };

/** Reads a list to its end or fails. Records missing from a complete list are deleted on our side. */
export type Listing<Source> = {
  (options?: { since?: string | undefined; from?: string | undefined }): AsyncIterable<ListPage<Source>>;
  /**
   * Supports reading only what changed `since` an instant, and resuming `from` where an earlier read of the same kind
   * stopped. Otherwise both parameters are ignored.
   */
  incremental?: true;
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

export type RefreshedCapabilities = {
  grant: Grant;
  capabilities: readonly Capability[];
  evidence?: readonly Evidence<Capability>[];
  report?: ConnectionReport;
};

export type Connector = {
  name: string;
  display_name: string;
  credential_fields: readonly CredentialField[];
  /** Present if there are several ways to sign in. `credential_fields` then contains the fields of all of them. */
  sign_in_ways?: readonly SignInWay[];
  /**
   * The names of the `sign_in_ways` that this server supports, as far as it says so before anybody signs in. Returns
   * undefined if it does not say.
   */
  offeredWays?: (endpoint: EmrEndpoint) => Promise<readonly string[] | undefined>;
  page_sign_in?: PageSignIn;
  /**
   * The EMR sends one-time codes to the person: a sign-in without a code sends a new one. Absent for authenticator
   * apps.
   */
  resend_code?: boolean;
  /** `parallel_max`: how many lanes of one account may use the EMR at the same time. */
  limits: { parallel_max: number };
  /**
   * The interface fields that the EMR has no place for, by operation. A request with one of them is rejected; all other
   * fields must be written. The operations reject them too, by name.
   */
  unsupported_fields: { readonly [Name in FieldOperation]?: readonly string[] };
  /**
   * Rules for the EMR's address beyond the outbound guard. Returns the rest of a sentence, or undefined if it is valid.
   */
  refuseAddress: (url: URL) => string | undefined;
  /**
   * Signs a person in. Throws EmrFailure if the EMR cannot be reached. `page_grant` is the result of `page_sign_in`.
   */
  signIn: (
    endpoint: EmrEndpoint,
    credentials: Credentials,
    one_time_code: string | undefined,
    page_grant?: Grant,
  ) => Promise<SignIn>;
  /**
   * Ends what a sign-in granted (session, device, tokens) when an account is unlinked. Returns whether the EMR offers
   * that; throws EmrFailure if it failed. A grant that has expired already counts as ended.
   */
  signOut?: (endpoint: EmrEndpoint, access: Pick<Access, 'credentials' | 'grant'>) => Promise<boolean>;
  /**
   * Reads again what the server of a linked account supports, for EMRs whose servers differ. Returns undefined if
   * nothing changed. Runs at the start of every sync.
   */
  refreshCapabilities?: (endpoint: EmrEndpoint, access: Access) => Promise<RefreshedCapabilities | undefined>;
  /**
   * The operations the connector implements, and the fields that not all of its servers can store. Known without signing
   * in, so that unsupported requests fail immediately.
   */
  capabilities: readonly Capability[];
  open: (endpoint: EmrEndpoint, access: Access) => Partial<Operations>;
};

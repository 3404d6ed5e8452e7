import type { webcrypto } from 'node:crypto';
import type { Outbound, OutboundRequest } from '../platform/security/outbound.ts';
import type { ExportedRecords, Exporter } from './bulkExports.ts';
import type { EndpointPins } from './endpointPins.ts';
import type { PracticeLists } from './listedPractices.ts';
import type { Capability, FieldOperation, FieldsOf, Operations } from './operations/operations.ts';
import type { GivenSettings, RequestSettings } from './requestSettings.ts';

/**
 * One EMR instance at one address. `keys` are the signing keys of the client that the call is for, for EMRs that identify
 * us by public key.
 */
export type EmrEndpoint = {
  address: string;
  outbound: Outbound;
  signal: AbortSignal;
  keys?: SigningKeys | undefined;
  /**
   * Nothing is changed in the EMR. A write is only validated where the EMR can do that; any other is not sent, and
   * `NotSent` is thrown in its place.
   */
  dry_run?: boolean | undefined;
  /** Where the credentials of an EMR app may go. Absent: there is no app, and they stay on the EMR's own host. */
  pins?: EndpointPins | undefined;
  /**
   * `exceeded` is called if the EMR rejected a request as one too many and did not say when to try again: further requests
   * of everyone wait for the next minute. Whatever is sent by `outbound` is counted.
   */
  budget?: { exceeded: () => Promise<void> } | undefined;
  /** Collects the connection report of a sign-in, also of one that fails. Connectors without a report ignore it. */
  record?: ((step: ReportStep) => void) | undefined;
  /**
   * Called by connectors with a `measured_max` whenever a response shows how the EMR handles writes. Does not throw.
   */
  observeLoad?: ((sign: LoadSign) => Promise<void>) | undefined;
} & GivenSettings;

/** Returns the current signing key of a client. */
export type SigningKeys = {
  current(alg: 'RS384' | 'ES384'): Promise<{ kid: string; key: webcrypto.CryptoKey }>;
};

/**
 * How well an EMR handles the writes sent to it. `created`: it stored a new record. `failed`: a server error to a
 * write. `too_busy`: too many requests. `collided`: a write was refused because of a concurrent one.
 */
export type LoadSign = 'created' | 'failed' | 'too_busy' | 'collided';

/** Which of a patient's identifiers is the MRN: the one with this system, this type code, or both. */
export type MrnRule = { system?: string | undefined; type?: string | undefined };

/** A visit type that an operator set, for EMRs that do not list theirs. */
export type VisitType = { code: string; description: string; minutes: number | null };

/** What the identifiers of a few patients look like, so that a person can decide which one is the MRN. */
export type IdentifierSample = {
  /** The number of patients in the sample. */
  patients: number;
  /** Their MRNs by the current rule, for the audit log. */
  mrns: readonly string[];
  /** Each combination of system and type: how many of the patients have one, and some of their values. */
  identifiers: readonly { system: string | null; type: string | null; patients: number; values: readonly string[] }[];
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
  /** An operator can configure it once for all accounts at an EMR's hosts (an EMR app). */
  by_app?: true;
  /** It needs an EMR app, because what it signs must not depend on what a person types. */
  app_required?: true;
  /** The person signs in on the EMR's own page, in a separate window. See `PageSignIn`. */
  on_page?: boolean;
};

export type OfferedWays = { ways: readonly string[]; sign_in_page?: string | undefined };

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
      /** Results of probing single capabilities. Those without evidence count as declared. */
      evidence?: readonly Evidence[];
      /** The identifier that seems to be the MRN, if a sample of patients shows it. */
      mrn_guess?: MrnRule | undefined;
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
export type SignInRefusal = {
  /** The EMR's own explanation, if it is readable text. Without credentials. */
  emr_message?: string;
} & (
  | {
      outcome: 'refused';
      reason: 'credentials' | 'code' | 'locked' | 'access' | 'client' | 'secret' | 'key' | 'no_records';
    }
  | { outcome: 'refused'; reason: 'scope'; scopes: string }
  | { outcome: 'refused'; reason: 'method'; supported_ways: readonly string[] }
);

/** Renews a grant at the EMR without a person. Throws `login_required` if it requires a person. */
export type RenewGrant = (grant: Grant, signal: AbortSignal) => Promise<Grant>;

/** A linked account. The connector renews its grant without a person where the EMR allows it; see grantStore.ts. */
export type Access = {
  credentials: Credentials;
  grant: Grant;
  saveGrant: (grant: Grant) => Promise<void>;
  /**
   * Renews a grant for everyone who uses the account at the same time, also in other processes: a refresh token can
   * often be redeemed only once. Returns the stored grant if it has another session than `used`. Otherwise stores and
   * returns the result of `renew`. Absent: nobody else uses the account.
   */
  renewGrant?: (used: Grant, renew: RenewGrant) => Promise<Grant>;
  /** The time zone of the EMR instance, for EMRs that send instants instead of local times. Absent: UTC. */
  timezone?: string | undefined;
  /** Which identifier is the MRN, for connectors with `sampleIdentifiers`. Absent: the connector decides per patient. */
  mrn_rule?: MrnRule | undefined;
  /** The visit types of the organization, for connectors with `set_visit_types`. */
  visit_types?: readonly VisitType[] | undefined;
  /**
   * Markers by which records of each type were found at this address, by any account of the same client. An account that
   * finds such a record knows that its own searches find our markers. Absent: nothing is shared.
   */
  shared_markers?: SharedMarkers | undefined;
  /** What the last bulk export has read, for connectors with an exporter. Absent: lists by export cannot be read. */
  exported?: ExportedRecords | undefined;
};

export type SharedMarkers = {
  find(type: string): Promise<string | undefined>;
  /** Does not throw. */
  store(type: string, marker: string): Promise<void>;
};

export type RefreshedCapabilities = {
  grant: Grant;
  capabilities: readonly Capability[];
  evidence?: readonly Evidence[];
};

/** What a server says about itself before anyone signs in. */
export type ServerDescription = {
  /** What its statement declares. Absent if the statement requires a sign-in. */
  capabilities?: readonly Capability[];
};

/**
 * What an EMR app of a vendor looks like: the form starts with it. A blank header or host is for the owner to fill in, a
 * blank search parameter for each practice.
 */
export type EmrPreset = {
  name: string;
  title: string;
  /** The preferred sign-in method. */
  way: string;
  /** `documents`: from the vendor's public documents, not yet seen on a live system. */
  basis: 'documents' | 'seen';
  /** The form of the address that is linked. */
  address: string;
  /** What to register, and where, in this order. */
  steps: readonly string[];
  /**
   * A public sandbox with which an installation can check the preset itself. `token_endpoint`: if it is not that of the
   * preset.
   */
  sandbox: { title: string; address: string; token_endpoint?: string } | null;
} & Pick<EndpointPins, 'hosts' | 'token_endpoint' | 'tenant_path'> &
  RequestSettings;

/** The version of `Connector`. Every change that an existing connector does not compile or work with raises it. */
export const connector_api = 1;

/** What the module of a connector from outside exports as its default. */
export type OutsideConnector = Connector & { connector_api: typeof connector_api };

export type Connector = {
  name: string;
  display_name: string;
  /** `display_name` is that of a standard: people do not know their EMR by it, so Link names the server instead. */
  is_standard?: true;
  credential_fields: readonly CredentialField[];
  /** Present if there are several ways to sign in. `credential_fields` then contains the fields of all of them. */
  sign_in_ways?: readonly SignInWay[];
  /**
   * The names of the `sign_in_ways` that this server supports, and its sign-in page. Returns undefined if the server does
   * not publish them.
   */
  offeredWays?: (endpoint: EmrEndpoint) => Promise<OfferedWays | undefined>;
  /**
   * Reads what the server says about itself, and checks that it is one that the connector can use. Throws EmrFailure,
   * with `wrong_address` or `unknown_host` if no sign-in can succeed.
   */
  describeServer?: (endpoint: EmrEndpoint) => Promise<ServerDescription>;
  /**
   * An endpoint that the server of a linked account names although its EMR app does not allow it. Undefined if none.
   */
  unexpectedEndpoint?: (endpoint: EmrEndpoint) => Promise<string | undefined>;
  page_sign_in?: PageSignIn;
  /** What is known about the vendors whose servers it connects to. */
  presets?: readonly EmrPreset[];
  /** How many digits a one-time code always has: Link submits a complete one by itself. */
  code_digits?: number;
  /** Path of the page that shows one-time codes in a sandbox EMR. */
  sandbox_codes_path?: string;
  /**
   * The EMR sends one-time codes to the person: a sign-in without a code sends a new one. Absent for authenticator
   * apps.
   */
  resend_code?: boolean;
  /**
   * `parallel_max`: how many lanes of one account may use the EMR at the same time. `measured_max`: for EMRs whose
   * servers differ, the limit up to which it is raised while the server keeps up; see `observeLoad`.
   */
  limits: {
    parallel_max: number;
    measured_max?: number;
    /**
     * The EMR handles one write at a time, whoever sends it: writes to the same address take turns, across accounts,
     * clients and processes. Its writes must announce when they send something.
     */
    one_write_per_address?: true;
  };
  /**
   * The EMR does not list its visit types: they are a setting of the organization, and part of `Access`. `refuseCode`
   * returns the rest of a sentence, or undefined if the EMR may have such a code.
   */
  set_visit_types?: { refuseCode: (code: string) => string | undefined };
  /**
   * The interface fields that the EMR has no place for, by operation. A request with one of them is rejected; all other
   * fields must be written. The operations reject them too, by name.
   */
  unsupported_fields: { readonly [Name in FieldOperation]?: readonly FieldsOf<Name>[] };
  /** The fields that are optional in the interface but required by this EMR, by operation. */
  required_fields?: { readonly [Name in FieldOperation]?: readonly FieldsOf<Name>[] };
  /**
   * Rules for the EMR's address beyond the outbound guard. Returns the rest of a sentence, or undefined if it is valid.
   */
  refuseAddress: (url: URL) => string | undefined;
  /** Present if vendors publish lists of practices with this EMR. */
  practice_lists?: PracticeLists;
  /**
   * Whether a request only reads, for EMRs that are also read by other methods than GET. Certification counts every other
   * request as one that may write.
   */
  isRead?: (url: URL, request: Pick<OutboundRequest, 'method' | 'body'>) => boolean;
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
  refreshCapabilities?: (
    endpoint: EmrEndpoint,
    access: Access,
    /**
     * `thorough`: probe again what was probed recently. Default: true. `retry_refused`: forget which operations the
     * server refused in use. Default: false.
     */
    options?: { thorough?: boolean; retry_refused?: boolean },
  ) => Promise<RefreshedCapabilities | undefined>;
  /** The size of the largest document that the server may accept, if the grant says so. Larger ones are rejected. */
  documentBytesMax?: (grant: Grant) => number | undefined;
  /** What the grant says about the server that people should know, as whole sentences for the connection report. */
  serverFindings?: (grant: Grant) => readonly string[];
  /** The identifiers of a few patients. Present if a rule can say which one is the MRN; see `Access`. */
  sampleIdentifiers?: (endpoint: EmrEndpoint, access: Access) => Promise<IdentifierSample>;
  /**
   * The operations the connector implements, and the fields that not all of its servers can store. Known without signing
   * in, so that unsupported requests fail immediately. Every list is optional: the service reads those that are declared
   * here, and removes nothing of the others, whose records may arrive in another way.
   */
  capabilities: readonly Capability[];
  /** The values of a grant that describe the server instead of the session. They survive a renewal. */
  grant_facts?: readonly string[];
  open: (endpoint: EmrEndpoint, access: Access) => Partial<Operations>;
  /** Present if lists may be read by bulk export. */
  openExporter?: (endpoint: EmrEndpoint, access: Access) => Exporter;
};

/**
 * One request of a connection report: `GET [base]/Patient?_count=1`. It contains no token and no value that identifies
 * a patient.
 */
export type ReportStep = {
  stage: 'discovery' | 'sign_in' | 'probe';
  request: string;
  /** The HTTP status of the response, null if there was none. */
  status: number | null;
  duration_ms: number;
  outcome: 'ok' | 'refused' | 'failed';
  note?: string;
};

/** What was requested from a server while linking, for the EMR vendor's support. `at`: ISO 8601. */
export type ConnectionReport = { address: string; at: string; steps: readonly ReportStep[] };

/**
 * The state of one capability of an account's server. `declared`: the server declares it, and nothing contradicted it yet.
 * `works`: it was seen to work. `refused`: the server refuses it, so that the account does not offer it.
 */
export type EvidenceState = 'declared' | 'works' | 'refused';

/** What linking or a refresh has shown about a capability. `detail` is one plain sentence without health data. */
export type Evidence = { capability: Capability; state: EvidenceState; detail?: string };

/** Whether an EMR can store a field of a request. `capabilities` are those of the account. */
export function supportsField(
  connector: Pick<Connector, 'unsupported_fields' | 'capabilities'>,
  capabilities: readonly Capability[],
  operation: FieldOperation,
  field: string,
): boolean {
  const unsupported: readonly string[] = connector.unsupported_fields[operation] ?? [];
  if (unsupported.includes(field)) return false;
  const isIn = (names: readonly string[]) => names.includes(`${operation}.${field}`);
  return !isIn(connector.capabilities) || isIn(capabilities);
}

import { randomBytes } from 'node:crypto';
import type { Outbound, OutboundRequest, OutboundResponse } from '../../platform/security/outbound.ts';
import type { Access, Connector, Credentials, EmrEndpoint, Grant, SignIn } from '../connector.ts';
import { EmrFailure, type EmrFailureKind } from '../emrFailure.ts';
import {
  CheckSkipped,
  collect,
  type EmrWrite,
  type Listing,
  type ListName,
  type ReadDeclaration,
  type RowOf,
  type SampleEnvironment,
  skip,
  type WriteDeclaration,
  type Written,
} from '../operations/operation.ts';
import {
  type Capability,
  type OperationName,
  type Operations,
  operations,
  type ReadName,
  type WriteName,
} from '../operations/operations.ts';
import type { GivenSettings } from '../requestSettings.ts';

/** One rule that every connector must follow. `run` returns if the rule is met and throws otherwise. */
export type Check = { id: string; expectation: string; run: (env: Environment) => Promise<void> };

/** The connector under test, its EMR, and what is allowed there. */
export type CertificationTarget = {
  connector: Connector;
  address: string;
  credentials: Credentials;
  /** The signing keys of a client, and where the credentials of its EMR app may go. */
  keys?: EmrEndpoint['keys'];
  pins?: EmrEndpoint['pins'];
  /** What is sent with its requests. */
  requests?: GivenSettings;
  /** Called once, for the only sign-in with correct credentials. */
  one_time_code?: () => string | undefined;
  /**
   * Signs in on the EMR's own page, like a person, and returns the redirect back; undefined if the page shows an error
   * instead. For sign-ins on a page only.
   */
  signInOnPage?: (url: string) => Promise<URL | undefined>;
  /** The redirect URI that the EMR knows. */
  return_address?: string;
  /** A real person signs in on the page, before the checks. Those that would need another sign-in are skipped. */
  signs_in_once?: true;
  /** The setting of the organization, for connectors that need one. */
  visit_types?: Access['visit_types'];
  outbound: Outbound;
  /** Whether synthetic records may be written. */
  writes: boolean;
  /** A synthetic patient whose chart may be written to. Without it, the checks create a patient. */
  patient_mrn?: string | undefined;
  /** The MRN of a chart that was merged into another one, if the EMR has one. */
  merged_mrn?: string | undefined;
  /** The expected number of records of a list, if known. */
  counts?: Partial<Record<OperationName, number>>;
  /** Lists that are really empty. Any other list must have a record: an empty one may be one that could not be read. */
  empty_lists?: readonly string[];
  /** `endSession` ends the session, which can be renewed without a person. `endLink` makes a person necessary. */
  endSession?: () => Promise<void>;
  endLink?: () => Promise<void>;
};

export type Call = { method: string; url: string; may_write: boolean; had_signal: boolean };
/** Sits between the connector and the EMR: passes a call on, responds in the EMR's place, or drops the response. */
export type Interceptor = (
  call: Call,
  /** Passes the call on, to `url` instead of its own if there is one. */
  pass: (url?: string) => Promise<OutboundResponse>,
  request: OutboundRequest,
) => Promise<OutboundResponse>;
export type OpenedAccount = { emr: Partial<Operations>; calls: Call[]; saved: Grant[] };
export type SignedIn = Extract<SignIn, { outcome: 'signed_in' }>;
type OpenOptions = { intercept?: Interceptor; signal?: AbortSignal; grant?: Grant };

export type Environment = CertificationTarget &
  Omit<SampleEnvironment<Operations>, 'open' | 'session'> & {
    endpoint(options?: OpenOptions): { endpoint: EmrEndpoint; calls: Call[] };
    /** The only sign-in with correct credentials. */
    signIn(): Promise<SignedIn>;
    /** Its result, for all later checks. They are skipped if the sign-in failed. */
    session(): Promise<SignedIn>;
    open(options?: OpenOptions): Promise<OpenedAccount>;
    /** What this account supports. */
    capabilities(): Promise<readonly Capability[]>;
    /** How many calls `rows` needed. */
    callCount(name: ListName): Promise<number>;
    /** What `track` recorded. */
    failures: unknown[];
    /** Every URL that was called. */
    urls: Set<string>;
  };

export function createEnvironment(target: CertificationTarget): Environment {
  const memory = new Map<string, Promise<unknown>>();
  // As in the product: what a connector saves with its grant is there when the account is opened again.
  let latest: Grant | undefined;
  const env: Environment = {
    ...target,
    failures: [],
    urls: new Set(),
    marker: () => `${randomBytes(16).toString('hex')}-certify`,
    uniqueTag: () => [...randomBytes(8)].map((byte) => String.fromCharCode(97 + (byte % 26))).join(''),
    memoize: <T>(key: string, make: () => Promise<T>) => {
      // A key is always used with the same `make`.
      const saved = memory.get(key) as Promise<T> | undefined;
      const value = saved ?? make();
      memory.set(key, value);
      return value;
    },
    track: (work) =>
      work.catch((error: unknown) => {
        // Errors thrown by the kit itself are not failures of the connector.
        if (!(error instanceof CheckSkipped || error instanceof CheckFailed)) env.failures.push(error);
        throw error;
      }),
    endpoint: (options = {}) => createEndpoint(env, options),
    signIn: () => env.memoize('session', () => signInOnce(env)),
    session: () => env.signIn().catch(() => skip('the sign-in failed')),
    open: async (options = {}) => {
      const { grant, capabilities, timezone } = await env.session();
      const { endpoint, calls } = env.endpoint(options);
      const saved: Grant[] = [];
      const saveGrant = async (renewed: Grant) => {
        saved.push(renewed);
        if (!options.grant) latest = renewed;
      };
      const opened_with = options.grant ?? latest ?? grant;
      const { credentials, visit_types } = target;
      const access = { credentials, grant: opened_with, saveGrant, timezone, visit_types };
      const emr = target.connector.open(endpoint, access);
      return { emr: onlySupported(emr, capabilities ?? target.connector.capabilities), calls, saved };
    },
    capabilities: async () => (await env.session()).capabilities ?? target.connector.capabilities,
    rows: async <Name extends ListName>(name: Name) => (await readListOnce(env, name)).rows,
    callCount: async (name) => (await readListOnce(env, name)).calls,
    anyPatient: () => env.memoize('patient', () => findPatient(env)),
    testPatient: () =>
      target.patient_mrn === undefined
        ? dependOn(
            'createPatient',
            env.memoize('chart', () => createPatient(env)),
          )
        : env.anyPatient(),
    written: (name) =>
      dependOn(
        name,
        env.memoize(`written ${name}`, () => writeSample(env, name)),
      ),
  };
  return env;
}

/** The checks of a write say why it fails. Others that only need its record are not tried. */
function dependOn<T>(name: WriteName, work: Promise<T>): Promise<T> {
  return work.catch((error: unknown) => {
    if (error instanceof CheckSkipped) throw error;
    return skip(`not tried, because ${name} failed`);
  });
}

/** Expects a call to fail with one of these kinds and returns the failure. */
export async function expectFailure(
  env: Environment,
  situation: string,
  work: () => Promise<unknown>,
  kinds: readonly EmrFailureKind[],
): Promise<EmrFailure> {
  const expected = kinds.join(' or ');
  const failure = await env.track(work()).then(
    () => fail(`${situation}: succeeded, expected ${expected}`),
    (error: unknown) => error,
  );
  if (failure instanceof CheckFailed || failure instanceof CheckSkipped) throw failure;
  if (!(failure instanceof EmrFailure)) return fail(`${situation}: threw ${errorName(failure)}, not an EmrFailure`);
  if (!kinds.includes(failure.kind)) fail(`${situation}: failed as ${failure.kind}, expected ${expected}`);
  return failure;
}

/** The rule is not met. The message contains no value of a record. */
export class CheckFailed extends Error {}

export function fail(message: string): never {
  throw new CheckFailed(message);
}

export function skipUnsupported(operation: string): never {
  throw new CheckSkipped(`the EMR does not support ${operation}`, true);
}

/** Only the name of a foreign error: its message may contain values that must not be printed. */
export function errorName(error: unknown): string {
  return error instanceof Error ? error.name : typeof error;
}

function createEndpoint(
  env: Environment,
  { intercept, signal }: OpenOptions,
): { endpoint: EmrEndpoint; calls: Call[] } {
  const calls: Call[] = [];
  const fetch: Outbound['fetch'] = (url, request) => {
    const { method, signal: own_signal } = request;
    const may_write = !readsOnly(env.connector, new URL(url), request);
    const call = { method, url: String(url), may_write, had_signal: own_signal !== undefined };
    calls.push(call);
    env.urls.add(call.url);
    const pass = (other?: string) => env.outbound.fetch(other === undefined ? url : new URL(other), request);
    return intercept ? intercept(call, pass, request) : pass();
  };
  const endpoint = {
    address: env.address,
    outbound: { ...env.outbound, fetch },
    signal: signal ?? new AbortController().signal,
    keys: env.keys,
    pins: env.pins,
    ...env.requests,
  };
  return { endpoint, calls };
}

/** GET requests, and others that the connector declares. */
function readsOnly({ isRead }: Connector, url: URL, request: OutboundRequest): boolean {
  const { method } = request;
  return method === 'GET' || method === 'HEAD' || isRead?.(url, request) === true;
}

async function signInOnce(env: Environment): Promise<SignedIn> {
  const { credentials, one_time_code } = env;
  const response = await env.track(performSignIn(env, env.endpoint().endpoint, credentials, one_time_code?.()));
  if (response.outcome === 'signed_in') return response;
  return fail(`the sign-in returned ${response.outcome}${'reason' in response ? ` (${response.reason})` : ''}`);
}

type PageTarget = Pick<Environment, 'connector' | 'signInOnPage' | 'return_address'>;

/** A sign-in as the product does it: on the EMR's page, if the connector has one and the target can use it. */
export async function performSignIn(
  { connector, signInOnPage, return_address = nowhere }: PageTarget,
  endpoint: EmrEndpoint,
  credentials: Credentials,
  one_time_code: string | undefined,
): Promise<SignIn> {
  const { page_sign_in } = connector;
  if (!page_sign_in || !signInOnPage) return connector.signIn(endpoint, credentials, one_time_code);
  const back = { return_address, state: randomBytes(16).toString('hex') };
  const { url, pending } = await page_sign_in.start(endpoint, credentials, back);
  const redirected = (await signInOnPage(url)) ?? skip('the EMR refuses it on its own page');
  const returned = await page_sign_in.finish(endpoint, credentials, pending, redirected);
  if (returned.outcome === 'signed_in') return connector.signIn(endpoint, credentials, one_time_code, returned.grant);
  if (returned.reason === 'person' || returned.reason === 'expired')
    return fail(`the page refused: ${returned.reason}`);
  return returned;
}

/** Where the EMR's page redirects to, unless the target says so. Nothing listens there. */
const nowhere = 'http://127.0.0.1:9/link/return';

/** The product checks the account's capabilities first, so other operations count as missing. */
function onlySupported(emr: Partial<Operations>, capabilities: readonly string[]): Partial<Operations> {
  return Object.fromEntries(Object.entries(emr).filter(([name]) => capabilities.includes(name)));
}

type ReadOnce<Name extends ListName> = { rows: RowOf<Name>[]; calls: number };

function readListOnce<Name extends ListName>(env: Environment, name: Name): Promise<ReadOnce<Name>> {
  return env.memoize(`rows ${name}`, async () => {
    const { emr, calls } = await env.open();
    // Follows from ListName, but TypeScript loses it in the index access.
    const list = emr[name] as Listing<RowOf<Name> & { ehr_id: string }> | undefined;
    if (!list) return skipUnsupported(name);
    if (list.exported) return skip('the list is read by bulk export, which only a sync does');
    const all = await env.track(collect(list()));
    // An incremental list may return a changed record twice. The later one counts.
    const rows = list.incremental ? [...new Map(all.map((row) => [row.ehr_id, row])).values()] : all;
    return { rows, calls: calls.length };
  });
}

async function findPatient(env: Environment): Promise<{ ehr_id: string; mrn: string }> {
  const { emr } = await env.open();
  const { patient_mrn } = env;
  if (patient_mrn !== undefined && emr.findPatient) {
    return (await env.track(emr.findPatient(patient_mrn))) ?? fail('the named patient does not exist');
  }
  const [first] = await env.rows('listPatients');
  return first ?? skip('the EMR has no patients');
}

async function createPatient(env: Environment): Promise<{ ehr_id: string; mrn: string }> {
  const { emr } = await env.open();
  const input = await operations.createPatient.sample.input(env);
  const created = await emr.createPatient?.send(input, env.marker());
  return created ?? skip('no patient was named, and the EMR does not support createPatient');
}

async function writeSample(env: Environment, name: WriteName): Promise<string> {
  // The sample of a read must not write either.
  if (!env.writes) skip('writing synthetic records is not allowed');
  const { emr } = await env.open();
  const { write, declaration } = untyped(emr, name);
  if (!write) return skipUnsupported(name);
  return (await write.send(await declaration.sample.input(env), env.marker())).ehr_id;
}

/** A write and its declaration, independent of the type of its input. Both come from the entry of the same name. */
export function untyped(
  emr: Partial<Operations>,
  name: WriteName,
): { write: EmrWrite<unknown, Written> | undefined; declaration: WriteDeclaration<unknown, Operations> } {
  return {
    write: emr[name] as unknown as EmrWrite<unknown, Written> | undefined,
    declaration: operations[name] as unknown as WriteDeclaration<unknown, Operations>,
  };
}

/** A read and its declaration, in the same way. */
export function untypedRead(
  emr: Partial<Operations>,
  name: ReadName,
): { read: (...key: unknown[]) => Promise<unknown>; declaration: ReadDeclaration<unknown[], Operations> } {
  return {
    read: (emr[name] as ((...key: unknown[]) => Promise<unknown>) | undefined) ?? skipUnsupported(name),
    declaration: operations[name] as unknown as ReadDeclaration<unknown[], Operations>,
  };
}

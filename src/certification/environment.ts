import { randomBytes } from 'node:crypto';
import type {
  Connector,
  Credentials,
  EmrEndpoint,
  Grant,
  Listing,
  OperationName,
  Operations,
  SignIn,
} from '../connectors/connector.ts';
import { collect } from '../connectors/operations.ts';
import type { Outbound, OutboundRequest, OutboundResponse } from '../security/outbound.ts';
import { fail, skip } from './check.ts';

/** The connector under test, the EMR it is tried on, and what may be done there. */
export type CertificationTarget = {
  connector: Connector;
  address: string;
  credentials: Credentials;
  /** Asked once, for the one good sign-in. */
  one_time_code?: () => string | undefined;
  outbound: Outbound;
  /** Whether synthetic records may be written: patients of made-up names and what belongs to them. */
  writes: boolean;
  /** A chart that may be written into: a synthetic one. Without it the kit makes a patient of its own. */
  patient_mrn?: string | undefined;
  /** How many records a list has, where somebody knows. */
  counts?: Partial<Record<OperationName, number>>;
  /** Ends the session in the EMR (a new one may be had without a person), and the link (a person is needed). */
  endSession?: () => Promise<void>;
  endLink?: () => Promise<void>;
};

export type Call = { method: string; url: string; had_signal: boolean };
/** Stands between the connector and the EMR: passes a call on, answers it itself, or loses the answer. */
export type Interceptor = (
  call: Call,
  pass: () => Promise<OutboundResponse>,
  request: OutboundRequest,
) => Promise<OutboundResponse>;
export type Opened = { emr: Partial<Operations>; calls: Call[]; kept: Grant[] };
export type SignedIn = Extract<SignIn, { outcome: 'signed_in' }>;
type Opening = { intercept?: Interceptor; signal?: AbortSignal; grant?: Grant };

export type Environment = CertificationTarget & {
  endpoint(opening?: Opening): { endpoint: EmrEndpoint; calls: Call[] };
  /** The one good sign-in. */
  signIn(): Promise<SignedIn>;
  /** What it gave, for all that comes after it; without it nothing more can be tried. */
  session(): Promise<SignedIn>;
  open(opening?: Opening): Promise<Opened>;
  /** What this very account offers. */
  offers(): Promise<readonly OperationName[]>;
  /** All rows of a list, read once. */
  rows<Name extends ListName>(name: Name): Promise<RowOf<Name>[]>;
  /** How many calls that took. */
  callsOf(name: ListName): Promise<number>;
  /** A patient to read. */
  anyPatient(): Promise<{ ehr_id: string; mrn: string }>;
  /** Hands the promise on, and keeps what it fails with: at the end all failures are searched for secrets. */
  watch<T>(work: Promise<T>): Promise<T>;
  failures: unknown[];
  /** Every address that was called. */
  urls: Set<string>;
  /** A marker as the product makes them. */
  marker(): string;
  /** Letters that no record has yet. */
  tag(): string;
  remember<T>(key: string, make: () => Promise<T>): Promise<T>;
  /** Appointments are written an hour apart. */
  tried: { appointments: number };
};

export type ListName = {
  [Name in OperationName]: Operations[Name] extends Listing<{ ehr_id: string }> ? Name : never;
}[OperationName];
export type RowOf<Name extends ListName> = Operations[Name] extends Listing<infer Row> ? Row : never;

export function createEnvironment(world: CertificationTarget): Environment {
  const memory = new Map<string, Promise<unknown>>();
  const env: Environment = {
    ...world,
    failures: [],
    tried: { appointments: 0 },
    urls: new Set(),
    marker: () => `${randomBytes(16).toString('hex')}-certify`,
    tag: () => [...randomBytes(8)].map((byte) => String.fromCharCode(97 + (byte % 26))).join(''),
    remember: <T>(key: string, make: () => Promise<T>) => {
      // Under one key only ever the same `make` is asked for.
      const kept = memory.get(key) as Promise<T> | undefined;
      const made = kept ?? make();
      memory.set(key, made);
      return made;
    },
    watch: (work) =>
      work.catch((error: unknown) => {
        env.failures.push(error);
        throw error;
      }),
    endpoint: (opening = {}) => openEndpoint(env, opening),
    signIn: () => env.remember('session', () => signInWell(env)),
    session: () => env.signIn().catch(() => skip('nobody could sign in')),
    open: async (opening = {}) => {
      const { grant, capabilities, timezone } = await env.session();
      const { endpoint, calls } = env.endpoint(opening);
      const kept: Grant[] = [];
      const saveGrant = async (renewed: Grant) => void kept.push(renewed);
      const access = { credentials: world.credentials, grant: opening.grant ?? grant, saveGrant, timezone };
      const emr = world.connector.open(endpoint, access);
      return { emr: onlyOffered(emr, capabilities ?? world.connector.capabilities), calls, kept };
    },
    offers: async () => (await env.session()).capabilities ?? world.connector.capabilities,
    rows: async <Name extends ListName>(name: Name) => (await readOnce(env, name)).rows,
    callsOf: async (name) => (await readOnce(env, name)).calls,
    anyPatient: () => env.remember('somebody', () => findPatient(env)),
  };
  return env;
}

function openEndpoint(env: Environment, { intercept, signal }: Opening): { endpoint: EmrEndpoint; calls: Call[] } {
  const calls: Call[] = [];
  const fetch: Outbound['fetch'] = (url, request) => {
    const call = { method: request.method, url: String(url), had_signal: request.signal !== undefined };
    calls.push(call);
    env.urls.add(call.url);
    const pass = () => env.outbound.fetch(url, request);
    return intercept ? intercept(call, pass, request) : pass();
  };
  const endpoint = {
    address: env.address,
    outbound: { ...env.outbound, fetch },
    signal: signal ?? new AbortController().signal,
  };
  return { endpoint, calls };
}

async function signInWell(env: Environment): Promise<SignedIn> {
  const { connector, credentials, one_time_code } = env;
  const answer = await env.watch(connector.signIn(env.endpoint().endpoint, credentials, one_time_code?.()));
  if (answer.outcome === 'signed_in') return answer;
  return fail(`the sign-in ended as ${answer.outcome}${'reason' in answer ? ` (${answer.reason})` : ''}`);
}

/** The product looks at the account's own list first, so what is not on it is not there, whatever `open` gives. */
function onlyOffered(emr: Partial<Operations>, offers: readonly string[]): Partial<Operations> {
  return Object.fromEntries(Object.entries(emr).filter(([name]) => offers.includes(name)));
}

type ReadOnce<Name extends ListName> = { rows: RowOf<Name>[]; calls: number };

function readOnce<Name extends ListName>(env: Environment, name: Name): Promise<ReadOnce<Name>> {
  return env.remember(`rows ${name}`, async () => {
    const { emr, calls } = await env.open();
    // By the definition of ListName; TypeScript does not follow it through the index.
    const list = emr[name] as Listing<RowOf<Name> & { ehr_id: string }> | undefined;
    if (!list) return skip(`this EMR does not offer ${name}`);
    const all = await env.watch(collect(list()));
    // A list in the order of its changes meets a record again that changed meanwhile: the later one holds.
    const rows = list.incremental ? [...new Map(all.map((row) => [row.ehr_id, row])).values()] : all;
    return { rows, calls: calls.length };
  });
}

async function findPatient(env: Environment): Promise<{ ehr_id: string; mrn: string }> {
  const { emr } = await env.open();
  const { patient_mrn } = env;
  if (patient_mrn !== undefined && emr.findPatient) {
    return (await env.watch(emr.findPatient(patient_mrn))) ?? fail('the patient that was named is not there');
  }
  const [first] = await env.rows('listPatients');
  return first ?? skip('the EMR has no patient');
}

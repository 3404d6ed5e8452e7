import { AsyncLocalStorage } from 'node:async_hooks';
import type * as fhir from 'fhir/r4.js';
import type { Access, EmrEndpoint, Grant, MrnRule } from '../../connector.ts';
import { EmrFailure } from '../../emrFailure.ts';
import { createGrantStore } from '../../grantStore.ts';
import { requireTrusted } from '../sign-in/authorizationServer.ts';
import { refreshTokens, requestTokens, type TokenOutcome, toGrant } from '../sign-in/tokens.ts';
import { call } from './call.ts';
import {
  type Capabilities,
  mergeParams,
  type ParamFindings,
  type ServerFacts,
  toCapabilities,
} from './capabilities.ts';
import { canFind, create, findByMarker, findCreated, provesMarkers } from './creates.ts';
import { probeParams, readReferred, type Sample, samplePlanned } from './paramProbes.ts';
import { type Page, type SearchParams, search, searchAll } from './search.ts';
import { createBinary, read, type SendRequest } from './server.ts';
import { operate, type TypeOperation } from './typeOperations.ts';
import { update } from './updates.ts';

/** A FHIR server, used as the person who linked the account. */
export type FhirClient = {
  /** As of the last refresh. */
  capabilities: Capabilities;
  /** Which identifier of a patient is the MRN, if that is known. */
  mrn_rule: MrnRule | undefined;
  /** Changes what is known about the server, and stores it with the account. */
  learn: (change: (facts: ServerFacts) => void) => Promise<void>;
  /** Returns undefined if the record does not exist, or no longer does. */
  read<T extends fhir.FhirResource>(type: T['resourceType'], id: string): Promise<T | undefined>;
  /** A few records of a type. */
  sample(type: string): Promise<Sample>;
  /** All matches, page by page. `included` contains the records added by `_include`. */
  search<T extends fhir.FhirResource>(type: T['resourceType'], params: SearchParams): AsyncIterable<Page<T>>;
  /** All matches of a small search. Fails with `refused` above 1,000. */
  searchAll<T extends fhir.FhirResource>(type: T['resourceType'], params: SearchParams): Promise<T[]>;
  /**
   * Creates a record with our marker as an identifier, at most once if the server supports conditional creates. Returns
   * the stored record. Once the request was sent, anything but a definite response is `unknown_outcome`.
   */
  create<T extends fhir.FhirResource>(resource: T, marker: string): Promise<T>;
  /** Calls an operation of a type, such as `Appointment/$find`. A write is `unknown_outcome` once it was sent, as above. */
  operate(operation: TypeOperation): Promise<fhir.FhirResource | undefined>;
  /** Stores a file as a Binary in raw form. Returns its id. A failure leaves no chart changed. */
  createBinary(file: { content: Buffer; type: string; patient_ehr_id: string }): Promise<string>;
  /** The record with our marker, or undefined. Throws `unknown_outcome` if the server cannot search for it. */
  findByMarker<T extends fhir.FhirResource>(type: T['resourceType'], marker: string): Promise<T | undefined>;
  /** The same after a create whose response was lost. Throws `unknown_outcome` if absence would prove nothing. */
  findCreated<T extends fhir.FhirResource>(type: T['resourceType'], marker: string): Promise<T | undefined>;
  /** Whether records of this type are found by our markers, so that an empty search means that there is none. */
  provesMarkers(type: fhir.FhirResource['resourceType']): Promise<boolean>;
  /** Runs a write, and `sending` before its first request that may change something. */
  announce<T>(sending: (() => Promise<void>) | undefined, write: () => Promise<T>): Promise<T>;
  /** Whether `findByMarker` works for this type. */
  canFind(type: string): boolean;
  /**
   * Applies `change` to the newest version and stores it with `If-Match`. On a version conflict, reads and applies
   * again, three attempts in total. `change` compares `current` with `first`, the version read first, and throws
   * `refused` if someone else changed the same fields.
   */
  update<T extends fhir.FhirResource>(
    type: T['resourceType'],
    id: string,
    change: (current: T, first: T) => T,
    marker: string,
  ): Promise<{ before: T; after: T }>;
};

/** `session`: shared with another API of the same server, which accepts the same token. */
export function createClient(
  endpoint: EmrEndpoint,
  access: Access,
  session: Session = openSession(endpoint, access),
): FhirClient {
  // Written by signIn from a value of this type.
  const stored: ServerFacts = JSON.parse(access.grant.server ?? '{"types":{}}');
  const facts: ServerFacts = { ...stored, unmarked: stored.unmarked ?? [] };
  // Reads `facts`, so what is learned applies immediately.
  const capabilities = toCapabilities(facts);
  const learn = (change: (facts: ServerFacts) => void) => {
    change(facts);
    return session.save({ ...session.grant(), server: JSON.stringify(facts) });
  };
  const recordParams = async (type: string, findings: ParamFindings) => {
    if (mergeParams(facts, type, findings)) await learn(() => {});
  };
  const probed = new Set<string>();
  const base = new URL(endpoint.address);
  const searched = { base, request: session.request, capabilities };
  const sample = (type: string) => samplePlanned(searched, type, capabilities.listPlan(type)?.sample);
  const probeType = async (type: string) => {
    if (probed.has(type)) return;
    probed.add(type);
    const { outcome, records, working, useless } = await sample(type);
    await recordParams(type, { working, useless });
    const referred =
      type === 'Patient' && outcome === 'narrow'
        ? await readReferred(searched, type, [await sample('Appointment')])
        : [];
    const declared = capabilities.searchParams(type);
    const findings = await probeParams(searched, type, [...records, ...referred], declared);
    await recordParams(type, findings);
    if (outcome !== 'unknown' && !findings.failed) return;
    probed.delete(type);
    throw new EmrFailure('unavailable', 'The EMR did not respond when an empty result was checked.');
  };
  const { request } = session;
  const { shared_markers } = access;
  const dry_run = endpoint.dry_run === true;
  const server = { base, request, capabilities, facts, dry_run, learn, shared_markers, recordParams, probeType };
  return {
    capabilities,
    mrn_rule: access.mrn_rule,
    learn,
    sample,
    read: (type, id) => read(server, type, id),
    search: (type, params) => search(server, type, params),
    searchAll: (type, params) => searchAll(server, type, params),
    create: (resource, marker) => create(server, resource, marker),
    operate: (operation) => operate(server, operation),
    createBinary: (file) => createBinary(server, file),
    findByMarker: (type, marker) => findByMarker(server, type, marker),
    findCreated: (type, marker) => findCreated(server, type, marker),
    provesMarkers: (type) => provesMarkers(server, type),
    announce: session.announce,
    canFind: (type) => canFind(server, type),
    update: (type, id, change, marker) => update(server, { type, id, change, marker }),
  };
}

export type Session = {
  request: SendRequest;
  /**
   * Sends a request with the token, of whatever API of the server. `refusesToken`: whether the response means that the
   * token is no longer valid.
   */
  send<T>(
    request: { writes?: boolean },
    exchange: (access_token: string | undefined) => Promise<T>,
    refusesToken: (response: T) => boolean,
  ): Promise<T>;
  announce: FhirClient['announce'];
  /** The current grant, which a request may have renewed. */
  grant: () => Grant;
  /** Stores a grant with changed server facts. */
  save: (grant: Grant) => Promise<void>;
};

/**
 * Sends requests as the person who linked the account. An expired or rejected token is renewed once without a person. A
 * request rejected with 401 was not applied, so it is repeated, including writes.
 */
export function openSession(endpoint: EmrEndpoint, access: Access): Session {
  const grant = createGrantStore(endpoint, access, (before, signal) => renew({ ...endpoint, signal }, access, before));
  const announced = new AsyncLocalStorage<() => Promise<void>>();
  const send: Session['send'] = async ({ writes }, exchange, refusesToken) => {
    const attempt = async () => {
      // After a renewal, which may take seconds: a write that was announced and not sent has to be looked up.
      if (writes) await announced.getStore()?.();
      const used = grant.current();
      return { used, response: await exchange(used.access_token) };
    };
    if (isExpired(grant.current())) await grant.renew(grant.current());
    const first = await attempt();
    if (!refusesToken(first.response)) return first.response;
    await grant.renew(first.used);
    const second = await attempt();
    if (!refusesToken(second.response)) return second.response;
    // Another process may have renewed it once more, and some servers accept only the newest token.
    await grant.reread(second.used, signInRefused());
    const last = await attempt();
    if (refusesToken(last.response)) throw signInRefused();
    return last.response;
  };
  return {
    request: (input) =>
      send(
        input,
        (access_token) => call(endpoint, input, access_token),
        ({ status }) => status === 401,
      ),
    send,
    announce: (sending, write) => (sending ? announced.run(sending, write) : write()),
    grant: grant.current,
    save: async (updated) => {
      await access.saveGrant(updated);
      grant.replace(updated);
    },
  };
}

/** A token that is about to expire might expire in transit. */
const expiry_margin_ms = 10_000;

function isExpired({ expires_at }: Grant): boolean {
  return expires_at !== undefined && Number(expires_at) - expiry_margin_ms < Date.now();
}

function signInRefused(): EmrFailure {
  return new EmrFailure('login_required', 'The EMR no longer accepts the sign-in.');
}

async function renew(endpoint: EmrEndpoint, access: Access, grant: Grant): Promise<Grant> {
  const outcome = await requestNewTokens(endpoint, access, grant);
  if ('refused' in outcome) throw signInRefused();
  // If the response names no scopes, they are unchanged.
  const tokens = { ...(grant.scope !== undefined && { scope: grant.scope }), ...outcome.tokens };
  const renewed = toGrant(tokens, outcome.authority, grant.server ?? '');
  // Without a new refresh token, the old one stays valid.
  const { refresh_token } = grant;
  return renewed.refresh_token || !refresh_token ? renewed : { ...renewed, refresh_token };
}

async function requestNewTokens(endpoint: EmrEndpoint, { credentials }: Access, grant: Grant): Promise<TokenOutcome> {
  if (!grant.authority) throw new EmrFailure('login_required', 'The EMR no longer accepts the bearer token.');
  // Written by signIn from a value of this type.
  const authority = JSON.parse(grant.authority);
  // The owner may have changed the EMR app since.
  requireTrusted(endpoint, authority, { page: credentials.way === 'authorization_code', kind: 'login_required' });
  if (credentials.way !== 'authorization_code') return requestTokens({ endpoint, authority, credentials });
  if (!grant.refresh_token) throw new EmrFailure('login_required', 'The EMR requires a new sign-in.');
  return refreshTokens({ endpoint, authority, credentials }, grant.refresh_token);
}

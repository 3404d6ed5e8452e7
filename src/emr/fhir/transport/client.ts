import { AsyncLocalStorage } from 'node:async_hooks';
import type * as fhir from 'fhir/r4.js';
import type { Access, EmrEndpoint, MrnRule } from '../../connector.ts';
import { samplePatients } from '../mrn.ts';
import type { Page } from './bundles.ts';
import {
  type Capabilities,
  mergeParams,
  type ParamFindings,
  type ServerFacts,
  toCapabilities,
} from './capabilities.ts';
import { canFind, create, findByMarker, findCreated, provesMarkers } from './creates.ts';
import { probeParams, readReferred, sampleType } from './paramProbes.ts';
import { createBinary, read } from './resources.ts';
import { type SearchParams, search, searchAll } from './search.ts';
import { openSession } from './session.ts';
import { update } from './updates.ts';

export type { Page } from './bundles.ts';
export { marker_system } from './markers.ts';
export type { SearchParams } from './search.ts';
export { searchValue } from './search.ts';

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
  /** A few current patients, to see what their identifiers look like. Undefined if the server did not list them. */
  samplePatients(): Promise<fhir.Patient[] | undefined>;
  /** All matches, page by page. `included` contains the records added by `_include`. */
  search<T extends fhir.FhirResource>(type: T['resourceType'], params: SearchParams): AsyncIterable<Page<T>>;
  /** All matches of a small search. Fails with `refused` above 1,000. */
  searchAll<T extends fhir.FhirResource>(type: T['resourceType'], params: SearchParams): Promise<T[]>;
  /**
   * Creates a record with our marker as an identifier, at most once if the server supports conditional creates. Returns
   * the stored record. Once the request was sent, anything but a definite response is `unknown_outcome`.
   */
  create<T extends fhir.FhirResource>(resource: T, marker: string): Promise<T>;
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

export function openClient(endpoint: EmrEndpoint, access: Access): FhirClient {
  // Written by signIn from a value of this type.
  const stored: ServerFacts = JSON.parse(access.grant.server ?? '{"types":{}}');
  const facts: ServerFacts = { ...stored, unmarked: stored.unmarked ?? [] };
  // Reads `facts`, so what is learned applies immediately.
  const capabilities = toCapabilities(facts);
  const announced = new AsyncLocalStorage<() => Promise<void>>();
  const session = openSession(endpoint, access, async ({ writes }) => {
    if (writes) await announced.getStore()?.();
  });
  const learn = (change: (facts: ServerFacts) => void) => {
    change(facts);
    return session.save({ ...session.grant(), server: JSON.stringify(facts) });
  };
  const recordParams = async (type: string, found: ParamFindings) => {
    if (mergeParams(facts, type, found)) await learn(() => {});
  };
  const probed = new Set<string>();
  const base = new URL(endpoint.address);
  const probeType = async (type: string) => {
    if (probed.has(type)) return;
    probed.add(type);
    const searched = { base, request: session.request, capabilities };
    const { outcome, records, working, useless } = await sampleType(searched, type);
    await recordParams(type, { working, useless });
    const referred =
      type === 'Patient' && outcome === 'narrow'
        ? await readReferred(searched, type, [await sampleType(searched, 'Appointment')])
        : [];
    const found = await probeParams(searched, type, [...records, ...referred], capabilities.searchParams(type));
    await recordParams(type, found);
  };
  const { request } = session;
  const { shared_markers } = access;
  const server = { base, request, capabilities, facts, learn, shared_markers, recordParams, probeType };
  return {
    capabilities,
    mrn_rule: access.mrn_rule,
    learn,
    samplePatients: () => samplePatients(server),
    read: (type, id) => read(server, type, id),
    search: (type, params) => search(server, type, params),
    searchAll: (type, params) => searchAll(server, type, params),
    create: (resource, marker) => create(server, resource, marker),
    createBinary: (file) => createBinary(server, file),
    findByMarker: (type, marker) => findByMarker(server, type, marker),
    findCreated: (type, marker) => findCreated(server, type, marker),
    provesMarkers: (type) => provesMarkers(server, type),
    announce: (sending, write) => (sending ? announced.run(sending, write) : write()),
    canFind: (type) => canFind(server, type),
    update: (type, id, change, marker) => update(server, type, id, change, marker),
  };
}

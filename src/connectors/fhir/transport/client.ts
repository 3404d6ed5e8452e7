import type * as fhir from 'fhir/r4.js';
import type { Access, EmrEndpoint } from '../../connector.ts';
import type { Page } from './bundles.ts';
import { type Capabilities, type ServerFacts, toCapabilities } from './capabilities.ts';
import { canFind, create, findByMarker, read, update } from './resources.ts';
import { type SearchParams, search, searchAll } from './search.ts';
import { openSession } from './session.ts';

export type { Page } from './bundles.ts';
export { marker_system } from './resources.ts';
export type { SearchParams } from './search.ts';
export { searchValue } from './search.ts';

/** A FHIR server, as the person who linked the account may use it. */
export type FhirClient = {
  /** What the server said of itself, and showed, when it was last looked at. */
  capabilities: Capabilities;
  /** Undefined for what is not there (any more). */
  read<T extends fhir.FhirResource>(type: T['resourceType'], id: string): Promise<T | undefined>;
  /** Every match, page by page to the end. What came along (`_include`) is in `included`. */
  search<T extends fhir.FhirResource>(type: T['resourceType'], params: SearchParams): AsyncIterable<Page<T>>;
  /** All matches of a search that is known to be small; more than a thousand are refused. */
  searchAll<T extends fhir.FhirResource>(type: T['resourceType'], params: SearchParams): Promise<T[]>;
  /**
   * Creates with our marker among its identifiers, at most once where the server can make sure of that. Gives the
   * stored resource. After the request was sent anything but a definite answer is `unknown_outcome`.
   */
  create<T extends fhir.FhirResource>(resource: T, marker: string): Promise<T>;
  /** The resource that bears our marker, or undefined; `unknown_outcome` where the server cannot be asked. */
  findByMarker<T extends fhir.FhirResource>(type: T['resourceType'], marker: string): Promise<T | undefined>;
  /** Whether `findByMarker` can be asked for this type. */
  canFind(type: string): boolean;
  /**
   * Lets `change` alter the newest version and stores it tied to that version. When others were faster it is read and
   * changed again, three times at most; `change` throws `refused` where others changed the fields it means to write,
   * which it tells by comparing `current` with `first`, the version seen first.
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
  const known: ServerFacts = JSON.parse(access.grant.server ?? '{"types":{}}');
  const unmarked = known.unmarked ?? [];
  const facts = { ...known, unmarked };
  const capabilities = toCapabilities(facts);
  const session = openSession(endpoint, access);
  const recordUnmarked = (type: string) => {
    // The list that `capabilities` looks into: it holds at once.
    unmarked.push(type);
    return session.keep({ ...session.grant(), server: JSON.stringify(facts) });
  };
  const server = { base: new URL(endpoint.address), ask: session.ask, capabilities, recordUnmarked };
  return {
    capabilities,
    read: (type, id) => read(server, type, id),
    search: (type, params) => search(server, type, params),
    searchAll: (type, params) => searchAll(server, type, params),
    create: (resource, marker) => create(server, resource, marker),
    findByMarker: (type, marker) => findByMarker(server, type, marker),
    canFind: (type) => canFind(server, type),
    update: (type, id, change, marker) => update(server, type, id, change, marker),
  };
}

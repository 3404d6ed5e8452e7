import type * as fhir from 'fhir/r4.js';
import type { FhirClient } from './transport/client.ts';
import { list, text } from './values.ts';

/** What every operation needs: the server, and the time zone of the practice. `changes`: shared by the lists of a sync. */
export type Emr = { client: FhirClient; timezone: string; changes: Changes };

/** What changed on the server. Several lists are made of the same records, so each type is requested once per sync. */
export type Changes = {
  /** The records of a type that changed since an instant. undefined: the server cannot say. */
  since<T extends fhir.FhirResource>(type: T['resourceType'], instant: string): Promise<T[] | undefined>;
};

/**
 * The id in a relative reference to this type. Absolute references are ignored: they may point to another server, where
 * Patient/7 is a different person.
 */
export function refId(reference: fhir.Reference | undefined, type: string): string | null {
  const [, named, id] =
    /^([A-Za-z]+)\/([A-Za-z0-9.-]{1,64})(\/_history\/.+)?$/.exec(text(reference?.reference) ?? '') ?? [];
  return named === type && id !== undefined ? id : null;
}

/** The distinct ids of all references to this type. */
export function refIds(references: readonly (fhir.Reference | undefined)[], type: string): string[] {
  return [...new Set(references.map((each) => refId(each, type)).filter((id) => id !== null))];
}

/** Leaves out records of other patients: a server that ignores the criterion returns everyone's. */
export function onlyOf<T>(
  patient_ehr_id: string,
  found: readonly T[],
  patientsIn: (resource: T) => readonly (fhir.Reference | undefined)[],
): T[] {
  return found.filter((each) => {
    const ids = refIds(patientsIn(each), 'Patient');
    return ids.length === 0 || ids.includes(patient_ehr_id);
  });
}

/** A record contained in the one that refers to it (`#payer`). */
export function containedResource<T extends fhir.FhirResource>(
  holder: fhir.DomainResource,
  reference: fhir.Reference | undefined,
  type: T['resourceType'],
): T | undefined {
  const name = text(reference?.reference);
  if (!name?.startsWith('#')) return undefined;
  const found = list(holder.contained).find((each) => each.resourceType === type && `#${each.id}` === name);
  // Its resourceType determines its type.
  return found as T | undefined;
}

/** Loads referenced records in batches and caches them for the following pages. */
export type Resolver = {
  load<T extends fhir.FhirResource>(type: T['resourceType'], ids: readonly string[]): Promise<ReadonlyMap<string, T>>;
};

export function createResolver(client: FhirClient): Resolver {
  const cache = new Map<string, Map<string, fhir.FhirResource | undefined>>();
  return {
    async load<T extends fhir.FhirResource>(type: T['resourceType'], ids: readonly string[]) {
      const known = cache.get(type) ?? new Map<string, T | undefined>();
      if (known.size > cache_max) known.clear();
      cache.set(type, known);
      const missing = [...new Set(ids)].filter((id) => !known.has(id));
      for (const [id, found] of await fetchAll<T>(client, type, missing)) known.set(id, found);
      const pairs = ids.map((id): [string, fhir.FhirResource | undefined] => [id, known.get(id)]);
      // Each map contains records of one type only.
      return new Map(pairs.filter((pair): pair is [string, T] => pair[1] !== undefined));
    },
  };
}

/** Splits a list of references for one search each: 100 references of 45 characters fit in a URL of 8 KB. */
export function inChunks<T>(all: readonly T[]): T[][] {
  const chunks: T[][] = [];
  for (let n = 0; n < all.length; n += chunk_size) chunks.push(all.slice(n, n + chunk_size));
  return chunks;
}

const chunk_size = 100;
/** Per type. A page refers to a few hundred records, so that most of a practice's people stay cached. */
const cache_max = 2000;

async function fetchAll<T extends fhir.FhirResource>(
  client: FhirClient,
  type: T['resourceType'],
  ids: readonly string[],
): Promise<Map<string, T | undefined>> {
  const found = new Map<string, T | undefined>(ids.map((id) => [id, undefined]));
  const { capabilities } = client;
  const searchable = capabilities.interactions(type).has('search-type') && capabilities.searchParams(type).has('_id');
  if (searchable && ids.length > 1) {
    for (const chunk of inChunks(ids)) {
      for (const each of await client.searchAll<T>(type, { _id: chunk.join(',') })) {
        if (each.id !== undefined && found.has(each.id)) found.set(each.id, each);
      }
    }
    return found;
  }
  if (!capabilities.interactions(type).has('read')) return found;
  for (const id of ids) found.set(id, await client.read<T>(type, id));
  return found;
}

/** Records that refer to these ones by one of the search parameters. Empty if the server supports none of them. */
export async function findReferencing<T extends fhir.FhirResource>(
  client: FhirClient,
  type: T['resourceType'],
  params: readonly string[],
  references: readonly string[],
): Promise<T[]> {
  const param = params.find((name) => canSearch(client, type, [name]));
  if (param === undefined) return [];
  const all: T[] = [];
  for (const chunk of inChunks(references)) {
    for await (const { matches } of client.search<T>(type, { [param]: chunk.join(',') })) all.push(...matches);
  }
  return all;
}

export function canSearch({ capabilities }: FhirClient, type: string, params: readonly string[] = []): boolean {
  const known = capabilities.searchParams(type);
  return capabilities.interactions(type).has('search-type') && params.every((name) => known.has(name));
}

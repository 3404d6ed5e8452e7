import type * as fhir from 'fhir/r4.js';
import type { ExportedRecords } from '../bulkExports.ts';
import type { FhirClient } from './transport/client.ts';
import { first_day } from './transport/plans.ts';
import type { SearchParams } from './transport/search.ts';
import { list, text } from './values.ts';

/** What every operation needs: the server, and the time zone of the practice. `changes`: shared by the lists of a sync. */
export type Emr = {
  client: FhirClient;
  timezone: string;
  changes: Changes;
  /** What the last bulk export has read. Only syncs have it. */
  exported?: ExportedRecords | undefined;
};

/** What changed on the server. Several lists are made of the same records, so each type is requested once per sync. */
export type Changes = {
  /** The records of a type that changed since an instant. Undefined if the server cannot say. */
  since<T extends fhir.FhirResource>(type: T['resourceType'], instant: string): Promise<T[] | undefined>;
};

type Reference = fhir.Reference | undefined;

/**
 * The id in a relative reference to this type. Absolute references are ignored: they may point to another server, where
 * Patient/7 is a different person.
 */
export function refId(reference: Reference, type: string): string | null {
  const [, named_type, id] =
    /^([A-Za-z]+)\/([A-Za-z0-9.-]{1,64})(\/_history\/.+)?$/.exec(text(reference?.reference) ?? '') ?? [];
  return named_type === type && id !== undefined ? id : null;
}

/** The distinct ids of all references to this type. */
export function refIds(references: readonly Reference[], type: string): string[] {
  return [...new Set(references.map((each) => refId(each, type)).filter((id) => id !== null))];
}

/** The participants of an appointment: patient, practitioners or their roles, location. */
export function readActors({ participant }: Pick<fhir.Appointment, 'participant'>): Reference[] {
  return list(participant).map(({ actor }) => actor);
}

/** Loads referenced records in batches and caches them for the following pages. */
export type Resolver = {
  load<T extends fhir.FhirResource>(type: T['resourceType'], ids: readonly string[]): Promise<ReadonlyMap<string, T>>;
};

export function createResolver(client: FhirClient): Resolver {
  const cache = new Map<string, Map<string, fhir.FhirResource | undefined>>();
  return {
    async load<T extends fhir.FhirResource>(type: T['resourceType'], ids: readonly string[]) {
      const cached = cache.get(type) ?? new Map<string, T | undefined>();
      if (cached.size > cache_max) cached.clear();
      cache.set(type, cached);
      const missing = [...new Set(ids)].filter((id) => !cached.has(id));
      for (const [id, record] of await loadMissing<T>(client, type, missing)) cached.set(id, record);
      const pairs = ids.map((id): [string, fhir.FhirResource | undefined] => [id, cached.get(id)]);
      // Each map contains records of one type only.
      return new Map(pairs.filter((pair): pair is [string, T] => pair[1] !== undefined));
    },
  };
}

/** Per type. A page refers to a few hundred records, so that most of a practice's people stay cached. */
const cache_max = 2000;

/** By id; undefined for those that the server does not have. */
async function loadMissing<T extends fhir.FhirResource>(
  client: FhirClient,
  type: T['resourceType'],
  ids: readonly string[],
): Promise<Map<string, T | undefined>> {
  const records = new Map<string, T | undefined>(ids.map((id) => [id, undefined]));
  if (canSearch(client, type, ['_id']) && ids.length > 1) {
    for (const chunk of inChunks(ids)) {
      for (const each of await client.searchAll<T>(type, { _id: chunk.join(',') })) {
        if (each.id !== undefined && records.has(each.id)) records.set(each.id, each);
      }
    }
    return records;
  }
  if (!client.capabilities.interactions(type).has('read')) return records;
  for (const id of ids) records.set(id, await client.read<T>(type, id));
  return records;
}

/** The record that a reference names: one contained in the referring record (`#payer`), or one of those loaded. */
export function findReferred<T extends fhir.FhirResource>(
  referring: fhir.DomainResource,
  reference: Reference,
  type: T['resourceType'],
  loaded: ReadonlyMap<string, T>,
): T | undefined {
  const name = text(reference?.reference);
  if (!name?.startsWith('#')) return loaded.get(refId(reference, type) ?? '');
  const contained = list(referring.contained).find((each) => each.resourceType === type && `#${each.id}` === name);
  // Its resourceType determines its type.
  return contained as T | undefined;
}

/** Practitioners and their roles, by id: servers refer to either. */
export type Practitioners = {
  practitioners: ReadonlyMap<string, fhir.Practitioner>;
  roles: ReadonlyMap<string, fhir.PractitionerRole>;
};

export async function loadPractitioners(resolver: Resolver, references: readonly Reference[]): Promise<Practitioners> {
  const roles = await loadReferredRoles(resolver, references);
  const people = [...references, ...[...roles.values()].map(({ practitioner }) => practitioner)];
  return {
    roles,
    practitioners: await resolver.load<fhir.Practitioner>('Practitioner', refIds(people, 'Practitioner')),
  };
}

/** The roles among these references, for `practitionerId`. */
export function loadReferredRoles(
  resolver: Resolver,
  references: readonly Reference[],
): Promise<Practitioners['roles']> {
  return resolver.load<fhir.PractitionerRole>('PractitionerRole', refIds(references, 'PractitionerRole'));
}

/** The id of the practitioner that a reference names, directly or by a role. */
export function practitionerId(reference: Reference, roles: Practitioners['roles']): string | null {
  const role = roles.get(refId(reference, 'PractitionerRole') ?? '');
  return refId(reference, 'Practitioner') ?? refId(role?.practitioner, 'Practitioner');
}

/** Splits a list of references for one search each: 100 references of 45 characters fit in a URL of 8 KB. */
export function inChunks<T>(all: readonly T[]): T[][] {
  const chunks: T[][] = [];
  for (let n = 0; n < all.length; n += chunk_size) chunks.push(all.slice(n, n + chunk_size));
  return chunks;
}

const chunk_size = 100;

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
  const days = requiredDays(client, type);
  for (const chunk of days ? references.map((each) => [each]) : inChunks(references)) {
    const criteria = { [param]: chunk.join(','), ...days };
    for await (const { matches } of client.search<T>(type, criteria)) all.push(...matches);
  }
  return all;
}

/**
 * The criterion that servers require which list a type only for one participant and a range of days. Each search names
 * one participant then. Undefined for other servers.
 */
export function requiredDays({ capabilities }: FhirClient, type: string): SearchParams | undefined {
  const plan = capabilities.listPlan(type);
  return plan?.by === 'days' && plan.for_each ? { [plan.param]: `ge${first_day}` } : undefined;
}

export function canSearch({ capabilities }: FhirClient, type: string, params: readonly string[] = []): boolean {
  const supported = capabilities.searchParams(type);
  return capabilities.interactions(type).has('search-type') && params.every((name) => supported.has(name));
}

/** The records of a patient's chart, by the parameter `patient`. */
export async function searchChart<T extends fhir.FhirResource>(
  client: FhirClient,
  type: T['resourceType'],
  patient_ehr_id: string,
  readPatients: (record: T) => readonly Reference[],
): Promise<T[]> {
  const params: SearchParams = { patient: `Patient/${patient_ehr_id}`, ...requiredDays(client, type) };
  return keepOwn(patient_ehr_id, await client.searchAll<T>(type, params), readPatients);
}

/** The same by the parameter `patient` or `subject`. Empty if the server supports neither. */
export async function findInChart<T extends fhir.FhirResource>(
  client: FhirClient,
  type: T['resourceType'],
  patient_ehr_id: string,
  readPatients: (record: T) => readonly Reference[],
): Promise<T[]> {
  const records = await findReferencing<T>(client, type, chart_params, [`Patient/${patient_ehr_id}`]);
  return keepOwn(patient_ehr_id, records, readPatients);
}

export const chart_params = ['patient', 'subject'];

/** Leaves out records of other patients: a server that ignores the criterion returns everyone's. */
function keepOwn<T>(
  patient_ehr_id: string,
  records: readonly T[],
  readPatients: (record: T) => readonly Reference[],
): T[] {
  return records.filter((each) => {
    const ids = refIds(readPatients(each), 'Patient');
    return ids.length === 0 || ids.includes(patient_ehr_id);
  });
}

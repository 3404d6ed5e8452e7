import type * as fhir from 'fhir/r4.js';
import type { LeftRecord, Listing, ListPage } from '../operations/operation.ts';
import { isExported, readExported, requireExported } from './bulk/exportedRecords.ts';
import { isReadByDays, type ReadScope, readList } from './listReads.ts';
import { type Changes, canSearch, createResolver, type Emr, inChunks, type Resolver } from './references.ts';
import type { FhirClient } from './transport/client.ts';
import { first_day } from './transport/plans.ts';
import type { Page, SearchParams } from './transport/search.ts';

type Resource = fhir.FhirResource;

/** Another type that is part of our records: when one of its records changes, the owner must be read again. */
type Dependent = {
  type: Resource['resourceType'];
  /** The owners of the records that changed since an instant, page by page. */
  changedOwners: (client: FhirClient, since: string) => AsyncIterable<string[]>;
};

/** `owner` returns the id of the record that a record of this type belongs to. */
export function dependent<T extends Resource>(
  type: T['resourceType'],
  owner: (resource: T) => string | null,
): Dependent {
  return {
    type,
    changedOwners: async function* (client, since) {
      for await (const { matches } of client.search<T>(type, { _lastUpdated: `ge${since}` })) {
        yield [...new Set(matches.map(owner).filter((id) => id !== null))];
      }
    },
  };
}

/** A list: the resource type and the mapping of a page. */
export type List<T extends Resource, Source> = {
  type: T['resourceType'];
  params?: SearchParams;
  toSources: (page: T[], emr: Emr, resolver: Resolver) => Promise<Source[]>;
  dependents?: readonly Dependent[];
  /** A record that is no longer part of the list although it still exists: a merged chart. */
  toLeft?: (resource: T, emr: Emr) => LeftRecord | undefined;
};

/** A long list, which supports incremental reads if the server can search by `_lastUpdated`. */
export function incrementalList<T extends Resource, Source>(emr: Emr, list: List<T, Source>): Listing<Source> {
  if (isExported(emr.client, list.type)) return exportedList(emr, list);
  if (isReadByDays(emr.client, list.type)) {
    const read: Listing<Source> = ({ since } = {}) =>
      readAll(emr, list, { scope: since === undefined ? 'all' : 'near' });
    return Object.assign(read, { incremental: true as const, windowed: true as const });
  }
  if (!canSearch(emr.client, list.type, ['_lastUpdated'])) return () => readAll(emr, list);
  const listing: Listing<Source> = ({ since, from } = {}) => readOrdered(emr, list, since, from);
  const verifiable =
    emr.client.capabilities.interactions(list.type).has('read') || canSearch(emr.client, list.type, ['_id']);
  return Object.assign(listing, {
    incremental: true as const,
    ...(verifiable && { findDeleted: (ids: readonly string[]) => findDeleted(emr, list, ids) }),
  });
}

/** A list whose records are made of one type only. */
export function plainList<T extends Resource, Source>(emr: Emr, list: List<T, Source>): Listing<Source> {
  return shortList(emr, list, [list.type], async (since) => {
    const changed = await emr.changes.since<T>(list.type, since);
    return changed && new Set(changed.map(({ id }) => id ?? ''));
  });
}

/**
 * A short list. If nothing it is made of has changed, it costs one request per type, which other lists share.
 * `findChanged` returns the ids of the records to read again, or undefined if the server cannot say.
 */
export function shortList<T extends Resource, Source>(
  emr: Emr,
  list: List<T, Source>,
  types: readonly Resource['resourceType'][],
  findChanged: (since: string) => Promise<ReadonlySet<string> | undefined>,
): Listing<Source> {
  if (isExported(emr.client, list.type)) return exportedList(emr, list);
  if (!canListChanges(emr, types)) return () => readAll(emr, list);
  const read = async function* ({ since }: { since?: string | undefined } = {}): AsyncGenerator<ListPage<Source>> {
    const ids = since === undefined ? undefined : await findChanged(since);
    if (!ids) {
      yield* readAll(emr, list);
      return;
    }
    const resolver = createResolver(emr.client);
    const records = await resolver.load<T>(list.type, [...ids]);
    if (records.size > 0) yield await list.toSources([...records.values()], emr, resolver);
  };
  return Object.assign(read, { incremental: true as const });
}

/** A list that cannot be read in parts: if anything it is made of has changed, it is read as a whole. */
export function wholeList<Source>(
  emr: Emr,
  types: readonly Resource['resourceType'][],
  readWhole: () => AsyncIterable<Source[]>,
  hasChanged = (since: string) => anyChanged(emr, types, since),
): Listing<Source> {
  const exported_types = types.filter((type) => isExported(emr.client, type));
  if (exported_types.length > 0) {
    // Records of another type than the first have it in their ids.
    const toId = (type: string, id: string) => (type === types[0] ? id : `${type}/${id}`);
    const findDeleted = (ids: readonly string[]) => findExportedDeletions(emr, exported_types, ids, toId);
    return Object.assign(() => readWhole(), { exported: true as const, findDeleted });
  }
  if (!canListChanges(emr, types)) return () => readWhole();
  const read = async function* ({ since }: { since?: string | undefined } = {}): AsyncGenerator<ListPage<Source>> {
    if (since !== undefined && !(await hasChanged(since))) return;
    for await (const page of readWhole()) yield Object.assign(page, { whole: true as const });
    yield Object.assign([], { whole: true as const });
  };
  return Object.assign(read, { incremental: true as const });
}

/** A list that is read from the files of a bulk export. What these contain, all or changes, does not depend on the read. */
function exportedList<T extends Resource, Source>(emr: Emr, list: List<T, Source>): Listing<Source> {
  const read = async function* ({ from }: { from?: string | undefined } = {}): AsyncGenerator<ListPage<Source>> {
    const resolver = createResolver(emr.client);
    const parts = readExported<T>(requireExported(emr.exported), list.type, from === undefined ? -1 : Number(from));
    for await (const { matches, n, ...limits } of parts) {
      const page = await toListPage({ emr, list, resolver }, matches);
      yield Object.assign(page, limits, { through: String(n) });
    }
  };
  const findDeleted = (ids: readonly string[]) => findExportedDeletions(emr, [list.type], ids);
  return Object.assign(read, { exported: true as const, findDeleted });
}

/** Those of these records that the export names as deleted. */
async function findExportedDeletions(
  { exported }: Emr,
  types: readonly string[],
  ids: readonly string[],
  toId = (_type: string, id: string) => id,
): Promise<string[]> {
  const deleted = new Set<string>();
  for (const type of types) {
    for (const id of await requireExported(exported).readDeleted(type)) deleted.add(toId(type, id));
  }
  return ids.filter((id) => deleted.has(id));
}

/** Whether the server can list changes of all these types, as far as it has them. */
function canListChanges({ client }: Emr, types: readonly Resource['resourceType'][]): boolean {
  return types.every((type) => !canSearch(client, type) || canSearch(client, type, ['_lastUpdated']));
}

/** Whether any record of these types has changed. */
export async function anyChanged(
  { client, changes }: Emr,
  types: readonly Resource['resourceType'][],
  since: string,
): Promise<boolean> {
  for (const type of types.filter((each) => canSearch(client, each))) {
    const changed = await changes.since(type, since);
    if (changed === undefined || changed.length > 0) return true;
  }
  return false;
}

/**
 * Those of these records that the server no longer has. Lists ids only, and looks up the missing ones, because a list
 * that changes while it is read may skip a record.
 */
async function findDeleted<T extends Resource>(
  emr: Emr,
  { type, params = {} }: Pick<List<T, unknown>, 'type' | 'params'>,
  ids: readonly string[],
): Promise<string[]> {
  const missing = new Set(ids);
  const ids_only = { ...params, _elements: 'id', _count: String(ids_per_page) };
  for await (const { matches } of readList<T>(emr, type, ids_only))
    for (const { id = '' } of matches) missing.delete(id);
  const present = await createResolver(emr.client).load<T>(type, [...missing]);
  return [...missing].filter((id) => !present.has(id));
}

/** An id is about 100 bytes. Servers may return fewer. */
const ids_per_page = 1000;

/**
 * Reads a list as far as the server lists it. If the list changes during the read, records may repeat or be missed; a
 * missed one would be deleted on our side, so a repeated record fails the read and it is retried.
 */
export async function* readAll<T extends Resource, Source>(
  emr: Emr,
  list: List<T, Source>,
  { resolver = createResolver(emr.client), scope = 'all' }: { resolver?: Resolver; scope?: ReadScope } = {},
): AsyncGenerator<ListPage<Source>> {
  const { type, params = {} } = list;
  for await (const { matches, ...limits } of readList<T>(emr, type, params, scope)) {
    yield Object.assign(await toListPage({ emr, list, resolver }, matches), limits);
  }
}

/** The read of a list. */
type Reading<T extends Resource, Source> = { emr: Emr; list: List<T, Source>; resolver: Resolver };

/** A page of a list. It names the records that left the list, because their absence from a later page says nothing. */
async function toListPage<T extends Resource, Source>(
  { list: { toSources, toLeft = () => undefined }, emr, resolver }: Reading<T, Source>,
  page: T[],
): Promise<ListPage<Source>> {
  const left = page.map((each) => toLeft(each, emr)).filter((each) => each !== undefined);
  const sources = await toSources(page, emr, resolver);
  return left.length > 0 ? Object.assign(sources, { left }) : sources;
}

/** How far an ordered read has come, and which versions of the newest records it has returned. */
type ReadProgress = {
  through: string | undefined;
  in_order: boolean;
  recent_from_ms: number;
  returned: Map<string, string>;
};

/**
 * Reads a list ordered by `_lastUpdated`. After a few pages it starts a new search from the last position. A record
 * that changes during the read moves to the end and is read again, so none is missed, and the server need not keep a
 * search open for long. `through` is the position to resume from. Falls back to an unordered read if the server does
 * not sort.
 */
async function* readOrdered<T extends Resource, Source>(
  emr: Emr,
  list: List<T, Source>,
  since: string | undefined,
  from: string | undefined,
): AsyncGenerator<ListPage<Source>> {
  const reading = { emr, list, resolver: createResolver(emr.client) };
  const recent_from_ms = Date.now() - visibility_delay_ms;
  const progress: ReadProgress = { through: from ?? since, in_order: true, recent_from_ms, returned: new Map() };
  yield* continueReading(reading, progress, since);
  if (progress.in_order && progress.through !== undefined) {
    // Reads the last minutes again, for records whose transactions were still open. Changes are read again anyway,
    // because each sync starts some minutes before the previous one.
    const newest = new Date(recent_from_ms).toISOString();
    if (since === undefined) yield* continueReading(reading, { ...progress, through: newest }, newest);
  } else {
    yield Object.assign([], { through: null });
    yield* readUnordered(reading, since);
  }
  if (since !== undefined) yield* readDependents(reading, since);
}

/** How long a record may take to become visible, including the difference between the clocks. */
const visibility_delay_ms = 2 * 60_000;
/** Each page is followed by about six searches for referenced records. */
const pages_per_search = 4;
/** About 400 KB of patients. Servers may return fewer. */
const page_size = 200;

/** Continues until a search returns nothing new, because a server may cut off its results silently. */
async function* continueReading<T extends Resource, Source>(
  reading: Reading<T, Source>,
  progress: ReadProgress,
  since: string | undefined,
): AsyncGenerator<ListPage<Source>> {
  const { emr, list } = reading;
  for (let advanced = true; advanced; ) {
    const from = progress.through;
    // A server that lists the type only by criteria is asked for all changes.
    const all = emr.client.capabilities.listsAll(list.type) ? undefined : first_day;
    const since_then = from ?? all;
    const changed = since_then !== undefined && { _lastUpdated: `ge${since_then}` };
    const params = { ...list.params, ...changed, _sort: '_lastUpdated', _count: String(page_size) };
    let pages = 0;
    for await (const { matches } of searchOrdered(emr, list.type, params, progress)) {
      const reached = latestUpdate(matches, progress.through);
      // The search includes the last record. A server that returns nothing does not support it.
      const search_ignored = pages === 0 && matches.length === 0 && from !== since;
      if (reached === 'out of order' || search_ignored) {
        progress.in_order = false;
        return;
      }
      const unseen = matches.filter((each) => isNew(each, progress));
      const sources = await toListPage(reading, unseen);
      progress.through = reached;
      yield reached === undefined ? sources : Object.assign(sources, { through: reached });
      // Many records may have the same timestamp: those are read to the end.
      if (++pages >= pages_per_search && reached !== from) break;
    }
    advanced = progress.in_order && progress.through !== from;
  }
}

/** Ends without a page if the server turns out not to sort, or not to search by time of change. */
async function* searchOrdered<T extends Resource>(
  { client }: Emr,
  type: T['resourceType'],
  params: SearchParams,
  progress: ReadProgress,
): AsyncGenerator<Page<T>> {
  const isOrdered = () => client.capabilities.usesShaping(type, '_sort') && canSearch(client, type, ['_lastUpdated']);
  progress.in_order = isOrdered();
  if (!progress.in_order) return;
  try {
    for await (const page of client.search<T>(type, params)) {
      progress.in_order = isOrdered();
      if (!progress.in_order) return;
      yield page;
    }
  } catch (error) {
    progress.in_order = isOrdered();
    if (progress.in_order) throw error;
  }
}

/** The last update time on a page, which must not be before `before`. */
function latestUpdate(page: readonly Resource[], before: string | undefined): string | undefined | 'out of order' {
  let last = before;
  for (const { meta } of page) {
    const ms = Date.parse(meta?.lastUpdated ?? '');
    if (Number.isNaN(ms) || ms < (Date.parse(last ?? '') || 0)) return 'out of order';
    last = meta?.lastUpdated;
  }
  return last;
}

/** Only the newest records are read twice, so only those are remembered. */
function isNew({ id = '', meta }: Resource, { recent_from_ms, returned }: ReadProgress): boolean {
  const time = meta?.lastUpdated ?? '';
  if (returned.get(id) === time) return false;
  if (Date.parse(time) >= recent_from_ms) returned.set(id, time);
  return true;
}

async function* readUnordered<T extends Resource, Source>(
  reading: Reading<T, Source>,
  since: string | undefined,
): AsyncGenerator<ListPage<Source>> {
  const { emr, list, resolver } = reading;
  // Without a search by time of change, everything may have changed.
  if (since === undefined || !canSearch(emr.client, list.type, ['_lastUpdated'])) {
    yield* readAll(emr, list, { resolver });
    return;
  }
  const params = { ...list.params, _lastUpdated: `ge${since}` };
  for await (const { matches } of emr.client.search<T>(list.type, params)) {
    if (matches.length > 0) yield await toListPage(reading, matches);
  }
}

/** Reads the owners of changed dependent records. */
async function* readDependents<T extends Resource, Source>(
  { emr, list: { type, dependents = [], toSources }, resolver }: Reading<T, Source>,
  since: string,
): AsyncGenerator<Source[]> {
  if (!canSearch(emr.client, type, ['_id'])) return;
  for (const each of dependents) {
    if (!canSearch(emr.client, each.type, ['_lastUpdated'])) continue;
    for await (const owners of each.changedOwners(emr.client, since)) {
      for (const chunk of inChunks(owners)) {
        yield await toSources(await emr.client.searchAll<T>(type, { _id: chunk.join(',') }), emr, resolver);
      }
    }
  }
}

export function createChanges(client: FhirClient): Changes {
  const read = new Map<string, { from_ms: number; read_at_ms: number; records: fhir.FhirResource[] }>();
  return {
    async since<T extends fhir.FhirResource>(type: T['resourceType'], instant: string) {
      if (!canSearch(client, type, ['_lastUpdated'])) return undefined;
      const from_ms = Date.parse(instant);
      const cached = read.get(type);
      const usable = cached && cached.from_ms <= from_ms && cached.read_at_ms > Date.now() - valid_ms;
      // Each entry contains records of one type only.
      if (usable) return cached.records as T[];
      const records: T[] = [];
      const read_at_ms = Date.now();
      for await (const { matches } of client.search<T>(type, { _lastUpdated: `ge${instant}` })) {
        records.push(...matches);
        // So many changes come at once, such as a new quarter's slots, that reading the whole list costs less.
        if (records.length > changes_max) return undefined;
      }
      read.set(type, { from_ms, read_at_ms, records });
      return records;
    },
  };
}

const changes_max = 5000;
/** Shorter than the overlap of two syncs, so that nothing falls between them. */
const valid_ms = 5 * 60_000;

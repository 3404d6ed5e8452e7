import type * as fhir from 'fhir/r4.js';
import { EmrFailure, type Listing, type ListPage } from '../../connector.ts';
import { canSearch, createResolver, type Emr, inChunks, type Resolver } from '../references.ts';
import type { SearchParams } from '../transport/client.ts';

type Resource = fhir.FhirResource;

/** Another type that is part of our records: when one of its records changes, the owner must be read again. */
export type Dependent = { type: Resource['resourceType']; owner: (resource: never) => string | null };

/** A list: the resource type and the mapping of a page. */
export type List<T extends Resource, Source> = {
  type: T['resourceType'];
  params?: SearchParams;
  sources: (page: T[], emr: Emr, resolver: Resolver) => Promise<Source[]>;
  dependents?: readonly Dependent[];
};

/** A list that supports incremental reads if the server can search by `_lastUpdated`. */
export function incrementalList<T extends Resource, Source>(emr: Emr, list: List<T, Source>): Listing<Source> {
  if (!canSearch(emr.client, list.type, ['_lastUpdated'])) return () => whole(emr, list);
  const asked: Listing<Source> = ({ since, from } = {}) => inOrder(emr, list, since, from);
  return Object.assign(asked, { incremental: true as const });
}

/**
 * Reads a complete list. If the list changes during the read, records may repeat or be missed; a missed one would be
 * deleted on our side, so a repeated record fails the read and it is retried.
 */
export async function* whole<T extends Resource, Source>(
  emr: Emr,
  { type, params = {}, sources }: List<T, Source>,
  resolver = createResolver(emr.client),
): AsyncGenerator<ListPage<Source>> {
  const seen = new Set<string>();
  for await (const { matches } of emr.client.search<T>(type, params)) {
    for (const { id } of matches) {
      if (id === undefined || seen.has(id))
        throw new EmrFailure('unavailable', 'A list of the EMR changed while it was read.');
      seen.add(id);
    }
    yield await sources(matches, emr, resolver);
  }
}

/** How far an ordered read has come, and which versions of the newest records it has returned. */
type Reading = { through: string | undefined; in_order: boolean; newest_from_ms: number; given: Map<string, string> };

/**
 * Reads a list ordered by `_lastUpdated`. After a few pages it starts a new search from the last position. A record
 * that changes during the read moves to the end and is read again, so none is missed, and the server need not keep a
 * search open for long. `through` is the position to resume from. Falls back to an unordered read if the server does
 * not sort.
 */
async function* inOrder<T extends Resource, Source>(
  emr: Emr,
  list: List<T, Source>,
  since: string | undefined,
  from: string | undefined,
): AsyncGenerator<ListPage<Source>> {
  const resolver = createResolver(emr.client);
  const newest_from_ms = Date.now() - storing_ms;
  const reading: Reading = { through: from ?? since, in_order: true, newest_from_ms, given: new Map() };
  yield* continueReading(emr, list, reading, since, resolver);
  if (reading.in_order && reading.through !== undefined) {
    // Reads the last minutes again, for records whose transactions were still open.
    const newest = new Date(Math.max(newest_from_ms, Date.parse(since ?? '') || 0)).toISOString();
    yield* continueReading(emr, list, { ...reading, through: newest }, newest, resolver);
  } else {
    yield Object.assign([], { through: null });
    yield* unordered(emr, list, since, resolver);
  }
  if (since !== undefined) yield* readDependents(emr, list, since, resolver);
}

/** How long a record may take to become visible, including the difference between the clocks. */
const storing_ms = 2 * 60_000;
/** Each page is followed by about six searches for referenced records. */
const pages_per_question = 4;
/** About 400 KB of patients. Servers may return fewer. */
const page_size = 200;

/** Continues until a search returns nothing new, because a server may cut off its results silently. */
async function* continueReading<T extends Resource, Source>(
  emr: Emr,
  list: List<T, Source>,
  reading: Reading,
  since: string | undefined,
  resolver: Resolver,
): AsyncGenerator<ListPage<Source>> {
  for (let moved = true; moved; ) {
    const from = reading.through;
    const changed = from !== undefined && { _lastUpdated: `ge${from}` };
    const asked = { ...list.params, ...changed, _sort: '_lastUpdated', _count: String(page_size) };
    let pages = 0;
    for await (const { matches } of emr.client.search<T>(list.type, asked)) {
      const reached = latestUpdate(matches, reading.through);
      // The last record must be found again. A server that returns nothing does not support the search.
      const forgot = pages === 0 && matches.length === 0 && from !== since;
      if (reached === 'out of order' || forgot) {
        reading.in_order = false;
        return;
      }
      const unseen = matches.filter((each) => isNew(each, reading));
      const sources = await list.sources(unseen, emr, resolver);
      reading.through = reached;
      yield reached === undefined ? sources : Object.assign(sources, { through: reached });
      // Many records may have the same timestamp: those are read to the end.
      if (++pages >= pages_per_question && reached !== from) break;
    }
    moved = reading.through !== from;
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
function isNew({ id = '', meta }: Resource, { newest_from_ms, given }: Reading): boolean {
  const time = meta?.lastUpdated ?? '';
  if (given.get(id) === time) return false;
  if (Date.parse(time) >= newest_from_ms) given.set(id, time);
  return true;
}

async function* unordered<T extends Resource, Source>(
  emr: Emr,
  list: List<T, Source>,
  since: string | undefined,
  resolver: Resolver,
): AsyncGenerator<Source[]> {
  if (since === undefined) {
    yield* whole(emr, list, resolver);
    return;
  }
  const params = { ...list.params, _lastUpdated: `ge${since}` };
  for await (const { matches } of emr.client.search<T>(list.type, params)) {
    if (matches.length > 0) yield await list.sources(matches, emr, resolver);
  }
}

/** Reads the owners of changed dependent records. */
async function* readDependents<T extends Resource, Source>(
  emr: Emr,
  { type, dependents = [], sources }: List<T, Source>,
  since: string,
  resolver: Resolver,
): AsyncGenerator<Source[]> {
  if (!canSearch(emr.client, type, ['_id'])) return;
  for (const beside of dependents) {
    if (!canSearch(emr.client, beside.type, ['_lastUpdated'])) continue;
    for await (const { matches } of emr.client.search<Resource>(beside.type, { _lastUpdated: `ge${since}` })) {
      // `owner` is declared together with its type.
      const owners = matches.map((each) => beside.owner(each as never)).filter((id) => id !== null);
      for (const chunk of inChunks([...new Set(owners)])) {
        yield await sources(await emr.client.searchAll<T>(type, { _id: chunk.join(',') }), emr, resolver);
      }
    }
  }
}

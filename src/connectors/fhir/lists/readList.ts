import type * as fhir from 'fhir/r4.js';
import { EmrFailure, type Listing, type ListPage } from '../../connector.ts';
import { canSearch, createResolver, type Emr, inChunks, type Resolver } from '../references.ts';
import type { SearchParams } from '../transport/client.ts';

type Resource = fhir.FhirResource;

/** Records of another type that show in ours: when one of them changes, the record it belongs to must be read anew. */
export type Dependent = { type: Resource['resourceType']; owner: (resource: never) => string | null };

/** One of a server's lists: which records, and what they are in our words. */
export type List<T extends Resource, Source> = {
  type: T['resourceType'];
  params?: SearchParams;
  sources: (page: T[], emr: Emr, resolver: Resolver) => Promise<Source[]>;
  dependents?: readonly Dependent[];
};

/** A list that can be asked for what changed, where the server knows when a record was last changed. */
export function incrementalList<T extends Resource, Source>(emr: Emr, list: List<T, Source>): Listing<Source> {
  if (!canSearch(emr.client, list.type, ['_lastUpdated'])) return () => whole(emr, list);
  const asked: Listing<Source> = ({ since, from } = {}) => inOrder(emr, list, since, from);
  return Object.assign(asked, { incremental: true as const });
}

/**
 * A list that is read as a whole. One that changes while it is read may show a record twice and another not at all;
 * what we did not see would be taken for removed, so then it is read again.
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

/** What a reading in order remembers: how far it came, and which versions of the newest records it has given. */
type Reading = { through: string | undefined; in_order: boolean; newest_from_ms: number; given: Map<string, string> };

/**
 * Reads a list in the order of its last changes: after some pages it is asked for anew from where it came to, so that a
 * record which is changed meanwhile moves behind us and is met again, none is passed over, and no server must remember
 * a question for long. `through` is where it can be taken up again. A server that keeps no order is read as a whole.
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
    // What was being stored while we passed its time is met here.
    const newest = new Date(Math.max(newest_from_ms, Date.parse(since ?? '') || 0)).toISOString();
    yield* continueReading(emr, list, { ...reading, through: newest }, newest, resolver);
  } else {
    yield Object.assign([], { through: null });
    yield* unordered(emr, list, since, resolver);
  }
  if (since !== undefined) yield* readDependents(emr, list, since, resolver);
}

/** How long after its own time a record may come to be seen, and by how much the server's clock may differ from ours. */
const storing_ms = 2 * 60_000;
/** Each page is followed by about six questions for what it refers to. */
const pages_per_question = 4;
/** Some 400 KB of patients. A server that gives fewer at a time gives fewer. */
const page_size = 200;

/** Reads on until a question brings nothing new: a server may also cut its list without a word. */
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
      // The record that we came to is met again: a server that gives none does not know what it is asked for.
      const forgot = pages === 0 && matches.length === 0 && from !== since;
      if (reached === 'out of order' || forgot) {
        reading.in_order = false;
        return;
      }
      const unseen = matches.filter((each) => isNew(each, reading));
      const sources = await list.sources(unseen, emr, resolver);
      reading.through = reached;
      yield reached === undefined ? sources : Object.assign(sources, { through: reached });
      // Many records may have been stored at one instant: those are read to their end.
      if (++pages >= pages_per_question && reached !== from) break;
    }
    moved = reading.through !== from;
  }
}

/** The last change on a page that comes after `before`. */
function latestUpdate(page: readonly Resource[], before: string | undefined): string | undefined | 'out of order' {
  let last = before;
  for (const { meta } of page) {
    const ms = Date.parse(meta?.lastUpdated ?? '');
    if (Number.isNaN(ms) || ms < (Date.parse(last ?? '') || 0)) return 'out of order';
    last = meta?.lastUpdated;
  }
  return last;
}

/** Of the newest records it is kept in mind which have been given: only they are met a second time. */
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

/** The records of which something beside them has changed. */
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
      // `owner` is declared beside the type that it reads.
      const owners = matches.map((each) => beside.owner(each as never)).filter((id) => id !== null);
      for (const chunk of inChunks([...new Set(owners)])) {
        yield await sources(await emr.client.searchAll<T>(type, { _id: chunk.join(',') }), emr, resolver);
      }
    }
  }
}

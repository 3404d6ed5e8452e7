import type * as fhir from 'fhir/r4.js';
import { EmrFailure, type Listing, type ListPage } from '../connector.ts';
import type { FhirClient, SearchParams } from './client.ts';
import { canSearch, type Emr, inChunks, type Resolver, resolverOf } from './references.ts';

type Resource = fhir.FhirResource;

/** Records of another type that show in ours: when one of them changes, the record it belongs to must be read anew. */
export type Touching = { type: Resource['resourceType']; owner: (resource: never) => string | null };

/** One of a server's lists: which records, and what they are in our words. */
export type List<T extends Resource, Source> = {
  type: T['resourceType'];
  params?: SearchParams;
  sources: (page: T[], emr: Emr, resolver: Resolver) => Promise<Source[]>;
  touching?: readonly Touching[];
};

/** A list that can be asked for what changed, where the server knows when a record was last changed. */
export function changing<T extends Resource, Source>(emr: Emr, list: List<T, Source>): Listing<Source> {
  if (!canSearch(emr.client, list.type, ['_lastUpdated'])) return () => whole(emr, list);
  const asked: Listing<Source> = ({ since } = {}) => inOrder(emr, list, since);
  return Object.assign(asked, { incremental: true as const });
}

/**
 * A list that is read as a whole. One that changes while it is read may show a record twice and another not at all;
 * what we did not see would be taken for removed, so then it is read again.
 */
export async function* whole<T extends Resource, Source>(
  emr: Emr,
  { type, params = {}, sources }: List<T, Source>,
  resolver = resolverOf(emr.client),
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

/** Everything of a list that is known to be small. */
export async function gather<Source>(pages: AsyncIterable<Source[]>): Promise<Source[]> {
  const all: Source[] = [];
  for await (const page of pages) all.push(...page);
  return all;
}

/**
 * Reads a list in the order of its last changes: each question begins where the page before it ended, so that a record
 * which is changed meanwhile moves behind us and is met again, and none is passed over. `through` is where it can be
 * taken up again. A server that does not keep the order is read as a whole.
 */
async function* inOrder<T extends Resource, Source>(
  emr: Emr,
  list: List<T, Source>,
  since: string | undefined,
): AsyncGenerator<ListPage<Source>> {
  const resolver = resolverOf(emr.client);
  const began_ms = Date.now();
  let through = since;
  for (let ended = false; !ended; ) {
    ended = true;
    for await (const { matches, reached } of inOrderFrom<T>(emr.client, list, through)) {
      if (reached === 'out of order') {
        yield* unordered(emr, list, since, resolver);
        return;
      }
      const sources = await list.sources(matches, emr, resolver);
      // Many records may have been stored at one instant: those are read page by page.
      if (reached === undefined || reached === through) yield sources;
      else {
        through = reached;
        ended = false;
        yield Object.assign(sources, { through });
        break;
      }
    }
  }
  // Asked for an order that it does not know, a server may give nothing at all.
  if (through === undefined) yield* whole(emr, list, resolver);
  // What was being stored while we passed its time is met here.
  const margin = new Date(Math.max(began_ms - list_margin_ms, Date.parse(since ?? '') || 0)).toISOString();
  yield* unordered(emr, list, margin, resolver);
  if (since !== undefined) yield* touched(emr, list, since, resolver);
}

/** Our clock and the server's may differ, and what is stored at once becomes visible one by one. */
export const list_margin_ms = 15 * 60_000;

/** Pages in the order of their last changes, each with the last of them. */
async function* inOrderFrom<T extends Resource>(
  client: FhirClient,
  { type, params = {} }: Pick<List<T, never>, 'type' | 'params'>,
  from: string | undefined,
): AsyncGenerator<{ matches: T[]; reached: string | undefined }> {
  let last = from ?? '';
  const asked = { ...params, _sort: '_lastUpdated', ...(from !== undefined && { _lastUpdated: `ge${from}` }) };
  for await (const { matches } of client.search<T>(type, asked)) {
    const times = matches.map(({ meta }) => meta?.lastUpdated);
    for (const time of times) {
      if (time === undefined || Number.isNaN(Date.parse(time)) || Date.parse(time) < (Date.parse(last) || 0)) {
        yield { matches: [], reached: 'out of order' };
        return;
      }
      last = time;
    }
    yield { matches, reached: last || undefined };
  }
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
async function* touched<T extends Resource, Source>(
  emr: Emr,
  { type, touching = [], sources }: List<T, Source>,
  since: string,
  resolver: Resolver,
): AsyncGenerator<Source[]> {
  if (!canSearch(emr.client, type, ['_id'])) return;
  for (const beside of touching) {
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

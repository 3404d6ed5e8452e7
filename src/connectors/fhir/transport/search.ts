import type * as fhir from 'fhir/r4.js';
import { EmrFailure } from '../../connector.ts';
import { type Bundle, nextUrl, type Page, toBundle, toPage } from './bundles.ts';
import { type Answer, type FhirRequest, unreadable } from './call.ts';
import type { Capabilities } from './capabilities.ts';

export type SearchParams = Record<string, string | readonly string[]>;
export type Ask = (asked: FhirRequest) => Promise<Answer>;
/** A server as the person who linked the account sees it. */
export type Server = {
  base: URL;
  ask: Ask;
  capabilities: Capabilities;
  /** Keeps with the account that records of this type lose our marker. */
  recordUnmarked: (type: string) => Promise<void>;
};

/** A value as it must stand in a search, so that a comma or bar in it is not taken for FHIR's own. */
export function searchValue(text: string): string {
  return text.replace(/[\\,|$]/g, (sign) => `\\${sign}`);
}

/**
 * Every page of a search, to the end. What cannot be a whole list fails rather than ends: a sync takes what it did not
 * see for removed.
 */
export async function* search<T extends fhir.FhirResource>(
  server: Server,
  type: T['resourceType'],
  params: SearchParams,
): AsyncGenerator<Page<T>> {
  rejectUndeclaredParams(server.capabilities, type, params);
  const seen = new Set<string>();
  let matched = 0;
  let before = '';
  let bundle = await firstPage(server, type, params);
  for (;;) {
    const page = toPage<T>(bundle, type);
    matched += page.matches.length;
    const ids = page.matches.map(({ id }) => id).join();
    const next = nextUrl(server.base, bundle);
    // Against lists that never end: an address seen before, the same records again, more pages than any practice has.
    if (next && (seen.has(next.href) || (ids !== '' && ids === before) || seen.size >= pages_max)) {
      throw new EmrFailure('unavailable', 'The EMR gave a list that leads back to itself.');
    }
    yield page;
    if (!next) break;
    seen.add(next.href);
    before = ids;
    bundle = await nextPage(server, next);
  }
  const total = bundle.total ?? (seen.size === 0 ? await countMatches(server, type, params, matched) : undefined);
  if (typeof total === 'number' && total > matched) {
    throw new EmrFailure('unavailable', 'The EMR gave only a part of a list.');
  }
}

/** All matches of a search that is known to be small. */
export async function searchAll<T extends fhir.FhirResource>(
  server: Server,
  type: T['resourceType'],
  params: SearchParams,
): Promise<T[]> {
  const all: T[] = [];
  for await (const { matches } of search<T>(server, type, params)) {
    all.push(...matches);
    if (all.length > search_max) throw new EmrFailure('refused', `More than ${search_max} records match in the EMR.`);
  }
  return all;
}

/** The address of a type, a record, or what lies below it. */
export function urlOf(base: URL, ...path: string[]): URL {
  return new URL(`${base.href.replace(/\/$/, '')}/${path.map(encodeURIComponent).join('/')}`);
}

const page_size = 100;
const pages_max = 20_000;
const search_max = 1000;
/** No server gives smaller pages of its own accord. */
const page_size_min = 10;
/** What shapes the answer rather than the matches: understood or not, the list is the same. */
const shaping_params = new Set(['_count', '_sort', '_total', '_include', '_revinclude', '_summary', '_elements']);

/** What identifies a person by itself; what is sought by id may be an MRN. */
const personal_params = new Set(['_id', 'identifier', 'family', 'given', 'birthdate', 'phone', 'telecom']);
/** By which a server, or a gateway that was put before it since, says that it knows no searches by form. */
const form_search_unsupported = new Set([404, 405, 415, 501]);

/** A parameter that the server does not know may be answered with nobody, or with everyone: both would be believed. */
function rejectUndeclaredParams(capabilities: Capabilities, type: string, params: SearchParams): void {
  const known = capabilities.searchParams(type);
  const unknown = Object.keys(params).find(
    (name) => !shaping_params.has(name) && !known.has(name.split(/[:.]/)[0] ?? ''),
  );
  if (unknown !== undefined) {
    throw new EmrFailure('refused', `The EMR does not offer a search of ${type} records by ${unknown}.`);
  }
}

/** Servers that refuse what only shapes the answer are asked once more without it. */
async function firstPage(server: Server, type: string, params: SearchParams): Promise<Bundle> {
  const answer = await ask(server, type, { _count: String(page_size), ...params });
  return toBundle(answer.status === 400 ? await ask(server, type, plain(params)) : answer);
}

/** The server may have forgotten the search by now; that is no answer about any record. */
async function nextPage(server: Server, url: URL): Promise<Bundle> {
  const answer = await server.ask({ method: 'GET', url });
  if (answer.status >= 400) throw new EmrFailure('unavailable', 'The EMR broke off a list.');
  return toBundle(answer);
}

/**
 * How many there are, where the answer says neither that nor where it goes on: some servers cut a list without a word.
 * Undefined where nothing was cut as far as anyone can tell. From a server that does not count, exactly as many as were
 * asked for are taken for a part: the odds are a hundred to one, and the rest would be removed on our side.
 */
async function countMatches(
  server: Server,
  type: string,
  params: SearchParams,
  matched: number,
): Promise<number | undefined> {
  if (matched < page_size_min) return undefined;
  const { status, resource } = await ask(server, type, { ...plain(params), _summary: 'count' });
  // A page of something before the server is not the server's word that it does not count.
  if (status < 400 && resource === undefined) throw new EmrFailure('unavailable', unreadable);
  const total = resource?.resourceType === 'Bundle' ? resource.total : undefined;
  return total ?? (matched === Number(params._count ?? page_size) ? Number.POSITIVE_INFINITY : undefined);
}

function plain(params: SearchParams): SearchParams {
  return Object.fromEntries(
    Object.entries(params).filter(([name]) => !shaping_params.has(name) || name.endsWith('include')),
  );
}

/** Addresses end up in the logs of whatever lies between: what is said of a person goes in the body where it can. */
async function ask({ base, ask, capabilities }: Server, type: string, params: SearchParams): Promise<Answer> {
  const query = new URLSearchParams(
    Object.entries(params).flatMap(([name, value]) => [value].flat().map((each): [string, string] => [name, each])),
  );
  const headers = { prefer: 'handling=strict' };
  if (
    capabilities.searches_by_form &&
    type === 'Patient' &&
    Object.keys(params).some((name) => personal_params.has(name))
  ) {
    const answer = await ask({ method: 'POST', url: urlOf(base, type, '_search'), headers, body: query });
    if (!form_search_unsupported.has(answer.status)) return answer;
  }
  const url = urlOf(base, type);
  url.search = query.toString();
  return ask({ method: 'GET', url, headers });
}

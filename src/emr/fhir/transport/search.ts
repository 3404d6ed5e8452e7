import type * as fhir from 'fhir/r4.js';
import { parseUrl } from '../../../catalog/parseUrl.ts';
import { EmrFailure } from '../../emrFailure.ts';
import {
  type FhirResponse,
  isBelowBase,
  outcomeMessage,
  readIssues,
  toFailureCode,
  toRejection,
  unreadable_response,
} from './call.ts';
import type { Capabilities } from './capabilities.ts';
import { buildUrl, type SearchServer, type Server } from './server.ts';

type Bundle = fhir.Bundle<fhir.FhirResource>;
export type Page<T> = { matches: T[]; included: fhir.FhirResource[] };

export type SearchParams = Record<string, string | readonly string[]>;

/** Escapes a search value, because FHIR uses comma, bar and dollar as separators. */
export function searchValue(text: string): string {
  return text.replace(/[\\,|$]/g, (sign) => `\\${sign}`);
}

/** All pages of a search. Fails if the result may be incomplete, because a sync deletes what it did not see. */
export async function* search<T extends fhir.FhirResource>(
  server: Server,
  type: T['resourceType'],
  params: SearchParams,
): AsyncGenerator<Page<T>> {
  rejectUndeclaredParams(server.capabilities, type, params);
  const seen = new Set<string>();
  let matched = 0;
  let previous_ids = '';
  let bundle = await firstPage(server, type, params);
  if (isEmpty(bundle, type)) bundle = await confirmEmpty(server, type, params, bundle);
  for (;;) {
    const page = toPage<T>(bundle, type);
    matched += page.matches.length;
    const ids = page.matches.map(({ id }) => id).join();
    const next = nextUrl(server.base, bundle);
    // Stops endless lists: a URL that repeats, the same records again, or too many pages.
    if (next && (seen.has(next.href) || (ids !== '' && ids === previous_ids) || seen.size >= pages_max)) {
      throw new EmrFailure('unavailable', 'The EMR returned a list that repeats itself.');
    }
    yield page;
    if (!next) break;
    seen.add(next.href);
    previous_ids = ids;
    bundle = await nextPage(server, next);
  }
  const total = bundle.total ?? (seen.size === 0 ? await countMatches(server, type, params, matched) : undefined);
  if (typeof total === 'number' && total > matched) throw new IncompleteList();
}

/** The result was cut off. A search with fewer matches may be complete. */
export class IncompleteList extends EmrFailure {
  constructor() {
    super('unavailable', 'The EMR returned an incomplete list.');
  }
}

/** All matches of a small search. */
export async function searchAll<T extends fhir.FhirResource>(
  server: Server,
  type: T['resourceType'],
  params: SearchParams,
): Promise<T[]> {
  const all: T[] = [];
  for await (const { matches } of search<T>(server, type, params)) {
    all.push(...matches);
    if (all.length <= search_max) continue;
    throw new EmrFailure('refused', `More than ${search_max} records match in the EMR.`, { code: 'too_many_matches' });
  }
  return all;
}

const page_size = 100;
const pages_max = 20_000;
const search_max = 1000;
/** No server uses smaller pages by default. */
const page_size_min = 10;
/** Parameters that affect the form of the response and not which records match. */
const shaping_params = new Set(['_count', '_sort', '_total', '_include', '_revinclude', '_summary', '_elements']);

/** Parameters that identify a person. An id may be an MRN. */
const personal_params = new Set(['_id', 'identifier', 'family', 'given', 'birthdate', 'phone', 'telecom', 'address']);
/** Statuses by which a server, or a new gateway in front of it, rejects searches by POST. */
const form_search_unsupported = new Set([404, 405, 415, 501]);

/** A server may answer an unknown parameter with no records or with all of them, and either would look valid. */
function rejectUndeclaredParams(capabilities: Capabilities, type: string, params: SearchParams): void {
  const declared = capabilities.searchParams(type);
  // A server may declare a search across references (`schedule.actor`) as a parameter of its own.
  const own = Object.keys(params).filter((name) => declared.has(name));
  const others = Object.fromEntries(Object.entries(params).filter(([name]) => !own.includes(name)));
  const undeclared = listCriteria(others).find((name) => !declared.has(name));
  if (undeclared !== undefined) throw notSearchable(type, undeclared);
}

/** Not an empty result: the search could not be performed. */
function notSearchable(type: string, param: string): EmrFailure {
  return new EmrFailure('refused', `The EMR does not support searching ${type} records by ${param}.`, {
    code: 'not_supported',
  });
}

/** The names of the parameters that decide which records match. */
function listCriteria(params: SearchParams): string[] {
  return Object.keys(params)
    .filter((name) => !shaping_params.has(name))
    .map((name) => name.split(/[:.]/)[0] ?? '');
}

/** Some servers reject parameters that only affect the form of the response: the search is repeated without them. */
async function firstPage(server: Server, type: string, params: SearchParams): Promise<Bundle> {
  const response = await sendSearch(
    server,
    type,
    usableShaping(server, type, { _count: String(page_size), ...params }),
  );
  const final = response.status === 400 ? await sendSearch(server, type, withoutShaping(params)) : response;
  if (final.status === 403 && (listCriteria(params).length === 0 || server.capabilities.isForbidden(type))) {
    throw new EmrFailure('refused', `This account is not allowed to read ${type} records in the EMR.`, {
      code: 'not_permitted',
      not_offered: true,
    });
  }
  return toBundle(final);
}

/** Leaves out parameters that this server does not handle, such as `_count`. */
function usableShaping({ capabilities }: Server, type: string, params: SearchParams): SearchParams {
  return Object.fromEntries(
    Object.entries(params).filter(([name]) => !shaping_params.has(name) || capabilities.usesShaping(type, name)),
  );
}

function isEmpty(bundle: Bundle, type: string): boolean {
  const { matches } = toPage<fhir.FhirResource>(bundle, type as fhir.FhirResource['resourceType']);
  return matches.length === 0 && !bundle.link?.some((link) => link?.relation === 'next');
}

/**
 * Some servers return nothing if a search has a parameter that they do not handle. An empty result counts only if all of
 * its parameters were seen to find records. A list without criteria is simply requested again without the others.
 */
async function confirmEmpty(server: Server, type: string, params: SearchParams, empty: Bundle): Promise<Bundle> {
  const { capabilities } = server;
  const criteria = listCriteria(params);
  const shaping = Object.keys(usableShaping(server, type, { _count: '', ...params })).filter((each) =>
    shaping_params.has(each),
  );
  if (criteria.length === 0) {
    if (shaping.length === 0) return empty;
    const plain = toBundle(await sendSearch(server, type, {}));
    const unproven = shaping.filter((name) => !capabilities.isProven(type, name));
    const useless = unproven.length > 0 ? unproven : shaping;
    if (!isEmpty(plain, type)) await server.recordParams(type, { working: [], useless });
    return plain;
  }
  if ([...criteria, ...shaping].every((name) => capabilities.isProven(type, name))) {
    return empty;
  }
  await server.probeType(type);
  rejectUndeclaredParams(capabilities, type, params);
  const useless = shaping.some((name) => !capabilities.usesShaping(type, name));
  return useless ? firstPage(server, type, params) : empty;
}

/** The server may have dropped the search. That says nothing about any record. */
async function nextPage(server: Server, url: URL): Promise<Bundle> {
  const response = await server.request({ method: 'GET', url, returns: 'list' });
  if (response.status >= 400) throw new EmrFailure('unavailable', 'The EMR interrupted a list.');
  return toBundle(response);
}

/**
 * Counts the matches if the response has neither a total nor a next page, because some servers cut off lists silently.
 * Returns undefined if nothing seems to be missing. If the server does not count either, a full page counts as
 * incomplete, because the rest would be deleted on our side. One list in a hundred has exactly this length.
 */
async function countMatches(
  server: Server,
  type: string,
  params: SearchParams,
  matched: number,
): Promise<number | undefined> {
  if (matched < page_size_min) return undefined;
  const { status, resource } = await sendSearch(server, type, {
    ...withoutShaping(params),
    _summary: 'count',
  });
  // An error page of a proxy does not mean that the server cannot count.
  if (status < 400 && resource === undefined) throw new EmrFailure('unavailable', unreadable_response);
  const counted = resource?.resourceType === 'Bundle' ? resource.total : undefined;
  // A server that does not know `_summary` may count nothing.
  const total = counted !== undefined && counted >= matched ? counted : undefined;
  return total ?? (matched === Number(params._count ?? page_size) ? Number.POSITIVE_INFINITY : undefined);
}

function withoutShaping(params: SearchParams): SearchParams {
  return Object.fromEntries(
    Object.entries(params).filter(([name]) => !shaping_params.has(name) || name.endsWith('include')),
  );
}

/**
 * Sends one search. URLs end up in logs, so criteria that identify a person are sent in the body where possible.
 */
export async function sendSearch(
  { base, request, capabilities }: SearchServer,
  type: string,
  params: SearchParams,
): Promise<FhirResponse> {
  const query = new URLSearchParams(
    Object.entries(params).flatMap(([name, value]) => [value].flat().map((each): [string, string] => [name, each])),
  );
  const headers = { prefer: 'handling=strict' };
  if (
    capabilities.searches_by_form &&
    type === 'Patient' &&
    Object.keys(params).some((name) => personal_params.has(name))
  ) {
    const by_form = { method: 'POST', url: buildUrl(base, type, '_search'), headers, body: query } as const;
    const response = await request({ ...by_form, returns: 'list' });
    if (!form_search_unsupported.has(response.status)) return response;
  }
  const url = buildUrl(base, type);
  url.search = query.toString();
  return request({ method: 'GET', url, headers, returns: 'list' });
}

export function toBundle(response: FhirResponse): Bundle {
  if (response.status >= 400) throw toRejection(response);
  if (response.resource?.resourceType !== 'Bundle') throw new EmrFailure('unavailable', unreadable_response);
  // Each entry is checked in `toPage`.
  return response.resource as Bundle;
}

/** Servers that do not mark their entries (`type: collection`) are read by resource type. */
export function toPage<T extends fhir.FhirResource>(bundle: Bundle, type: T['resourceType']): Page<T> {
  const page: Page<T> = { matches: [], included: [] };
  for (const entry of Array.isArray(bundle.entry) ? bundle.entry : []) {
    const resource = entry?.resource;
    if (!resource) continue;
    if (resource.resourceType === 'OperationOutcome') throwOnError(resource);
    else if (resource.resourceType === type && entry.search?.mode !== 'include') {
      // T is the resource of this resourceType.
      page.matches.push(resource as T);
    } else page.included.push(resource);
  }
  return page;
}

/**
 * The next page, always below the linked address, so that the token goes nowhere else, not even to another tenant on the
 * same host. A server behind a proxy may use an internal host name; the same path on our host is the same list.
 */
export function nextUrl(base: URL, bundle: Bundle): URL | undefined {
  const links = Array.isArray(bundle.link) ? bundle.link : [];
  const next = links.find((link) => link?.relation === 'next')?.url;
  if (next === undefined) return undefined;
  const below = `${base.href.replace(/\/$/, '')}/`;
  const url = typeof next === 'string' ? parseUrl(next, below) : undefined;
  if (!url) throw new EmrFailure('unavailable', unreadable_response);
  const at_base = new URL(url.pathname + url.search, base.origin);
  if (isBelowBase(base, at_base)) return at_base;
  throw new EmrFailure('unavailable', 'The EMR continued a list at another address, which is not followed.');
}

/** Hints are ignored. An unsupported or incomplete search is an error. */
function throwOnError(outcome: fhir.OperationOutcome): void {
  const errors = readIssues(outcome).filter(
    (issue) => ['error', 'fatal'].includes(issue?.severity) || ['not-supported', 'incomplete'].includes(issue?.code),
  );
  if (errors.length === 0) return;
  const message = outcomeMessage(outcome) ?? 'The EMR did not perform the search as requested.';
  throw new EmrFailure('refused', message, { code: toFailureCode(errors) });
}

import type * as fhir from 'fhir/r4.js';
import { EmrFailure } from '../connector.ts';
import { type Answer, type Asked, denial, unreadable } from './call.ts';
import type { Capabilities } from './capabilities.ts';
import { refusalWords } from './outcomes.ts';

export type SearchParams = Record<string, string | readonly string[]>;
export type Page<T> = { matches: T[]; included: fhir.FhirResource[] };
export type Ask = (asked: Asked) => Promise<Answer>;
type Bundle = fhir.Bundle<fhir.FhirResource>;
/** A server as the person who linked the account sees it. */
export type Server = { base: URL; ask: Ask; capabilities: Capabilities };

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
  refuseUndeclared(server.capabilities, type, params);
  const seen = new Set<string>();
  let matched = 0;
  let before = '';
  let bundle = await firstPage(server, type, params);
  for (let pages = 1; ; pages++) {
    const page = pageOf<T>(bundle, type);
    matched += page.matches.length;
    const ids = page.matches.map(({ id }) => id).join();
    const next = nextOf(server.base, bundle);
    // Against lists that never end: an address seen before, the same records again, more pages than any practice has.
    if (next && (seen.has(next.href) || (ids !== '' && ids === before) || pages >= pages_max)) {
      throw new EmrFailure('unavailable', 'The EMR gave a list that leads back to itself.');
    }
    yield page;
    if (!next) break;
    seen.add(next.href);
    before = ids;
    bundle = bundleOf(await server.ask({ method: 'GET', url: next }));
  }
  if (typeof bundle.total === 'number' && bundle.total > matched) {
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
/** What shapes the answer rather than the matches: understood or not, the list is the same. */
const shaping = new Set(['_count', '_sort', '_total', '_include', '_revinclude', '_summary', '_elements']);

/** A parameter that the server does not know may be answered with nobody, or with everyone: both would be believed. */
function refuseUndeclared(capabilities: Capabilities, type: string, params: SearchParams): void {
  const known = capabilities.searchParams(type);
  const unknown = Object.keys(params).find((name) => !shaping.has(name) && !known.has(name.split(/[:.]/)[0] ?? ''));
  if (unknown !== undefined) {
    throw new EmrFailure('refused', `The EMR does not offer a search of ${type} records by ${unknown}.`);
  }
}

/** Servers that refuse what only shapes the answer are asked once more without it. */
async function firstPage(server: Server, type: string, params: SearchParams): Promise<Bundle> {
  const answer = await ask(server, type, { _count: String(page_size), ...params });
  if (answer.status !== 400) return bundleOf(answer);
  const plain = Object.entries(params).filter(([name]) => !['_count', '_sort', '_total'].includes(name));
  return bundleOf(await ask(server, type, Object.fromEntries(plain)));
}

function ask({ base, ask }: Server, type: string, params: SearchParams): Promise<Answer> {
  const query = new URLSearchParams(
    Object.entries(params).flatMap(([name, value]) => [value].flat().map((each): [string, string] => [name, each])),
  );
  const url = urlOf(base, type);
  url.search = query.toString();
  return ask({ method: 'GET', url, headers: { prefer: 'handling=strict' } });
}

function bundleOf(answer: Answer): Bundle {
  if (answer.status >= 400) throw denial(answer);
  if (answer.resource?.resourceType !== 'Bundle') throw new EmrFailure('unavailable', unreadable);
  // Its entries are looked at one by one.
  return answer.resource as Bundle;
}

/** Entries of a server that marks none (`type: collection`) are told apart by their type. */
function pageOf<T extends fhir.FhirResource>(bundle: Bundle, type: T['resourceType']): Page<T> {
  const page: Page<T> = { matches: [], included: [] };
  for (const entry of Array.isArray(bundle.entry) ? bundle.entry : []) {
    const resource = entry?.resource;
    if (!resource) continue;
    if (resource.resourceType === 'OperationOutcome') refuseFailed(resource);
    else if (resource.resourceType === type && entry.search?.mode !== 'include') {
      // The type that was asked for names the shape: T is the resource of that resourceType.
      page.matches.push(resource as T);
    } else page.included.push(resource);
  }
  return page;
}

/** Hints are passed over; that something of the search was left out is not a hint. */
function refuseFailed(outcome: fhir.OperationOutcome): void {
  const issues = Array.isArray(outcome.issue) ? outcome.issue : [];
  const failed = issues.some(
    (issue) => ['error', 'fatal'].includes(issue?.severity) || ['not-supported', 'incomplete'].includes(issue?.code),
  );
  if (failed)
    throw new EmrFailure('refused', refusalWords(outcome) ?? 'The EMR did not carry out the search as asked.');
}

/**
 * The next page, always at the address that was linked: the token goes nowhere else. A server behind a proxy may name
 * itself by an inner host; with our path that is the same list.
 */
function nextOf(base: URL, bundle: Bundle): URL | undefined {
  const links = Array.isArray(bundle.link) ? bundle.link : [];
  const next = links.find((link) => link?.relation === 'next')?.url;
  if (next === undefined) return undefined;
  if (!URL.canParse(next, `${base.href.replace(/\/$/, '')}/`)) throw new EmrFailure('unavailable', unreadable);
  const url = new URL(next, `${base.href.replace(/\/$/, '')}/`);
  if (url.origin === base.origin) return url;
  if (!url.pathname.startsWith(base.pathname)) {
    throw new EmrFailure('unavailable', 'The EMR continues a list at another address, which is not followed.');
  }
  return new URL(url.pathname + url.search, base.origin);
}

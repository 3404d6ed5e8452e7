import { randomUUID } from 'node:crypto';
import { badRequest, evalFhirPath, OperationOutcomeError, parseSearchRequest } from '@medplum/core';
import type { Bundle, BundleEntry, Resource, Schedule } from '@medplum/fhirtypes';
import { listParameters, vendorParams } from './capabilityStatement.ts';
import type { FaultSwitches } from './faults.ts';
import { type CheckedRepository, listReferences } from './repository.ts';
import { vendors } from './vendors/vendors.ts';

type SearchResult = { type: string; entries: BundleEntry[]; total: number; includes: string[] };

export type Searches = {
  first(type: string, query: URLSearchParams): Promise<Bundle>;
  /** A further page of a stored search. undefined if it is no longer stored. */
  further(query: URLSearchParams): Promise<Bundle | undefined>;
};

const page_size_default = 50;
/** Older searches can no longer be paged. */
const kept_max = 30;

/** Medplum searches. The results are stored here, so that all pages belong to the same result. */
export function createSearches(repo: CheckedRepository, base: string, faults: FaultSwitches): Searches {
  const stored = new Map<string, SearchResult>();

  async function page(id: string, result: SearchResult, offset: number, size: number): Promise<Bundle> {
    const unpaged = faults.paging === 'whole';
    const entries = unpaged ? result.entries : result.entries.slice(offset, offset + size);
    const next = `?_getpages=${id}&_getpagesoffset=${offset + size}&_count=${size}`;
    const more = !unpaged && faults.paging !== 'cut' && offset + size < result.entries.length;
    const page_param = faults.vendor && vendors[faults.vendor].page_param;
    const vendor_link = page_param && `${base}/${result.type}?${page_param}=${encodeURIComponent(next.slice(1))}`;
    const origin = faults.link_origin === undefined ? base : base.replace(new URL(base).origin, faults.link_origin);
    return {
      resourceType: 'Bundle',
      type: faults.bundle_type,
      ...(faults.total && { total: result.total }),
      link: more
        ? [{ relation: 'next', url: vendor_link ?? (faults.paging === 'relative_links' ? next : origin + next) }]
        : [],
      entry: [...entries, ...(await includedBy(repo, entries, result.includes))],
    };
  }

  return {
    first: async (type, query) => {
      const parameters = listParameters(type, faults);
      const params = knownOnly(
        type,
        query,
        parameters.map(({ code }) => code),
        { ...faults, own_params: vendorParams(type, faults) ?? [] },
      );
      if (params === undefined || faults.hidden.includes(type))
        return page('none', { type, entries: [], total: 0, includes: [] }, 0, 1);
      const { count, ...request } = parseSearchRequest(`${type}?${params}`);
      const emptied = faults.day_matches_nothing && asksForDay(query, parameters);
      // The repository copies every match before it applies `count`, so all matches are read once.
      const { entry = [] } = emptied ? {} : await repo.search(request);
      const schedules = await schedulesFor(repo, query.get('schedule.actor'));
      const matches = entry.filter(({ resource }) => matchesOwn(resource, query, schedules));
      const { matches_max = {} } = faults.vendor ? vendors[faults.vendor] : {};
      if (matches.length > (matches_max[type] ?? Number.POSITIVE_INFINITY)) throw tooMany();
      const entries = matches.map(({ resource }) => toEntry(base, resource, 'match'));
      const result = { type, entries, total: entries.length, includes: query.getAll('_include') };
      if (query.get('_summary') === 'count') return { resourceType: 'Bundle', type: 'searchset', total: result.total };
      const id = randomUUID();
      const size = Math.min(count ?? page_size_default, faults.page_rows_max) || 1;
      if (entries.length > size) stored.set(id, result);
      if (stored.size > kept_max) stored.delete([...stored.keys()][0] ?? '');
      return page(id, result, 0, size);
    },
    further: async (query) => {
      const id = query.get('_getpages') ?? '';
      const result = stored.get(id);
      return result && page(id, result, Number(query.get('_getpagesoffset')), Number(query.get('_count')) || 1);
    },
  };

  async function includedBy(from: CheckedRepository, entries: BundleEntry[], includes: string[]) {
    const references = new Set<string>();
    for (const { resource } of entries) for (const one of includes) targets(resource, one, references);
    const read = await Promise.all(
      [...references].map((reference) => from.readReference({ reference }).catch(() => undefined)),
    );
    return read.filter((one) => one !== undefined).map((one) => toEntry(base, one, 'include'));
  }

  function targets(resource: Resource | undefined, include: string, references: Set<string>): void {
    const [type = '', code] = include.split(':');
    const parameter = listParameters(type, faults).find((one) => one.code === code);
    if (!parameter?.expression || resource?.resourceType !== type) return;
    for (const value of evalFhirPath(parameter.expression, resource)) {
      for (const reference of listReferences([value])) references.add(reference);
    }
  }
}

/** The effective query. undefined if an unknown parameter finds nothing. */
function knownOnly(
  type: string,
  query: URLSearchParams,
  codes: string[],
  { unknown_parameter, useless_params, ignored_params, own_params, vendor }: FaultSwitches & { own_params: string[] },
) {
  const { count_param = '_count', constant_params = {} } = vendor ? vendors[vendor] : {};
  const params = new URLSearchParams();
  for (const [name, value] of query) {
    if (useless_params.includes(name.split(':')[0] ?? '')) return undefined;
    if (ignored_params.includes(name.split(':')[0] ?? '')) continue;
    if (['_include', '_total', '_format', '_summary', '_elements'].includes(name)) continue;
    const plain = name.split(':')[0] ?? '';
    if (name === count_param) params.append('_count', value);
    else if (name in constant_params) continue;
    else if (vendor && (name === '_count' || name === '_sort' || (own_params.includes(name) && !codes.includes(name))))
      continue;
    else if (['_count', '_sort', '_offset'].includes(plain) || codes.includes(plain)) params.append(name, value);
    else if (unknown_parameter === 'empty') return undefined;
    else if (unknown_parameter === 'refuse') {
      throw new OperationOutcomeError(badRequest(`Unknown search parameter of ${type}`));
    }
  }
  return params;
}

/** The schedules of an actor, for searches of slots across them (Oracle). Undefined: all. */
async function schedulesFor(repo: CheckedRepository, actor: string | null): Promise<string[] | undefined> {
  if (actor === null) return undefined;
  const schedules = await repo.searchResources<Schedule>({ resourceType: 'Schedule' });
  return schedules.filter((each) => each.actor.some(({ reference }) => reference === actor)).map(({ id }) => id ?? '');
}

/** Oracle's parameter for the physical type of a location, which its locations always have. */
function matchesOwn(resource: Resource | undefined, query: URLSearchParams, schedules: string[] | undefined): boolean {
  if (resource?.resourceType === 'Slot' && schedules) {
    return schedules.includes(resource.schedule.reference?.split('/')[1] ?? '');
  }
  const physical_type = query.get('-physicalType');
  if (physical_type === null || resource?.resourceType !== 'Location') return true;
  return (resource.physicalType?.coding?.[0]?.code ?? 'si') === physical_type;
}

function tooMany(): OperationOutcomeError {
  const issue = [{ severity: 'error' as const, code: 'too-costly' as const }];
  return new OperationOutcomeError({ resourceType: 'OperationOutcome', id: 'too-costly', issue });
}

function asksForDay(query: URLSearchParams, parameters: { code: string; type: string }[]): boolean {
  const dates = parameters.filter(({ type }) => type === 'date').map(({ code }) => code);
  return [...query].some(([name, value]) => dates.includes(name) && /^(eq)?\d{4}-\d\d-\d\d$/.test(value));
}

function toEntry(base: string, resource: Resource | undefined, mode: 'match' | 'include'): BundleEntry {
  if (!resource) throw new Error('a search result without a resource');
  return { fullUrl: `${base}/${resource.resourceType}/${resource.id}`, resource, search: { mode } };
}

import {
  badRequest,
  getSearchParameter,
  matchesSearchRequest,
  OperationOutcomeError,
  type SearchRequest,
  splitSearchOnComma,
  validateResource,
  type WithId,
} from '@medplum/core';
import { MemoryRepository } from '@medplum/fhir-router';
import type { Bundle, BundleEntry, Resource } from '@medplum/fhirtypes';
import type * as fhir from 'fhir/r4.js';
import { default_behavior, type FaultSwitches } from './faults.ts';

/**
 * Medplum's repository with the checks of its server: only valid R4 resources without dangling references are stored.
 */
export class CheckedRepository extends MemoryRepository {
  /** `Claim Patient/1` → the claims that refer to this patient; `Claim c-17` → those with this identifier. */
  readonly #mentions = new Map<string, Set<string>>();
  readonly #faults: Pick<FaultSwitches, 'checks_references'>;

  constructor(faults: Pick<FaultSwitches, 'checks_references'> = default_behavior) {
    super();
    this.#faults = faults;
  }

  override async createResource<T extends Resource>(resource: T): Promise<WithId<T>> {
    // Medplum's pattern for base64 fails on files of a megabyte.
    validateResource(resource.resourceType === 'Binary' ? { ...resource, data: '' } : resource);
    if (this.#faults.checks_references) {
      for (const reference of referencesOf(resource)) await this.#mustExist(reference);
    }
    return this.#store(resource);
  }

  /** Skips the checks, which take half a minute for a whole practice. A test checks the practice separately. */
  storeUnchecked(resource: fhir.FhirResource): Promise<unknown> {
    // Medplum's and DefinitelyTyped's R4 types describe the same resources.
    return this.#store(resource as unknown as Resource);
  }

  /**
   * Narrows the candidates: Medplum's matcher takes a third of a second for a list of references over 2,000 resources,
   * or for an identifier over 600 encounters.
   */
  override async search<T extends Resource>(request: SearchRequest<T>): Promise<Bundle<WithId<T>>> {
    const { sortRules = [], offset = 0, count, ...plain } = request;
    // Medplum evaluates FHIRPath for each comparison. Sorting 5,000 claims by their last change takes a second.
    const [rule, ...others] = sortRules;
    const by_change = rule?.code === '_lastUpdated' && others.length === 0 ? rule : undefined;
    if (rule && !by_change) return super.search(request);
    const ids = this.#mentioning(plain);
    const found = ids ? await this.#among(plain, ids) : ((await super.search<T>(plain)).entry ?? []);
    const entry = by_change ? found.sort(byChange(by_change.descending ? -1 : 1)) : found;
    return {
      resourceType: 'Bundle',
      type: 'searchset',
      entry: entry.slice(offset, count === undefined ? undefined : offset + count),
      total: entry.length,
    };
  }

  async #store<T extends Resource>(resource: T): Promise<WithId<T>> {
    const stored = await super.createResource(resource);
    for (const mentioned of [...referencesOf(stored), ...identifiersOf(stored)]) {
      const key = `${stored.resourceType} ${mentioned}`;
      this.#mentions.set(key, (this.#mentions.get(key) ?? new Set()).add(stored.id));
    }
    return stored;
  }

  /** The candidates of a search by references or identifiers. undefined for any other search. */
  #mentioning({ resourceType, filters = [] }: SearchRequest): string[] | undefined {
    const filter = filters.find(
      ({ code, operator, value }) =>
        operator === 'eq' &&
        (code === 'identifier' ? !/\|(,|$)/.test(value) : getSearchParameter(resourceType, code)?.type === 'reference'),
    );
    if (!filter) return undefined;
    const keys = splitSearchOnComma(filter.value).map(
      (value) => `${resourceType} ${filter.code === 'identifier' ? value.split('|').at(-1) : value}`,
    );
    return [...new Set(keys.flatMap((key) => [...(this.#mentions.get(key) ?? [])]))];
  }

  async #among<T extends Resource>(request: SearchRequest<T>, ids: string[]): Promise<BundleEntry<WithId<T>>[]> {
    const read = ids.map((id) => this.readResource<WithId<T>>(request.resourceType, id).catch(() => undefined));
    const there = (await Promise.all(read)).filter((resource) => resource !== undefined);
    return there.filter((resource) => matchesSearchRequest(resource, request)).map((resource) => ({ resource }));
  }

  async #mustExist(reference: string): Promise<void> {
    const [type = '', id = ''] = reference.split('/');
    const stored = await this.readResource(type, id).catch(() => undefined);
    if (!stored) throw new OperationOutcomeError(badRequest(`Reference to a resource that does not exist: ${type}`));
  }
}

function byChange(way: 1 | -1) {
  const time = ({ resource }: BundleEntry) => resource?.meta?.lastUpdated ?? '';
  return (a: BundleEntry, b: BundleEntry) => (time(a) < time(b) ? -way : time(a) > time(b) ? way : 0);
}

function identifiersOf(resource: Resource): string[] {
  const { identifier = [] } = resource as { identifier?: fhir.Identifier | fhir.Identifier[] };
  return [identifier].flat().flatMap(({ value }) => value ?? []);
}

/** References to records of this server, without contained, absolute and logical references. */
export function referencesOf(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]) => {
    if (name !== 'reference' || typeof inner !== 'string') return referencesOf(inner);
    return /^[A-Z][A-Za-z]+\/[A-Za-z0-9.-]+$/.test(inner) ? [inner] : [];
  });
}

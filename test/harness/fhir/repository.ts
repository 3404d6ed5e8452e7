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
import type { Bundle, Resource } from '@medplum/fhirtypes';
import type * as fhir from 'fhir/r4.js';
import { default_behavior, type FaultSwitches } from './faults.ts';

/**
 * Medplum's repository with the checks of its server: only valid R4 resources without dangling references are stored.
 */
export class CheckedRepository extends MemoryRepository {
  /** `Claim Patient/1` → the claims that refer to this patient; `Claim c-17` → those with this identifier. */
  readonly #mentions = new Map<string, Set<string>>();
  /** The current version of each resource by type and id, frozen: Medplum's own search copies every match. */
  readonly #current = new Map<string, Map<string, WithId<Resource>>>();
  readonly #results = new WeakMap<Resource, Map<string, boolean>>();
  readonly #faults: Pick<FaultSwitches, 'checks_references'>;

  constructor(faults: Pick<FaultSwitches, 'checks_references'> = default_behavior) {
    super();
    this.#faults = faults;
  }

  override async createResource<T extends Resource>(resource: T): Promise<WithId<T>> {
    await this.check(resource);
    return this.#store(resource);
  }

  /** What a write checks. */
  async check(resource: Resource): Promise<void> {
    // Medplum's pattern for base64 fails on files of a megabyte.
    validateResource(resource.resourceType === 'Binary' ? { ...resource, data: '' } : resource);
    if (this.#faults.checks_references) {
      for (const reference of listReferences(resource)) await this.#mustExist(reference);
    }
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
    const { sortRules = [], offset = 0, count } = request;
    // Medplum evaluates FHIRPath for each comparison. Sorting 5,000 claims by their last change takes a second.
    const [rule, ...others] = sortRules;
    const by_change = rule?.code === '_lastUpdated' && others.length === 0 ? rule : undefined;
    if (rule && !by_change) return super.search(request);
    const matches = this.#candidates<T>(request).filter((resource) => this.#matches(resource, request));
    if (by_change) matches.sort(byChange(by_change.descending ? -1 : 1));
    return {
      resourceType: 'Bundle',
      type: 'searchset',
      entry: matches.slice(offset, count === undefined ? undefined : offset + count).map((resource) => ({ resource })),
      total: matches.length,
    };
  }

  override async deleteResource(type: string, id: string): Promise<void> {
    await super.deleteResource(type, id);
    this.#current.get(type)?.delete(id);
  }

  async #store<T extends Resource>(resource: T): Promise<WithId<T>> {
    const stored = deepFreeze(await super.createResource(resource));
    const { resourceType, id } = stored;
    this.#current.set(resourceType, (this.#current.get(resourceType) ?? new Map()).set(id, stored));
    for (const mentioned of [...listReferences(stored), ...listIdentifiers(stored)]) {
      const key = `${resourceType} ${mentioned}`;
      this.#mentions.set(key, (this.#mentions.get(key) ?? new Set()).add(id));
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

  #candidates<T extends Resource>(request: SearchRequest<T>): WithId<T>[] {
    // Stored under its type.
    const stored = (this.#current.get(request.resourceType) ?? new Map()) as Map<string, WithId<T>>;
    const ids = this.#mentioning(request);
    return ids ? ids.flatMap((id) => stored.get(id) ?? []) : [...stored.values()];
  }

  /** Medplum parses and evaluates a FHIRPath for this. A stored resource does not change, and neither does its result. */
  #matches(resource: Resource, { resourceType, filters = [] }: SearchRequest): boolean {
    const results = this.#results.get(resource) ?? new Map<string, boolean>();
    this.#results.set(resource, results);
    return filters.every((filter) => {
      const key = `${filter.code} ${filter.operator} ${filter.value}`;
      const result = results.get(key) ?? matchesSearchRequest(resource, { resourceType, filters: [filter] });
      results.set(key, result);
      return result;
    });
  }

  async #mustExist(reference: string): Promise<void> {
    const [type = '', id = ''] = reference.split('/');
    const stored = await this.readResource(type, id).catch(() => undefined);
    if (!stored) throw new OperationOutcomeError(badRequest(`Reference to a resource that does not exist: ${type}`));
  }
}

function byChange(way: 1 | -1) {
  const time = ({ meta }: Resource) => meta?.lastUpdated ?? '';
  return (a: Resource, b: Resource) => (time(a) < time(b) ? -way : time(a) > time(b) ? way : 0);
}

function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value;
  for (const inner of Object.values(value)) deepFreeze(inner);
  return Object.freeze(value);
}

function listIdentifiers(resource: Resource): string[] {
  const { identifier = [] } = resource as { identifier?: fhir.Identifier | fhir.Identifier[] };
  return [identifier].flat().flatMap(({ value }) => value ?? []);
}

/** References to records of this server, without contained, absolute and logical references. */
export function listReferences(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]) => {
    if (name !== 'reference' || typeof inner !== 'string') return listReferences(inner);
    return /^[A-Z][A-Za-z]+\/[A-Za-z0-9.-]+$/.test(inner) ? [inner] : [];
  });
}

import type * as fhir from 'fhir/r4.js';

export const interactions = ['read', 'search-type', 'create', 'update'] as const;
export type Interaction = (typeof interactions)[number];

/** What a server supports, as stated and as observed. */
export type Capabilities = {
  fhir_version: string;
  software: string;
  interactions(type: string): ReadonlySet<Interaction>;
  /** Whether a search without criteria returns all records of the type. */
  listsAll(type: string): boolean;
  /** The declared search parameters, without those that were seen not to work. */
  searchParams(type: string): ReadonlySet<string>;
  /** Whether a parameter that only affects the form of the response (`_count`, `_sort`) may be sent. */
  usesShaping(type: string, name: string): boolean;
  /** Whether a parameter was seen to work, so that an empty result means that there are no such records. */
  isProven(type: string, name: string): boolean;
  /** Whether the account may not search the type at all, although the statement says so. */
  isForbidden(type: string): boolean;
  /** `If-None-Exist` */
  conditionalCreate(type: string): boolean;
  /** `If-Match` */
  versionedUpdate(type: string): boolean;
  /** Whether a search can be sent in a body (`POST Patient/_search`), so that criteria do not appear in URLs. */
  searches_by_form: boolean;
  /** Whether the server keeps our marker, by which a lost create is found. */
  keepsMarkers(type: string): boolean;
};

/** The stored part of a CapabilityStatement: about 60 KB for all 145 types, where the statement may be a megabyte. */
export type ServerFacts = {
  fhir_version: string;
  software: string;
  types: Record<string, TypeFacts>;
  /** Both are found by probing. `unlisted`: types that cannot be listed without criteria. */
  searches_by_form?: boolean;
  unlisted?: string[];
  /** Types whose records lost our marker. */
  unmarked?: string[];
  /** Types that the account may not search, although the statement lists them. */
  forbidden?: string[];
  /**
   * Search parameters by type that found a known record, and those that did not or were refused. Some servers respond to
   * a parameter they do not know with no records, whatever their statement says. Absent: not known yet.
   */
  working_params?: ParamsByType;
  useless_params?: ParamsByType;
  /** When the server was last probed. */
  probed_at?: string;
};
export type ParamsByType = Record<string, string[]>;
/** The parameters of one type that a probe found to work or not to work. */
export type ParamFindings = { working: readonly string[]; useless: readonly string[] };
type TypeFacts = {
  interactions: Interaction[];
  params: string[];
  conditional_create: boolean;
  versioned: boolean;
};

/** Ignores whatever does not conform to the standard. */
export function toServerFacts(statement: fhir.CapabilityStatement): ServerFacts {
  const types: ServerFacts['types'] = {};
  for (const rest of list(statement.rest)) {
    if (rest.mode !== 'server') continue;
    const common_params = namesOf(rest.searchParam);
    for (const resource of list(rest.resource)) {
      if (/^[A-Z][A-Za-z]+$/.test(text(resource.type))) types[resource.type] = typeFacts(resource, common_params);
    }
  }
  const { name, version } = Object(statement.software) as { name?: unknown; version?: unknown };
  const software = [name, version].filter((part) => typeof part === 'string').join(' ');
  return { fhir_version: text(statement.fhirVersion), software: software.slice(0, 200), types };
}

/** Reads what was observed at each call, so that later observations in `facts` apply immediately. */
export function toCapabilities(facts: ServerFacts): Capabilities {
  const {
    fhir_version,
    software,
    types,
    searches_by_form = false,
    unlisted = [],
    unmarked = [],
    forbidden = [],
  } = facts;
  const by_type = new Map(Object.entries(types));
  const isProven = (type: string, name: string) =>
    works(facts, type, name) || (!isUselessAnywhere(facts, name) && worksAnywhere(facts, name));
  // A parameter that fails for one type is used for another one only where it was seen to work.
  const isUsable = (type: string, name: string) => works(facts, type, name) || !isUselessAnywhere(facts, name);
  return {
    fhir_version,
    software,
    interactions: (type) => new Set(by_type.get(type)?.interactions),
    listsAll: (type) =>
      (by_type.get(type)?.interactions.includes('search-type') ?? false) &&
      !unlisted.includes(type) &&
      !forbidden.includes(type),
    searchParams: (type) => new Set(by_type.get(type)?.params.filter((name) => isUsable(type, name))),
    usesShaping: isUsable,
    isProven,
    isForbidden: (type) => forbidden.includes(type),
    conditionalCreate: (type) => by_type.get(type)?.conditional_create ?? false,
    versionedUpdate: (type) => by_type.get(type)?.versioned ?? false,
    searches_by_form,
    keepsMarkers: (type) => !unmarked.includes(type),
  };
}

/** Adds what a probe of one type found. Returns whether it is news. */
export function mergeParams(facts: ServerFacts, type: string, { working, useless }: ParamFindings): boolean {
  const before = JSON.stringify([facts.working_params?.[type], facts.useless_params?.[type]]);
  const merge = (known: string[] | undefined, more: readonly string[], less: readonly string[]) =>
    [...new Set([...(known ?? []), ...more])].filter((name) => !less.includes(name)).sort();
  const now = {
    working: merge(facts.working_params?.[type], working, useless),
    useless: merge(facts.useless_params?.[type], useless, working),
  };
  if (JSON.stringify([now.working, now.useless]) === before) return false;
  facts.working_params = { ...facts.working_params, [type]: now.working };
  facts.useless_params = { ...facts.useless_params, [type]: now.useless };
  return working.length + useless.length > 0;
}

function works({ working_params = {} }: ServerFacts, type: string, name: string): boolean {
  return working_params[type]?.includes(name) ?? false;
}

function worksAnywhere({ working_params = {} }: ServerFacts, name: string): boolean {
  return Object.values(working_params).some((names) => names.includes(name));
}

function isUselessAnywhere({ useless_params = {} }: ServerFacts, name: string): boolean {
  return Object.values(useless_params).some((names) => names.includes(name));
}

function typeFacts(resource: fhir.CapabilityStatementRestResource, common_params: readonly string[]): TypeFacts {
  const codes = list(resource.interaction).map(({ code }) => code as string);
  return {
    interactions: interactions.filter((name) => codes.includes(name)),
    params: [...new Set([...common_params, ...namesOf(resource.searchParam)])],
    conditional_create: resource.conditionalCreate === true,
    versioned: resource.versioning !== 'no-version',
  };
}

function namesOf(params: fhir.CapabilityStatementRestResourceSearchParam[] | undefined): string[] {
  return list(params)
    .map(({ name }) => name)
    .filter((name) => typeof name === 'string');
}

function list<T>(value: readonly T[] | undefined): T[] {
  return Array.isArray(value) ? value.filter((each) => each !== null && each !== undefined) : [];
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

import type * as fhir from 'fhir/r4.js';

export const interactions = ['read', 'search-type', 'create', 'update'] as const;
export type Interaction = (typeof interactions)[number];

/** What a server says of itself. Nothing is assumed from its name. */
export type Capabilities = {
  fhir_version: string;
  software: string;
  interactions(type: string): ReadonlySet<Interaction>;
  /** Whether it gives all records of a type to who asks for nothing more particular. */
  lists(type: string): boolean;
  searchParams(type: string): ReadonlySet<string>;
  /** Whether a create can be made to happen once (`If-None-Exist`). */
  conditionalCreate(type: string): boolean;
  /** Whether an update can be tied to the version it was made from (`If-Match`). */
  versionedUpdate(type: string): boolean;
  /** Whether a search can be sent in a body (`POST Patient/_search`), where no address tells what was asked for. */
  searches_by_form: boolean;
  /** Whether a record of ours keeps the identifier by which a lost create is found. */
  keepsMarkers(type: string): boolean;
};

/** What is kept of a CapabilityStatement: of all 145 types some 60 KB, where the statement may be a megabyte. */
export type ServerFacts = {
  fhir_version: string;
  software: string;
  types: Record<string, TypeFacts>;
  /** No statement says these two: they were tried. `unlisted`: types that must be asked for more narrowly. */
  searches_by_form?: boolean;
  unlisted?: string[];
  /** Types of which a record came back without our marker. */
  unmarked?: string[];
};
type TypeFacts = {
  interactions: Interaction[];
  params: string[];
  conditional_create: boolean;
  versioned: boolean;
};

/** The statement comes from outside: whatever is not as the standard has it is as if it were not there. */
export function toServerFacts(statement: fhir.CapabilityStatement): ServerFacts {
  const types: ServerFacts['types'] = {};
  for (const rest of list(statement.rest)) {
    if (rest.mode !== 'server') continue;
    const everywhere = namesOf(rest.searchParam);
    for (const resource of list(rest.resource)) {
      if (/^[A-Z][A-Za-z]+$/.test(text(resource.type))) types[resource.type] = typeFacts(resource, everywhere);
    }
  }
  const { name, version } = Object(statement.software) as { name?: unknown; version?: unknown };
  const software = [name, version].filter((part) => typeof part === 'string').join(' ');
  return { fhir_version: text(statement.fhirVersion), software: software.slice(0, 200), types };
}

export function toCapabilities(facts: ServerFacts): Capabilities {
  const { fhir_version, software, types, searches_by_form = false, unlisted = [], unmarked = [] } = facts;
  const of = new Map(Object.entries(types));
  return {
    fhir_version,
    software,
    interactions: (type) => new Set(of.get(type)?.interactions),
    lists: (type) => (of.get(type)?.interactions.includes('search-type') ?? false) && !unlisted.includes(type),
    searchParams: (type) => new Set(of.get(type)?.params),
    conditionalCreate: (type) => of.get(type)?.conditional_create ?? false,
    versionedUpdate: (type) => of.get(type)?.versioned ?? false,
    searches_by_form,
    keepsMarkers: (type) => !unmarked.includes(type),
  };
}

function typeFacts(resource: fhir.CapabilityStatementRestResource, everywhere: readonly string[]): TypeFacts {
  const codes = list(resource.interaction).map(({ code }) => code as string);
  return {
    interactions: interactions.filter((name) => codes.includes(name)),
    params: [...new Set([...everywhere, ...namesOf(resource.searchParam)])],
    conditional_create: resource.conditionalCreate === true,
    versioned: resource.versioning !== 'no-version',
  };
}

function namesOf(params: fhir.CapabilityStatementRestResourceSearchParam[] | undefined): string[] {
  return list(params)
    .map(({ name }) => name)
    .filter((name) => typeof name === 'string');
}

/** The elements of what should be a list: those that are there. */
function list<T>(value: readonly T[] | undefined): T[] {
  return Array.isArray(value) ? value.filter((each) => each !== null && each !== undefined) : [];
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

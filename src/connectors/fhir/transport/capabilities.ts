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
  searchParams(type: string): ReadonlySet<string>;
  /** `If-None-Exist` */
  conditionalCreate(type: string): boolean;
  /** `If-Match` */
  versionedUpdate(type: string): boolean;
  /** Whether a search can be sent in a body (`POST Patient/_search`), so that criteria do not appear in URLs. */
  searches_by_form: boolean;
  /** Whether appointments take exactly one slot, and only the patient as a participant. */
  readonly books_by_slot: boolean;
  /** What is known about files, from those that the server refused. */
  readonly documents: DocumentFacts;
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
  /** What was derived from these facts: a new version of the connector may derive more. */
  offered?: readonly string[];
  /** Types whose records lost our marker. */
  unmarked?: string[];
} & ObservedFacts;

/** What writes have shown about a server. */
export type ObservedFacts = {
  /** Declared interactions that the server refused as a whole, with the status of its response. */
  refused?: Record<string, { [Name in Interaction]?: { status: number; at_ms: number } }>;
  /** Types whose updates fail with a server error although nothing is stored, since the last one that succeeded. */
  failing_updates?: Record<string, { since_ms: number; count: number }>;
  /** Appointments take exactly one slot, and only the patient as a participant. */
  books_by_slot?: boolean;
  documents?: DocumentFacts;
};

/** `*_refused_bytes`: the smallest file that was too large. `raw_refused`: files are taken only in JSON. */
export type DocumentFacts = { raw_refused?: true; raw_refused_bytes?: number; json_refused_bytes?: number };

/** Refusals that may end without a new version of the server: of rights, and by its errors. */
const passing_statuses = new Set([403, 500]);
const refusal_age_max_ms = 24 * 60 * 60_000;

/** The observations that a new reading of the capability statement keeps. A new version of the server starts afresh. */
export function observedFacts(previous: ServerFacts | undefined, facts: ServerFacts, now_ms: number): ObservedFacts {
  if (!previous || previous.software !== facts.software) return {};
  const { refused = {}, failing_updates, books_by_slot, documents } = previous;
  const lasting = Object.entries(refused).flatMap(([type, interactions]) => {
    const kept = Object.entries(interactions).filter(
      ([, { status, at_ms }]) => !passing_statuses.has(status) || now_ms - at_ms < refusal_age_max_ms,
    );
    return kept.length === 0 ? [] : [[type, Object.fromEntries(kept)]];
  });
  return {
    ...(lasting.length > 0 && { refused: Object.fromEntries(lasting) }),
    ...(failing_updates && { failing_updates }),
    ...(books_by_slot && { books_by_slot }),
    ...(documents && { documents }),
  };
}
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

export function toCapabilities(facts: ServerFacts): Capabilities {
  const { fhir_version, software, types, searches_by_form = false, unlisted = [], unmarked = [] } = facts;
  const by_type = new Map(Object.entries(types));
  return {
    fhir_version,
    software,
    interactions: (type) =>
      // Read each time, because writes add to it.
      new Set(by_type.get(type)?.interactions.filter((name) => facts.refused?.[type]?.[name] === undefined)),
    listsAll: (type) => (by_type.get(type)?.interactions.includes('search-type') ?? false) && !unlisted.includes(type),
    searchParams: (type) => new Set(by_type.get(type)?.params),
    conditionalCreate: (type) => by_type.get(type)?.conditional_create ?? false,
    versionedUpdate: (type) => by_type.get(type)?.versioned ?? false,
    searches_by_form,
    get books_by_slot() {
      return facts.books_by_slot ?? false;
    },
    get documents() {
      return facts.documents ?? {};
    },
    keepsMarkers: (type) => !unmarked.includes(type),
  };
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

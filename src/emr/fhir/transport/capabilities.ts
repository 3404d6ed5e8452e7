import type * as fhir from 'fhir/r4.js';
import { list } from '../values.ts';
import { choosePlan, declaresExport, type ExportPlan, type ExportTarget } from './exports.ts';

const interactions = ['read', 'search-type', 'create', 'update'] as const;
export type Interaction = (typeof interactions)[number];

/** What a server supports, as stated and as observed. */
export type Capabilities = {
  fhir_version: string;
  software: string;
  interactions(type: string): ReadonlySet<Interaction>;
  /** Whether a search without criteria returns all records of the type. */
  listsAll(type: string): boolean;
  /** How the records of the type are listed. Undefined if they cannot be. */
  listPlan(type: string): ListPlan | undefined;
  /** The declared search parameters, without those that were seen not to work. */
  searchParams(type: string): ReadonlySet<string>;
  /** Whether a parameter that only affects the form of the response (`_count`, `_sort`) may be sent. */
  usesShaping(type: string, name: string): boolean;
  /** Whether a parameter was seen to work, so that an empty result means that there are no such records. */
  isProven(type: string, name: string): boolean;
  /** Whether the account may not search the type at all, although the statement declares it. */
  isForbidden(type: string): boolean;
  /** Whether the statement names this profile for the type. */
  hasProfile(type: string, profile: string): boolean;
  /** `If-None-Exist` */
  conditionalCreate(type: string): boolean;
  /** By JSON Patch, because the server does not take whole records. */
  patches(type: string): boolean;
  /** `If-Match` */
  versionedUpdate(type: string): boolean;
  /** `$validate` */
  validates(type: string): boolean;
  /** Whether a search can be sent in a body (`POST Patient/_search`), so that criteria do not appear in URLs. */
  searches_by_form: boolean;
  /** Whether the server accepts only appointments in exactly one slot, with the patient as the only participant. */
  readonly books_by_slot: boolean;
  /** Whether appointments are booked by `$find` and `$book`, because the server does not let us create them. */
  readonly books_by_offer: boolean;
  /** What the server's refusals of files have shown. */
  readonly documents: DocumentFacts;
  /** Whether the server keeps our marker, by which a lost create is found. */
  keepsMarkers(type: string): boolean;
  /** Whether a known record of this type was found by this parameter, so that an empty result means something. */
  finds(type: string, param: string): boolean;
  /** Whether the server was seen to drop this extension. */
  dropsExtension(url: string): boolean;
  /** Whether locations were left out because nothing shows that they are the practice's. */
  readonly hides_locations: boolean;
};

/** The parameters of a search. */
type Criteria = Record<string, string | readonly string[]>;

/**
 * How a list is read from a server that refuses to return it without criteria. `sample` are criteria by which the probe
 * found records, or at least was not refused.
 */
export type ListPlan = SearchPlan | ExportPlan;

export type SearchPlan = { sample: Criteria } & (
  | {
      /** Searches with constant criteria, which together return the list. */
      by: 'searches';
      searches: readonly Criteria[];
      /** A record may match none of them. What was not returned may still exist. */
      partial?: true;
    }
  /** Closed ranges of dates of birth, which are divided if too many records match. */
  | { by: 'birth_dates'; param: string }
  /** Closed ranges of days around today, of the whole practice or for each record of another type. */
  | { by: 'days'; param: string; for_each?: { type: 'Location' | 'Practitioner'; param: string } }
);

/** The stored part of a CapabilityStatement: about 60 KB for all 145 types, where the statement may be a megabyte. */
export type ServerFacts = {
  fhir_version: string;
  software: string;
  types: Record<string, TypeFacts>;
  /** Both result from probing. `unlisted`: types that cannot be listed without criteria. */
  searches_by_form?: boolean;
  unlisted?: string[];
  /** How types of `unlisted` are listed nevertheless. */
  plans?: Record<string, SearchPlan>;
  /** What bulk exports contain, if the server supports them and some list needs one. */
  export?: ExportTarget;
  /** The group that the EMR app names, if any. */
  bulk_group?: string;
  /** Declared parameters that the server refuses as the only one, although the connector searches by them alone. */
  refused_params?: ParamsByType;
  /** What was derived from these facts: a new version of the connector may derive more. */
  offered?: readonly string[];
  /** Types whose records lost our marker, and those whose records were found by it. */
  unmarked?: string[];
  marked?: string[];
  /** Types that the account may not search, although the statement lists them. */
  forbidden?: string[];
  /**
   * Search parameters by type that found a known record, and those that did not or were refused. Some servers respond to
   * a parameter they do not know with no records, whatever their statement says. Absent: not probed yet.
   */
  working_params?: ParamsByType;
  useless_params?: ParamsByType;
  /** When the server was last probed. */
  probed_at?: string;
} & ObservedFacts;
type ParamsByType = Record<string, string[]>;
/** The parameters of one type that a probe found to work or not to work. */
export type ParamFindings = { working: readonly string[]; useless: readonly string[] };

/** What the use of a server has shown. */
export type ObservedFacts = {
  /** Declared interactions that the server refused as a whole, with the status of its response. */
  refused?: Record<string, { [Name in Interaction]?: { status: number; at_ms: number } }>;
  /** Types whose updates fail with a server error although nothing is stored, since the last one that succeeded. */
  failing_updates?: Record<string, { since_ms: number; count: number }>;
  /** The server accepts only appointments in exactly one slot, with the patient as the only participant. */
  books_by_slot?: boolean;
  documents?: DocumentFacts;
  /** Extensions (URLs) that a stored record came back without. */
  dropped_extensions?: string[];
  /** Locations were left out because nothing shows that they are the practice's and not people's homes. */
  hidden_locations?: true;
  /** Types whose updates succeed only without elements that the server generates itself. */
  bare_updates?: string[];
  /** The server refused a bulk export. */
  refused_export?: { at_ms: number };
};

/** `*_refused_bytes`: the smallest file that was too large. `raw_refused`: files are accepted only in JSON. */
type DocumentFacts = { raw_refused?: true; raw_refused_bytes?: number; json_refused_bytes?: number };

type TypeFacts = {
  interactions: Interaction[];
  params: string[];
  conditional_create: boolean;
  versioned: boolean;
  /** Those of US Core that the statement names. */
  profiles?: string[];
  /** It declares `$validate`. */
  validates?: true;
  /** It declares `patch` and not `update`. Such a type has the interaction `update`. */
  patches?: true;
  /** Of Appointment: it declares `$find` and `$book`, and not `create`. It has the interaction `create` then. */
  books_offers?: true;
  /** It declares `$export`. */
  exports?: true;
};

export const us_core_patient = 'http://hl7.org/fhir/us/core/StructureDefinition/us-core-patient';
const us_core_profiles = [us_core_patient];

/** Ignores whatever does not conform to the standard. */
export function toServerFacts(statement: fhir.CapabilityStatement): ServerFacts {
  const types: ServerFacts['types'] = {};
  for (const rest of list(statement.rest)) {
    if (rest.mode !== 'server') continue;
    const common_params = readParamNames(rest.searchParam);
    for (const resource of list(rest.resource)) {
      if (/^[A-Z][A-Za-z]+$/.test(toText(resource.type))) types[resource.type] = typeFacts(resource, common_params);
    }
  }
  const { name, version } = Object(statement.software) as { name?: unknown; version?: unknown };
  const software = [name, version].filter((part) => typeof part === 'string').join(' ');
  return { fhir_version: toText(statement.fhirVersion), software: software.slice(0, 200), types };
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
  const accepted = (type: string) =>
    new Set(by_type.get(type)?.interactions.filter((name) => facts.refused?.[type]?.[name] === undefined));
  const params = probedParams(facts);
  // A parameter that fails for one type is used for another one only where it was seen to work.
  const isUsable = (type: string, name: string) => works(facts, type, name) || !params().useless.has(name);
  const isRefused = (type: string, name: string) => facts.refused_params?.[type]?.includes(name) ?? false;
  const usableParams = (type: string) =>
    new Set(by_type.get(type)?.params.filter((name) => isUsable(type, name) && !isRefused(type, name)));
  const listsAll = (type: string) =>
    accepted(type).has('search-type') && !unlisted.includes(type) && !forbidden.includes(type);
  return {
    fhir_version,
    software,
    interactions: accepted,
    listsAll,
    listPlan: (type) => {
      if (listsAll(type)) return whole_list;
      const searchable = accepted(type).has('search-type') && !forbidden.includes(type);
      return choosePlan(facts, type, searchable ? facts.plans?.[type] : undefined);
    },
    searchParams: (type) => {
      const { usable } = params();
      const params_of_type = usable.get(type) ?? usableParams(type);
      usable.set(type, params_of_type);
      return params_of_type;
    },
    usesShaping: isUsable,
    isProven: (type, name) => {
      const { useless, working } = params();
      return works(facts, type, name) || (!useless.has(name) && working.has(name));
    },
    isForbidden: (type) => forbidden.includes(type),
    hasProfile: (type, profile) => by_type.get(type)?.profiles?.includes(profile) ?? false,
    conditionalCreate: (type) => by_type.get(type)?.conditional_create ?? false,
    patches: (type) => by_type.get(type)?.patches === true,
    versionedUpdate: (type) => by_type.get(type)?.versioned ?? false,
    validates: (type) => by_type.get(type)?.validates === true,
    searches_by_form,
    get books_by_slot() {
      return facts.books_by_slot ?? false;
    },
    books_by_offer: types.Appointment?.books_offers === true,
    get documents() {
      return facts.documents ?? {};
    },
    keepsMarkers: (type) => !unmarked.includes(type),
    finds: (type, param) => works(facts, type, param),
    dropsExtension: (url) => facts.dropped_extensions?.includes(url) ?? false,
    get hides_locations() {
      return facts.hidden_locations ?? false;
    },
  };
}

const whole_list: SearchPlan = { by: 'searches', searches: [{}], sample: {} };

/** Adds the findings of a probe of one type. Returns whether anything changed. */
export function mergeParams(facts: ServerFacts, type: string, { working, useless }: ParamFindings): boolean {
  const before = JSON.stringify([facts.working_params?.[type], facts.useless_params?.[type]]);
  const merge = (names: string[] | undefined, more: readonly string[], less: readonly string[]) =>
    [...new Set([...(names ?? []), ...more])].filter((name) => !less.includes(name)).sort();
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

/** What is derived from the probed parameters. `usable`: those to use, by type. */
type ProbedParams = {
  working: ReadonlySet<string>;
  useless: ReadonlySet<string>;
  usable: Map<string, ReadonlySet<string>>;
};

/**
 * Derived again only after `mergeParams`, which replaces both records: an account is opened for every job, and opening
 * it reads the parameters of a type some 200 times.
 */
function probedParams(facts: ServerFacts): () => ProbedParams {
  let [working_params, useless_params] = [facts.working_params, facts.useless_params];
  const derive = (): ProbedParams => ({
    working: new Set(Object.values(working_params ?? {}).flat()),
    useless: new Set(Object.values(useless_params ?? {}).flat()),
    usable: new Map(),
  });
  let derived = derive();
  return () => {
    if (working_params === facts.working_params && useless_params === facts.useless_params) return derived;
    [working_params, useless_params] = [facts.working_params, facts.useless_params];
    derived = derive();
    return derived;
  };
}

function typeFacts(resource: fhir.CapabilityStatementRestResource, common_params: readonly string[]): TypeFacts {
  // A profile may be named with its version: `…/us-core-patient|6.1.0`.
  const named = [resource.profile, ...list(resource.supportedProfile)].map((each) => toText(each).split('|')[0] ?? '');
  const profiles = us_core_profiles.filter((profile) => named.includes(profile));
  const codes = list(resource.interaction).map(({ code }) => code as string);
  const patches = codes.includes('patch') && !codes.includes('update');
  const operation_names = list(resource.operation).map(({ name }) => toText(name).replace(/^\$/, ''));
  const offers = ['find', 'book'].every((name) => operation_names.includes(name));
  const books_offers = offers && resource.type === 'Appointment' && !codes.includes('create');
  return {
    interactions: interactions.filter(
      (name) => codes.includes(name) || (name === 'update' && patches) || (name === 'create' && books_offers),
    ),
    params: [...new Set([...common_params, ...readParamNames(resource.searchParam)])],
    conditional_create: resource.conditionalCreate === true,
    versioned: resource.versioning !== 'no-version',
    ...(profiles.length > 0 && { profiles }),
    ...(operation_names.includes('validate') && { validates: true as const }),
    ...(patches && { patches: true as const }),
    ...(books_offers && { books_offers: true as const }),
    ...(declaresExport(resource) && { exports: true as const }),
  };
}

function readParamNames(params: fhir.CapabilityStatementRestResourceSearchParam[] | undefined): string[] {
  return list(params)
    .map(({ name }) => name)
    .filter((name) => typeof name === 'string');
}

const toText = (value: unknown) => (typeof value === 'string' ? value : '');

/**
 * What a server must support for an operation or a field to be offered. `a|b`: one of these parameters. `all`: the
 * server must list the records of the type, without criteria or by a plan.
 */
export type Requirement = {
  type: string;
  interactions: readonly Interaction[];
  params?: readonly string[];
  all?: true;
  /** The list may also be read from bulk exports, as syncs do. */
  exported?: true;
  /** The statement must name this profile. */
  profile?: string;
  /** The server must accept participants other than the patient. */
  books_people?: true;
  /** The server must not have dropped this extension before. */
  extension?: string;
  /** The server must not have dropped our markers before, by which our own records are recognized. */
  marked?: true;
  /** An alternative. */
  or?: Requirement;
};

export function meetsAll(capabilities: Capabilities, requirements: readonly Requirement[]): boolean {
  return requirements.every((requirement) => meets(capabilities, requirement));
}

function meets(capabilities: Capabilities, requirement: Requirement): boolean {
  const { type, interactions, params = [], all, exported, profile, books_people, extension, marked, or } = requirement;
  if (or && meets(capabilities, or)) return true;
  if (profile !== undefined && !capabilities.hasProfile(type, profile)) return false;
  if (books_people && (capabilities.books_by_slot || capabilities.books_by_offer)) return false;
  if (extension !== undefined && capabilities.dropsExtension(extension)) return false;
  if (marked && !capabilities.keepsMarkers(type)) return false;
  const [supported, searchable_params] = [capabilities.interactions(type), capabilities.searchParams(type)];
  // Without versions an update could overwrite a concurrent change, so updates are not offered.
  const safe = !interactions.includes('update') || capabilities.versionedUpdate(type);
  const searchable = params.every((names) => names.split('|').some((name) => searchable_params.has(name)));
  const plan = all && capabilities.listPlan(type);
  return (
    safe &&
    searchable &&
    (!all || (plan !== undefined && (exported || plan.by !== 'export'))) &&
    interactions.every((each) => supported.has(each))
  );
}

export function lists(type: string): Requirement {
  return { ...searches(type), all: true };
}

/** The same for a list that only syncs read: it may be read from bulk exports. */
export function listsOrExports(type: string): Requirement {
  return { type, interactions: [], all: true, exported: true };
}

export function searches(type: string, ...params: string[]): Requirement {
  return { type, interactions: ['search-type'], params };
}

export function reads(type: string): Requirement {
  return can(type, 'read');
}

/** Records that are created, and found by their marker if the response is lost. */
export function stores(type: string): Requirement {
  return { type, interactions: ['create', 'search-type'], params: ['identifier'] };
}

export function can(type: string, ...interactions: Interaction[]): Requirement {
  return { type, interactions };
}

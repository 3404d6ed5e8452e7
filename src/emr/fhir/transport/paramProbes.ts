import type * as fhir from 'fhir/r4.js';
import { EmrFailure } from '../../emrFailure.ts';
import type { ParamFindings } from './capabilities.ts';
import { type SearchParams, searchValue, sendSearch, toBundle, toPage } from './search.ts';
import { buildUrl, type SearchServer } from './server.ts';

/** What a server returns of a type to a search without criteria. */
export type Sample = {
  /** `narrow`: only to searches with criteria. `forbidden`: not to this account. `unknown`: no usable response. */
  outcome: 'listed' | 'narrow' | 'forbidden' | 'unknown';
  records: Resource[];
  working: string[];
  useless: string[];
};

/**
 * Reads a few records of a type, which the probes then search for. Some servers find nothing when `_count` is sent, so an
 * empty result is requested again without it.
 */
export async function sampleType(server: SearchServer, type: string): Promise<Sample> {
  const nothing = { records: [], working: [], useless: [] };
  const counted = await find(server, type, { _count: String(sample_size) });
  if (counted.outcome === 'matches')
    return { ...nothing, outcome: 'listed', records: counted.records, working: ['_count'] };
  if (counted.outcome === 'forbidden' || counted.outcome === 'unknown') return { ...nothing, outcome: counted.outcome };
  const plain = await find(server, type, {});
  if (plain.outcome === 'matches')
    return { ...nothing, outcome: 'listed', records: plain.records, useless: ['_count'] };
  const outcome = { empty: 'listed', rejected: 'narrow', forbidden: 'forbidden', unknown: 'unknown' } as const;
  return { ...nothing, outcome: outcome[plain.outcome] };
}

/** Like `sampleType`, by the criteria of a plan where the server requires some. */
export async function samplePlanned(server: SearchServer, type: string, criteria: SearchParams = {}): Promise<Sample> {
  if (Object.keys(criteria).length === 0) return sampleType(server, type);
  const { outcome, records } = await sampleMatches(server, type, criteria);
  const outcomes = { matches: 'listed', empty: 'listed', rejected: 'narrow' } as const;
  const shown = outcome === 'forbidden' || outcome === 'unknown' ? outcome : outcomes[outcome];
  return { outcome: shown, records, working: [], useless: [] };
}

/** Reads a few records of a type that match these criteria. */
export async function sampleMatches(server: SearchServer, type: string, criteria: SearchParams): Promise<FoundSample> {
  const counted = await find(server, type, { ...criteria, _count: String(sample_size) });
  return counted.outcome === 'empty' || counted.outcome === 'rejected' ? find(server, type, criteria) : counted;
}

/**
 * Reads records of a type that records of other types refer to, for servers that list the type only by criteria. Only the
 * search for an existing record shows whether a parameter works.
 */
export async function readReferred(server: SearchServer, type: string, others: Iterable<Sample>): Promise<Resource[]> {
  const text = JSON.stringify([...others].map(({ records }) => records));
  const ids = new Set(
    [...text.matchAll(new RegExp(`"reference":"${type}/([A-Za-z0-9.-]{1,64})"`, 'g'))].map(([, id]) => id ?? ''),
  );
  const records: Resource[] = [];
  for (const id of [...ids].slice(0, attempts_max)) {
    try {
      const { status, resource } = await server.request({ method: 'GET', url: buildUrl(server.base, type, id) });
      if (status === 200 && resource?.resourceType === type) records.push(resource);
    } catch (error) {
      if (!(error instanceof EmrFailure) || error.kind === 'login_required') throw error;
    }
  }
  return records;
}

/**
 * Searches for existing records by each parameter that the connector relies on: first by all of them at once, and only if
 * that finds nothing, one by one. A parameter counts as useless if it misses two records. `failed`: the server did not
 * respond to some of the searches.
 */
export async function probeParams(
  server: SearchServer,
  type: string,
  records: readonly Resource[],
  declared: ReadonlySet<string>,
): Promise<ParamFindings & { failed: boolean }> {
  const findings = { working: [] as string[], useless: [] as string[], failed: false };
  const relied = Object.entries({ ...common_params, ...relied_params[type] }).filter(
    ([name]) => declared.has(name) || (name === '_sort' && declared.has('_lastUpdated')),
  );
  const [best] = records.toSorted((a, b) => readValues(relied, b).length - readValues(relied, a).length);
  if (!best) return findings;
  const combined = readValues(relied, best);
  if (combined.length > 0 && (await find(server, type, Object.fromEntries(combined))).outcome === 'matches') {
    findings.working.push(...combined.map(([name]) => name));
  }
  for (const [name, valueIn] of relied) {
    if (findings.working.includes(name)) continue;
    const values = records.map(valueIn).filter((value) => value !== null);
    const outcomes: string[] = [];
    for (const value of values.slice(0, attempts_max)) {
      outcomes.push((await find(server, type, { [name]: value })).outcome);
      if (outcomes.at(-1) === 'matches') break;
    }
    findings.failed ||= outcomes.includes('unknown');
    if (outcomes.includes('matches')) findings.working.push(name);
    else if (outcomes.length > 0 && outcomes.every((each) => each === 'empty' || each === 'rejected')) {
      findings.useless.push(name);
    }
  }
  return findings;
}

/** The types whose searches are probed. Those of the lists come first, because a probe may run out of time. */
export function probedTypes(): string[] {
  return Object.keys(relied_params);
}

export type Resource = fhir.FhirResource;
/** A search for a few records. `rejected`: the server does not perform such a search. */
export type SampleSearch = (params: SearchParams) => Promise<FoundSample>;
type FoundSample = {
  outcome: 'matches' | 'empty' | 'rejected' | 'forbidden' | 'unknown';
  records: Resource[];
};
type ValueIn = (resource: Resource) => SearchParams[string] | null;

const sample_size = 20;
const attempts_max = 2;

async function find(server: SearchServer, type: string, params: SearchParams): Promise<FoundSample> {
  try {
    const response = await sendSearch(server, type, params);
    if (response.status === 403) return { outcome: 'forbidden', records: [] };
    if (response.status === 401) return { outcome: 'unknown', records: [] };
    if (response.status >= 400) return { outcome: 'rejected', records: [] };
    // The type of each entry is its resourceType.
    const { matches } = toPage<Resource>(toBundle(response), type as Resource['resourceType']);
    return { outcome: matches.length > 0 ? 'matches' : 'empty', records: matches };
  } catch (error) {
    if (!(error instanceof EmrFailure) || error.kind === 'login_required') throw error;
    return { outcome: error.kind === 'refused' ? 'rejected' : 'unknown', records: [] };
  }
}

function readValues(relied: readonly [string, ValueIn][], resource: Resource): [string, SearchParams[string]][] {
  return relied
    .map(([name, valueIn]): [string, SearchParams[string] | null] => [name, valueIn(resource)])
    .filter((pair): pair is [string, SearchParams[string]] => pair[1] !== null);
}

const common_params: Record<string, ValueIn> = {
  _id: ({ id }) => id ?? null,
  _lastUpdated: ({ meta }) => (meta?.lastUpdated ? `ge${meta.lastUpdated}` : null),
  _sort: () => '_lastUpdated',
  identifier: (resource) => findIdentifier(resource),
};

const patient: ValueIn = (resource) => {
  const { subject, patient: of_patient, beneficiary } = readFields(resource);
  return (
    findReference(subject, 'Patient') ?? findReference(of_patient, 'Patient') ?? findReference(beneficiary, 'Patient')
  );
};

const encounter: ValueIn = (resource) => findReference(readFields(resource).encounter, 'Encounter');

/** The search parameters that the connector uses, and the value by which a record must be found. */
const relied_params: Record<string, Record<string, ValueIn>> = {
  Patient: {
    birthdate: (resource) => {
      const date = readText(readFields(resource).birthDate);
      return date && /^\d{4}-\d\d-\d\d$/.test(date) ? [`ge${date}`, `le${date}`] : null;
    },
    family: (resource) => quoted(findName(resource)?.family),
    given: (resource) => quoted(findName(resource)?.given?.[0]),
    phone: (resource) => quoted(findPhone(resource)),
    telecom: (resource) => quoted(findPhone(resource)),
    address: (resource) => quoted(findStreet(resource)),
  },
  Practitioner: { family: (resource) => quoted(findName(resource)?.family) },
  PractitionerRole: {
    practitioner: (resource) => findReference(readFields(resource).practitioner, 'Practitioner'),
    location: (resource) => findReference(readFields(resource).location, 'Location'),
  },
  Location: {},
  Organization: {},
  Appointment: {
    patient: (resource) => findReference(findActors(resource), 'Patient'),
    actor: (resource) =>
      findReference(findActors(resource), 'Practitioner') ?? findReference(findActors(resource), 'Location'),
    practitioner: (resource) => findReference(findActors(resource), 'Practitioner'),
    location: (resource) => findReference(findActors(resource), 'Location'),
    date: (resource) => dayRange(readFields(resource).start),
  },
  Claim: {},
  ServiceRequest: { patient, subject: patient },
  Coverage: { beneficiary: patient, patient },
  Schedule: {
    actor: (resource) =>
      findReference(readFields(resource).actor, 'Practitioner') ??
      findReference(readFields(resource).actor, 'PractitionerRole') ??
      findReference(readFields(resource).actor, 'Location'),
  },
  Slot: {
    schedule: (resource) => findReference(readFields(resource).schedule, 'Schedule'),
    start: (resource) => dayRange(readFields(resource).start),
  },
  ClaimResponse: { request: (resource) => findReference(readFields(resource).request, 'Claim') },
  ExplanationOfBenefit: { claim: (resource) => findReference(readFields(resource).claim, 'Claim') },
  CoverageEligibilityResponse: {},
  DiagnosticReport: { 'based-on': (resource) => findReference(readFields(resource).basedOn, 'ServiceRequest') },
  Encounter: { patient },
  MedicationRequest: { patient },
  MedicationStatement: { patient },
  Flag: { patient },
  AllergyIntolerance: { patient },
  Observation: {},
  Medication: {},
  Condition: {},
  RelatedPerson: { patient },
  Account: { patient, subject: patient },
  Invoice: { patient, subject: patient },
  DocumentReference: { patient },
  Task: { encounter },
  Communication: { encounter },
};

/** A resource of unknown type and unchecked content. */
function readFields(resource: Resource): Record<string, unknown> {
  return resource as unknown as Record<string, unknown>;
}

function readText(value: unknown): string | null {
  return typeof value === 'string' && value.trim() !== '' ? value.trim() : null;
}

function quoted(value: unknown): string | null {
  const text = readText(value);
  return text === null ? null : searchValue(text);
}

function readItems(value: unknown): Record<string, unknown>[] {
  return (Array.isArray(value) ? value : [value]).filter((each) => typeof each === 'object' && each !== null);
}

/** The first relative reference to this type. */
function findReference(value: unknown, type: string): string | null {
  const references = readItems(value).map(({ reference }) => readText(reference));
  return references.find((each) => each?.startsWith(`${type}/`) && each.split('/').length === 2) ?? null;
}

function findActors(resource: Resource): unknown[] {
  return readItems(readFields(resource).participant).map(({ actor }) => actor);
}

/** With its system, as markers are searched. MRNs are also searched by value alone. */
function findIdentifier(resource: Resource): SearchParams[string] | null {
  for (const { system, value } of readItems(readFields(resource).identifier)) {
    const number = quoted(value);
    if (number === null) continue;
    const full = readText(system) === null ? number : `${system}|${number}`;
    return resource.resourceType === 'Patient' ? [...new Set([number, full])] : full;
  }
  return null;
}

function findName(resource: Resource): { family?: unknown; given?: unknown[] } | undefined {
  const names = readItems(readFields(resource).name);
  const name = names.find(({ family, given }) => readText(family) && Array.isArray(given));
  return name && { family: name.family, given: name.given as unknown[] };
}

function findPhone(resource: Resource): unknown {
  return readItems(readFields(resource).telecom).find(({ system, use }) => system === 'phone' && use !== 'old')?.value;
}

function findStreet(resource: Resource): unknown {
  const [street] = readItems(readFields(resource).address).map(({ line }) =>
    Array.isArray(line) ? line[0] : undefined,
  );
  return street;
}

/** The day before to the day after: servers use time zones of their own. */
function dayRange(moment: unknown): string[] | null {
  const ms = Date.parse(readText(moment) ?? '');
  if (Number.isNaN(ms)) return null;
  const day = (offset: number) => new Date(ms + offset * 86_400_000).toISOString().slice(0, 10);
  return [`ge${day(-1)}`, `le${day(1)}`];
}

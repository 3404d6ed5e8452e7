import { randomUUID } from 'node:crypto';
import type * as fhir from 'fhir/r4.js';
import type { Access, Connector, EmrEndpoint, Evidence } from '../../connector.ts';
import { EmrFailure } from '../../emrFailure.ts';
import type { Capability } from '../../operations/operations.ts';
import { supportedCapabilities } from '../operations.ts';
import { type FhirResponse, unreadable_response } from '../transport/call.ts';
import { mergeParams, type ServerFacts, toCapabilities, toServerFacts } from '../transport/capabilities.ts';
import { openSession } from '../transport/client.ts';
import { marker_system } from '../transport/creates.ts';
import { type ExportTarget, exportable_types } from '../transport/exports.ts';
import { observedFacts } from '../transport/observedFacts.ts';
import {
  probedTypes,
  probeParams,
  readReferred,
  type Sample,
  type SampleSearch,
  sampleMatches,
  sampleType,
} from '../transport/paramProbes.ts';
import { findPlan, first_day, planned_types } from '../transport/plans.ts';
import { type SearchParams, toBundle, toPage } from '../transport/search.ts';
import { buildUrl, type SearchServer, type SendRequest } from '../transport/server.ts';
import { requireStatement } from './authorizationServer.ts';
import { limitToScopes } from './signInWays.ts';

/** What the server supports now, within the account's current scopes: servers are upgraded, and rights are revoked. */
export const refreshCapabilities: NonNullable<Connector['refreshCapabilities']> = async (
  endpoint: EmrEndpoint,
  access: Access,
  { thorough = true, retry_refused = false } = {},
) => {
  const session = openSession(endpoint, access);
  const base = new URL(endpoint.address);
  const statement = requireStatement(
    await session.request({ method: 'GET', url: buildUrl(base, 'metadata'), returns: 'statement' }),
  );
  // Read after the request, which may have renewed the token with other scopes.
  const facts = limitToScopes(toServerFacts(statement), session.grant().scope);
  // Written by signIn, or here, from a value of this type.
  const previous: ServerFacts | undefined = access.grant.server && JSON.parse(access.grant.server);
  const { bulk_group = null } = endpoint;
  const probed =
    !thorough && previous && isRecent(previous, facts) && (previous.bulk_group ?? null) === bulk_group
      ? { ...previous, ...facts }
      : await probeServer(base, facts, session.request, { previous, retry_refused, bulk_group });
  const grant = session.grant();
  const capabilities = supportedCapabilities(toCapabilities(probed));
  const server = JSON.stringify({ ...probed, offered: capabilities } satisfies ServerFacts);
  // A server that supports nothing is under maintenance: its previous capabilities are kept.
  return server === grant.server || capabilities.length === 0
    ? undefined
    : { grant: { ...grant, server }, capabilities, evidence: refusedInUse(probed, capabilities) };
};

/** What the account would offer if the server had not refused it in use. */
function refusedInUse(
  { refused, dropped_extensions, refused_export, ...facts }: ServerFacts,
  offered: readonly Capability[],
): Evidence[] {
  if (!refused && !dropped_extensions && !refused_export) return [];
  return supportedCapabilities(toCapabilities(facts))
    .filter((capability) => !offered.includes(capability))
    .map((capability) => ({ capability, state: 'refused' }));
}

/** Probing takes about 40 requests, so it is not part of every sync while the statement stays the same. */
const probe_interval_ms = 60 * 60_000;

function isRecent(previous: ServerFacts, facts: ServerFacts): boolean {
  const same = JSON.stringify(previous.types) === JSON.stringify(facts.types) && previous.software === facts.software;
  return same && Date.parse(previous.probed_at ?? '') > Date.now() - probe_interval_ms;
}

/**
 * Adds what capability statements do not say and only a test request shows. If the server is unavailable, the result of
 * the previous probe is kept. Reads only, a few requests at a time, and at most until `deadline_ms`: what is not known
 * by then is probed when it is used, or with the next refresh.
 */
export async function probeServer(
  base: URL,
  facts: ServerFacts,
  request: SendRequest,
  options: {
    previous?: ServerFacts | undefined;
    retry_refused?: boolean;
    deadline_ms?: number;
    bulk_group?: string | null | undefined;
  } = {},
): Promise<ServerFacts> {
  const { previous, retry_refused = false, deadline_ms = Number.POSITIVE_INFINITY, bulk_group = null } = options;
  const stated = toCapabilities(facts);
  const types = probedTypes().filter((type) => stated.interactions(type).has('search-type'));
  const unprobed: SearchServer = { base, request, capabilities: { searches_by_form: false } };
  const samples = new Map<string, Sample>();
  await inParallel(types, async (type) => {
    if (Date.now() < deadline_ms) samples.set(type, await sampleType(unprobed, type));
  });
  const plans = await probePlans(unprobed, facts, samples, { previous, deadline_ms });
  const patients = samples.get('Patient');
  if (patients?.outcome === 'narrow' && patients.records.length === 0) {
    patients.records.push(...(await readReferred(unprobed, 'Patient', samples.values())));
  }
  const searches_by_form = await searchesByForm(base, facts, request, {
    previous: previous?.searches_by_form ?? false,
    patient_id: samples.get('Patient')?.records[0]?.id,
  });
  const probed: ServerFacts = { ...facts, searches_by_form, unlisted: [], forbidden: [], ...plans };
  await inParallel(types, async (type) => {
    const sample = samples.get(type);
    const isIn = (types_before: string[] | undefined) => types_before?.includes(type) ?? false;
    const unknown = !sample || sample.outcome === 'unknown';
    const narrow = unknown ? isIn(previous?.unlisted) : sample.outcome === 'narrow';
    if (narrow) probed.unlisted?.push(type);
    if (unknown ? isIn(previous?.forbidden) : sample.outcome === 'forbidden') probed.forbidden?.push(type);
    const server = { ...unprobed, capabilities: { searches_by_form } };
    const findings =
      sample && Date.now() < deadline_ms
        ? await probeParams(server, type, sample.records, stated.searchParams(type))
        : { working: [], useless: [] };
    const [working, useless] = [previous?.working_params?.[type] ?? [], previous?.useless_params?.[type] ?? []];
    mergeParams(probed, type, { working, useless });
    for (const each of [sample, findings]) if (each) mergeParams(probed, type, each);
  });
  probed.unlisted?.sort();
  probed.forbidden?.sort();
  const exports = await probeExport(unprobed, probed, { previous, bulk_group, deadline_ms });
  // Observed during writes, so a probe does not reset it.
  const { unmarked, marked } = previous ?? {};
  const complete = samples.size === types.length && Date.now() < deadline_ms;
  return {
    ...probed,
    ...exports,
    ...(unmarked && { unmarked }),
    ...(marked && { marked }),
    ...observedFacts(previous, facts, { now_ms: Date.now(), retry_refused }),
    ...(complete && { probed_at: new Date().toISOString() }),
  };
}

/**
 * Finds out how the types that the server lists only by criteria are listed nevertheless, and which searches by a single
 * parameter it refuses. Adds the records that were found to the samples. What is not known is taken from the previous
 * probe.
 */
async function probePlans(
  server: SearchServer,
  facts: ServerFacts,
  samples: ReadonlyMap<string, Sample>,
  { previous, deadline_ms }: { previous: ServerFacts | undefined; deadline_ms: number },
): Promise<Pick<ServerFacts, 'plans' | 'refused_params'>> {
  const plans: NonNullable<ServerFacts['plans']> = {};
  const refused: NonNullable<ServerFacts['refused_params']> = {};
  const narrow = [...samples].filter(([, { outcome }]) => outcome === 'narrow');
  const inTime = () => Date.now() < deadline_ms;
  const probe = (name: string, value: string) =>
    inParallel(narrow, async ([type, { records }]) => {
      if (!facts.types[type]?.params.includes(name) || records.length > 0) return;
      const { outcome } = inTime() ? await sampleMatches(server, type, { [name]: value }) : { outcome: 'unknown' };
      const before = outcome === 'unknown' && previous?.refused_params?.[type]?.includes(name);
      if (outcome === 'rejected' || before) refused[type] = [...(refused[type] ?? []), name];
    });
  await probe('_lastUpdated', `ge${first_day}`);
  // In the order of the table, because appointments are listed for each location that is found.
  for (const type of planned_types) {
    const sample = samples.get(type);
    const earlier = previous?.plans?.[type];
    if (sample?.outcome !== 'narrow') {
      if (sample?.outcome !== 'listed' && earlier) plans[type] = earlier;
      continue;
    }
    const declared = new Set(facts.types[type]?.params.filter((name) => !refused[type]?.includes(name)));
    const find = (params: SearchParams) => sampleMatches(server, type, params);
    const result = inTime() ? await findPlan(type, declared, find, samples) : 'unknown';
    if (result === 'unknown' && earlier) plans[type] = earlier;
    if (typeof result === 'string') continue;
    plans[type] = result.plan;
    sample.records.push(...result.records);
  }
  // Our records are searched by their marker alone.
  await probe('identifier', `${marker_system}|${randomUUID()}`);
  const [patient] = samples.get('Patient')?.records ?? [];
  // Charts that are searched by more than the patient cannot be read.
  for (const name of patient ? ['patient', 'subject', 'beneficiary'] : []) await probe(name, `Patient/${patient?.id}`);
  return {
    ...(Object.keys(plans).length > 0 && { plans }),
    ...(Object.keys(refused).length > 0 && { refused_params: refused }),
  };
}

/** What can be exported, if a list cannot be read completely otherwise. */
async function probeExport(
  server: SearchServer,
  facts: ServerFacts,
  options: { previous: ServerFacts | undefined; bulk_group: string | null; deadline_ms: number },
): Promise<Pick<ServerFacts, 'export' | 'bulk_group'>> {
  const { previous, bulk_group, deadline_ms } = options;
  const named = bulk_group === null ? {} : { bulk_group };
  const { listsAll, interactions } = toCapabilities(facts);
  if (exportable_types.every((type) => listsAll(type) || interactions(type).size === 0)) return named;
  const find = (params: SearchParams) => sampleMatches(server, 'Group', params);
  const target = Date.now() < deadline_ms ? await findExportTarget(facts, bulk_group, find) : 'unknown';
  const known = target === 'unknown' ? previous?.export : target;
  return { ...named, ...(known && known !== 'none' && { export: known }) };
}

/**
 * What to export: the group that the EMR app names, all patients if the server supports that, or the only group that it
 * lists. Of several groups, any could be a part of the practice.
 */
async function findExportTarget(
  { types }: Pick<ServerFacts, 'types'>,
  bulk_group: string | null,
  findGroups: SampleSearch,
): Promise<ExportTarget | 'none' | 'unknown'> {
  if (bulk_group !== null) return { path: `Group/${bulk_group}`, named: true };
  if (types.Patient?.exports) return { path: 'Patient', named: false };
  if (!types.Group?.exports) return 'none';
  const { outcome, records } = await findGroups({});
  if (outcome === 'unknown') return 'unknown';
  const [group, ...others] = records;
  return group?.id === undefined || others.length > 0 ? 'none' : { path: `Group/${group.id}`, named: false };
}

/** Reads at a time. Servers that fail on concurrent requests do so on writes. */
const parallel_max = 4;

async function inParallel<T>(all: readonly T[], work: (each: T) => Promise<void>): Promise<void> {
  const waiting = [...all];
  const next = async (): Promise<void> => {
    for (let each = waiting.shift(); each !== undefined; each = waiting.shift()) await work(each);
  };
  await Promise.all(Array.from({ length: parallel_max }, next));
}

/**
 * Whether the server supports searches by POST. The standard requires it, but not all servers do, and capability
 * statements do not say so. It must not find a patient by an identifier that does not exist, and must find one that
 * exists: a server that ignores the body does one or the other. Without a patient to look for, it counts as unsupported,
 * because an empty result would read as "no such patient". If the server is unavailable, the result of the previous
 * probe is kept, so that a short outage does not move names into URLs.
 */
async function searchesByForm(
  base: URL,
  facts: ServerFacts,
  request: SendRequest,
  { previous, patient_id }: { previous: boolean; patient_id: string | undefined },
): Promise<boolean> {
  const capabilities = toCapabilities(facts);
  const params = capabilities.searchParams('Patient');
  if (!capabilities.interactions('Patient').has('search-type') || !params.has('identifier')) return false;
  const url = buildUrl(base, 'Patient');
  const find = async (name: string, value: string) => {
    const body = new URLSearchParams({ [name]: value });
    return readPatients(
      await request({ method: 'POST', url: buildUrl(base, 'Patient', '_search'), body, returns: 'list' }),
    );
  };
  try {
    if ((await find('identifier', `${marker_system}|${randomUUID()}`)).length > 0) return false;
    if (patient_id !== undefined && params.has('_id')) {
      return (await find('_id', patient_id)).some(({ id }) => id === patient_id);
    }
    if (!params.has('birthdate')) return false;
    url.search = new URLSearchParams({ birthdate: any_birth_date }).toString();
    const listed = readPatients(await request({ method: 'GET', url, returns: 'list' }));
    return listed.length > 0 && (await find('birthdate', any_birth_date)).length > 0;
  } catch (error) {
    if (!(error instanceof EmrFailure) || error.kind === 'login_required') throw error;
    return error.kind === 'unavailable' && error.message !== unreadable_response ? previous : false;
  }
}

/** A criterion that every patient meets, for servers that require one. */
const any_birth_date = 'ge1900-01-01';

function readPatients(response: FhirResponse): fhir.Patient[] {
  return toPage<fhir.Patient>(toBundle(response), 'Patient').matches;
}

import { randomUUID } from 'node:crypto';
import type * as fhir from 'fhir/r4.js';
import type { Access, Connector, EmrEndpoint, Evidence } from '../../connector.ts';
import { EmrFailure } from '../../emrFailure.ts';
import type { Capability } from '../../operations/operations.ts';
import { operations, supportedCapabilities } from '../operations.ts';
import { type FhirResponse, unreadable_response } from '../transport/call.ts';
import {
  mergeParams,
  observedFacts,
  type ServerFacts,
  toCapabilities,
  toServerFacts,
} from '../transport/capabilities.ts';
import { openSession } from '../transport/client.ts';
import { marker_system } from '../transport/creates.ts';
import { probedTypes, probeParams, readReferred, type Sample, sampleType } from '../transport/paramProbes.ts';
import { toBundle, toPage } from '../transport/search.ts';
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
  const probed =
    !thorough && previous && isRecent(previous, facts)
      ? { ...previous, ...facts }
      : await probeServer(base, facts, session.request, { previous, retry_refused });
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
  { refused, dropped_extensions, ...facts }: ServerFacts,
  offered: readonly Capability[],
): Evidence[] {
  if (!refused && !dropped_extensions) return [];
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
  options: { previous?: ServerFacts | undefined; retry_refused?: boolean; deadline_ms?: number } = {},
): Promise<ServerFacts> {
  const { previous, retry_refused = false, deadline_ms = Number.POSITIVE_INFINITY } = options;
  const stated = toCapabilities(facts);
  const types = probedTypes().filter((type) => stated.interactions(type).has('search-type'));
  const unprobed: SearchServer = { base, request, capabilities: { searches_by_form: false } };
  const samples = new Map<string, Sample>();
  await inParallel(types, async (type) => {
    if (Date.now() < deadline_ms) samples.set(type, await sampleType(unprobed, type));
  });
  const patients = samples.get('Patient');
  if (patients?.outcome === 'narrow') {
    patients.records.push(...(await readReferred(unprobed, 'Patient', samples.values())));
  }
  const searches_by_form = await searchesByForm(base, facts, request, {
    previous: previous?.searches_by_form ?? false,
    patient_id: samples.get('Patient')?.records[0]?.id,
  });
  const probed: ServerFacts = { ...facts, searches_by_form, unlisted: [], forbidden: [] };
  await inParallel(types, async (type) => {
    const sample = samples.get(type);
    const isIn = (types_before: string[] | undefined) => types_before?.includes(type) ?? false;
    const unknown = !sample || sample.outcome === 'unknown';
    const narrow = unknown ? isIn(previous?.unlisted) : sample.outcome === 'narrow';
    if (listed_types.has(type) && narrow) probed.unlisted?.push(type);
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
  // Observed during writes, so a probe does not reset it.
  const { unmarked, marked } = previous ?? {};
  const complete = samples.size === types.length && Date.now() < deadline_ms;
  return {
    ...probed,
    ...(unmarked && { unmarked }),
    ...(marked && { marked }),
    ...observedFacts(previous, facts, { now_ms: Date.now(), retry_refused }),
    ...(complete && { probed_at: new Date().toISOString() }),
  };
}

const listed_types = new Set(
  operations
    .flatMap(({ requires = [] }) => requires)
    .filter(({ all }) => all)
    .map(({ type }) => type),
);

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

import { randomUUID } from 'node:crypto';
import type * as fhir from 'fhir/r4.js';
import { type Access, type Connector, type EmrEndpoint, EmrFailure } from '../../connector.ts';
import { operations, supportedCapabilities } from '../operations.ts';
import { toBundle, toPage } from '../transport/bundles.ts';
import { type FhirResponse, unreadable_response } from '../transport/call.ts';
import { observedFacts, type ServerFacts, toCapabilities, toServerFacts } from '../transport/capabilities.ts';
import { marker_system } from '../transport/resources.ts';
import { type SendRequest, urlOf } from '../transport/search.ts';
import { openSession } from '../transport/session.ts';
import { capabilityStatementIn } from './discover.ts';
import { limitToScopes } from './scopes.ts';

/** What the server supports now, within the account's current scopes: servers are upgraded, and rights are revoked. */
export const refreshCapabilities: NonNullable<Connector['refreshCapabilities']> = async (
  endpoint: EmrEndpoint,
  access: Access,
) => {
  const session = openSession(endpoint, access);
  const base = new URL(endpoint.address);
  const statement = capabilityStatementIn(
    await session.request({ method: 'GET', url: urlOf(base, 'metadata'), returns: 'statement' }),
  );
  // Read after the request, which may have renewed the token with other scopes.
  const facts = limitToScopes(toServerFacts(statement), session.grant().scope);
  // Written by signIn, or here, from a value of this type.
  const previous: ServerFacts | undefined = access.grant.server && JSON.parse(access.grant.server);
  const probed = await probeServer(base, facts, session.request, previous);
  const grant = session.grant();
  const capabilities = supportedCapabilities(toCapabilities(probed));
  const server = JSON.stringify({ ...probed, offered: capabilities } satisfies ServerFacts);
  // A server that supports nothing is under maintenance: its previous capabilities are kept.
  return server === grant.server || capabilities.length === 0
    ? undefined
    : { grant: { ...grant, server }, capabilities };
};

/**
 * Adds what capability statements do not say and only a test request shows. If the server is unavailable, the result of
 * the previous probe is kept.
 */
export async function probeServer(
  base: URL,
  facts: ServerFacts,
  request: SendRequest,
  previous?: ServerFacts,
): Promise<ServerFacts> {
  const searches_by_form = await searchesByForm(base, facts, request, previous?.searches_by_form ?? false);
  const unlisted: string[] = [];
  for (const type of listed_types) {
    const searchable = toCapabilities(facts).interactions(type).has('search-type');
    const was_unlisted = previous?.unlisted?.includes(type) ?? false;
    if (searchable && (await requiresCriteria(base, type, request, was_unlisted))) unlisted.push(type);
  }
  // Observed during writes, so a probe does not reset it.
  const { unmarked } = previous ?? {};
  return {
    ...facts,
    searches_by_form,
    unlisted,
    ...(unmarked && { unmarked }),
    ...observedFacts(previous, facts, Date.now()),
  };
}

const listed_types = new Set(
  Object.values(operations)
    .flatMap(({ requires }) => requires)
    .filter(({ all }) => all)
    .map(({ type }) => type),
);

/**
 * Whether the server returns these records only to searches with a patient, a date or other criteria, as hospital
 * systems do. A 403 is something else: access may be granted later.
 */
async function requiresCriteria(base: URL, type: string, request: SendRequest, previous: boolean): Promise<boolean> {
  const url = urlOf(base, type);
  const one = new URL('?_count=1', url);
  try {
    const { status } = await request({ method: 'GET', url: one });
    // Some servers reject only `_count`.
    const final_status = status === 400 ? (await request({ method: 'GET', url })).status : status;
    return [400, 404, 405, 422, 501].includes(final_status);
  } catch (error) {
    if (error instanceof EmrFailure && error.kind !== 'login_required') return previous;
    throw error;
  }
}

/**
 * Whether the server supports searches by POST. The standard requires it, but not all servers do, and capability
 * statements do not say so. It is tested with an identifier that does not exist and with the id of an existing patient:
 * a server that ignores the body finds a patient by the first or none by the second. If the server is unavailable, the result of the previous probe is
 * kept, so that a short outage does not move names into URLs.
 */
export async function searchesByForm(
  base: URL,
  facts: ServerFacts,
  request: SendRequest,
  previous: boolean,
): Promise<boolean> {
  const capabilities = toCapabilities(facts);
  const params = capabilities.searchParams('Patient');
  if (!capabilities.interactions('Patient').has('search-type') || !params.has('identifier')) return false;
  const url = urlOf(base, 'Patient', '_search');
  const find = async (name: string, value: string) =>
    patientsIn(await request({ method: 'POST', url, body: new URLSearchParams({ [name]: value, _count: '1' }) }));
  try {
    if ((await find('identifier', `${marker_system}|${randomUUID()}`)).length > 0) return false;
    const known_id = params.has('_id') ? await anyId(base, request) : undefined;
    return known_id === undefined || (await find('_id', known_id)).some(({ id }) => id === known_id);
  } catch (error) {
    if (!(error instanceof EmrFailure) || error.kind === 'login_required') throw error;
    return error.kind === 'unavailable' && error.message !== unreadable_response ? previous : false;
  }
}

/** Returns undefined if there are no patients, or if the server requires search criteria. */
async function anyId(base: URL, request: SendRequest): Promise<string | undefined> {
  const response = await request({ method: 'GET', url: new URL('?_count=1', urlOf(base, 'Patient')) });
  return response.status < 400 ? patientsIn(response)[0]?.id : undefined;
}

function patientsIn(response: FhirResponse): fhir.Patient[] {
  return toPage<fhir.Patient>(toBundle(response), 'Patient').matches;
}

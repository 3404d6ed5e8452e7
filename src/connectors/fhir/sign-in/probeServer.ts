import { randomUUID } from 'node:crypto';
import type * as fhir from 'fhir/r4.js';
import { type Access, type Connector, type EmrEndpoint, EmrFailure } from '../../connector.ts';
import { operations, supportedOperations } from '../operations.ts';
import { toBundle, toPage } from '../transport/bundles.ts';
import { type Answer, unreadable } from '../transport/call.ts';
import { type ServerFacts, toCapabilities, toServerFacts } from '../transport/capabilities.ts';
import { marker_system } from '../transport/resources.ts';
import { type Ask, urlOf } from '../transport/search.ts';
import { openSession } from '../transport/session.ts';
import { capabilityStatementIn } from './discover.ts';
import { limitToScopes } from './scopes.ts';

/** What the server can do now, with the rights that the account has now: servers are upgraded, and rights taken away. */
export const refreshCapabilities: NonNullable<Connector['refreshCapabilities']> = async (
  endpoint: EmrEndpoint,
  access: Access,
) => {
  const session = openSession(endpoint, access);
  const base = new URL(endpoint.address);
  const statement = capabilityStatementIn(await session.ask({ method: 'GET', url: urlOf(base, 'metadata') }));
  // Looked at after the request: it may have brought a token with other rights.
  const facts = limitToScopes(toServerFacts(statement), session.grant().scope);
  // Written by signIn, or here, from a value of this type.
  const before: ServerFacts | undefined = access.grant.server && JSON.parse(access.grant.server);
  const tried = await probeServer(base, facts, session.ask, before);
  const grant = session.grant();
  const [server, capabilities] = [JSON.stringify(tried), supportedOperations(toCapabilities(tried))];
  // A server that can do nothing is one that is being mended: what it could do before is found again tomorrow.
  return server === grant.server || capabilities.length === 0
    ? undefined
    : { grant: { ...grant, server }, capabilities };
};

/**
 * Adds what no statement says and only trying shows. Where the server is not there to answer, what was known of it
 * `before` holds.
 */
export async function probeServer(base: URL, facts: ServerFacts, ask: Ask, before?: ServerFacts): Promise<ServerFacts> {
  const searches_by_form = await searchesByForm(base, facts, ask, before?.searches_by_form ?? false);
  const unlisted: string[] = [];
  for (const type of listed_types) {
    const able = toCapabilities(facts).interactions(type).has('search-type');
    const known = before?.unlisted?.includes(type) ?? false;
    if (able && (await requiresCriteria(base, type, ask, known))) unlisted.push(type);
  }
  // What was learnt by writing is not unlearnt by looking.
  const { unmarked } = before ?? {};
  return { ...facts, searches_by_form, unlisted, ...(unmarked && { unmarked }) };
}

const listed_types = new Set(
  Object.values(operations)
    .flatMap(({ requires }) => requires)
    .filter(({ all }) => all)
    .map(({ type }) => type),
);

/**
 * Whether a server gives these records only to who names a patient, a day or the like, as those of hospitals do. That
 * this account may not see them (403) is another matter, and may be put right tomorrow.
 */
async function requiresCriteria(base: URL, type: string, ask: Ask, before: boolean): Promise<boolean> {
  const url = urlOf(base, type);
  const one = new URL('?_count=1', url);
  try {
    const { status } = await ask({ method: 'GET', url: one });
    // Some refuse only to be told how many.
    const plain = status === 400 ? (await ask({ method: 'GET', url })).status : status;
    return [400, 404, 405, 422, 501].includes(plain);
  } catch (error) {
    if (error instanceof EmrFailure && error.kind !== 'login_required') return before;
    throw error;
  }
}

/**
 * Every server should take searches in a body, not all do, and none says so: it is tried with an identifier that nobody
 * has, and with the id of somebody. Whoever finds somebody by the one or nobody by the other did not read the body. A
 * server that is out of order for now is taken for what it was `before`: else a bad minute would put names into addresses.
 */
export async function searchesByForm(base: URL, facts: ServerFacts, ask: Ask, before: boolean): Promise<boolean> {
  const capabilities = toCapabilities(facts);
  const params = capabilities.searchParams('Patient');
  if (!capabilities.interactions('Patient').has('search-type') || !params.has('identifier')) return false;
  const url = urlOf(base, 'Patient', '_search');
  const find = async (name: string, value: string) =>
    patientsIn(await ask({ method: 'POST', url, body: new URLSearchParams({ [name]: value, _count: '1' }) }));
  try {
    if ((await find('identifier', `${marker_system}|${randomUUID()}`)).length > 0) return false;
    const known = params.has('_id') ? await anyId(base, ask) : undefined;
    return known === undefined || (await find('_id', known)).some(({ id }) => id === known);
  } catch (error) {
    if (!(error instanceof EmrFailure) || error.kind === 'login_required') throw error;
    return error.kind === 'unavailable' && error.message !== unreadable ? before : false;
  }
}

/** Undefined where there is nobody, or where the server does not show people to who asks for anybody. */
async function anyId(base: URL, ask: Ask): Promise<string | undefined> {
  const answer = await ask({ method: 'GET', url: new URL('?_count=1', urlOf(base, 'Patient')) });
  return answer.status < 400 ? patientsIn(answer)[0]?.id : undefined;
}

function patientsIn(answer: Answer): fhir.Patient[] {
  return toPage<fhir.Patient>(toBundle(answer), 'Patient').matches;
}

import type * as fhir from 'fhir/r4.js';
import { isZone } from '../../time/zones.ts';
import { type Credentials, type Door, EmrFailure, type Grant, type SignIn } from '../connector.ts';
import { call } from './call.ts';
import { capabilitiesOf, factsOf, type ServerFacts } from './capabilities.ts';
import { type Authority, discover, readStatement, type Statement } from './discover.ts';
import { offersOf } from './offersOf.ts';
import { narrowed } from './scopes.ts';
import { urlOf } from './search.ts';
import { zoneOfState } from './stateZones.ts';
import { askForTokens, grantOf, type TokenOutcome, type Tokens } from './tokens.ts';
import { tryServer } from './tryServer.ts';
import { first, list, text } from './values.ts';

/** Signs in by the way that was chosen, and finds out what this server, with these rights, can do. */
export async function signIn(
  door: Door,
  credentials: Credentials,
  _one_time_code?: string,
  page_grant?: Grant,
): Promise<SignIn> {
  const said = await readStatement(door);
  const { outcome, authority } = await tokensFor(door, credentials, said, page_grant);
  if ('refused' in outcome) return { outcome: 'refused', because: 'access' };
  const { tokens } = outcome;
  const opened = 'statement' in said ? said : await readStatement(door, tokens.access_token);
  if (!('statement' in opened)) return { outcome: 'refused', because: 'access' };
  const facts = narrowed(factsOf(opened.statement), tokens.scope);
  if (!(await isAccepted(door, facts, tokens.access_token))) return { outcome: 'refused', because: 'access' };
  const tried = await tryServer(new URL(door.address), facts, (asked) => call(door, asked, tokens.access_token));
  return {
    outcome: 'signed_in',
    grant: grantOf(tokens, authority, JSON.stringify(tried)),
    user: await userOf(door, tokens, credentials),
    timezone: await zoneOf(door, facts, tokens.access_token),
    offers: offersOf(capabilitiesOf(tried)),
  };
}

async function tokensFor(
  door: Door,
  credentials: Credentials,
  said: Statement,
  page_grant: Grant | undefined,
): Promise<{ outcome: TokenOutcome; authority?: Authority }> {
  const { way, bearer_token = '' } = credentials;
  if (way === 'bearer_token') {
    // Pasted, often with a line break behind it.
    return { outcome: { tokens: { access_token: bearer_token.trim() } } };
  }
  if (way === 'authorization_code') {
    if (!page_grant?.access_token) return { outcome: { refused: 'no page' } };
    const { authority = '{}', access_token, ...rest } = page_grant;
    // Both were written by pageSignIn from values of these types.
    return { outcome: { tokens: { ...rest, access_token } }, authority: JSON.parse(authority) };
  }
  const authority = await discover(door, said);
  return { outcome: await askForTokens(door, authority, credentials), authority };
}

/** A token is not known to be good until the server has taken it. */
async function isAccepted(door: Door, facts: ServerFacts, access_token: string): Promise<boolean> {
  const capabilities = capabilitiesOf(facts);
  const type = ['Patient', 'Practitioner', 'Organization', 'Location', ...Object.keys(facts.types)].find((each) =>
    capabilities.interactions(each).has('search-type'),
  );
  if (type === undefined) throw new EmrFailure('refused', 'The server lets this account read nothing.');
  const { status } = await call(door, { method: 'GET', url: searchOf(door, type, 1) }, access_token);
  if (status === 403) throw new EmrFailure('refused', `The server does not let this account read ${type} records.`);
  return status !== 401;
}

/** The name that the person has in the EMR, where the server tells who it is; else the client we are to the EMR. */
async function userOf(
  door: Door,
  tokens: Tokens,
  { client_id }: Credentials,
): Promise<{ ehr_id: string; name: string }> {
  const [, type = '', id = ''] = /([A-Z][A-Za-z]+)\/([A-Za-z0-9.-]{1,64})$/.exec(tokens.fhir_user ?? '') ?? [];
  const nobody = { ehr_id: client_id ?? 'bearer', name: tokens.user_name ?? client_id ?? 'FHIR' };
  if (id === '') return nobody;
  const answer = await call(door, { method: 'GET', url: urlOf(new URL(door.address), type, id) }, tokens.access_token);
  const [name] = (answer.resource as { name?: fhir.HumanName[] } | undefined)?.name ?? [];
  const spoken = name?.text ?? [...(name?.given ?? []), name?.family].filter(Boolean).join(' ');
  return { ehr_id: `${type}/${id}`, name: spoken || nobody.name };
}

const zone_extension = 'http://hl7.org/fhir/StructureDefinition/timezone';

/**
 * FHIR has no field for a practice's time zone; where places carry the standard extension, it is theirs, else that of the
 * state they are in. Weekly hours are told without a zone, so that UTC would offer them at night. Undefined where this
 * account is told neither.
 */
async function zoneOf(door: Door, facts: ServerFacts, access_token: string): Promise<string | undefined> {
  if (!capabilitiesOf(facts).interactions('Location').has('search-type')) return undefined;
  const answer = await call(door, { method: 'GET', url: searchOf(door, 'Location', 50) }, access_token);
  const entries = answer.resource?.resourceType === 'Bundle' ? (answer.resource.entry ?? []) : [];
  const places = entries.map((entry) => (entry?.resource ?? {}) as fhir.Location);
  for (const { extension } of places) {
    const zone = list(extension).find(({ url }) => url === zone_extension)?.valueCode;
    if (zone !== undefined && isZone(zone)) return zone;
  }
  const open = places.filter(({ status }) => (status ?? 'active') === 'active');
  return first(open, ({ address }) => zoneOfState(text(address?.state)) ?? null) ?? undefined;
}

function searchOf(door: Door, type: string, count: number): URL {
  const url = urlOf(new URL(door.address), type);
  url.searchParams.set('_count', String(count));
  return url;
}

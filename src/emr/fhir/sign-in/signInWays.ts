import type { CredentialField, SignInWay } from '../../connector.ts';
import type { Interaction, ServerFacts } from '../transport/capabilities.ts';
import type { AuthorizationServer } from './authorizationServer.ts';

/** The fields of all ways. `off` keeps browsers from suggesting a user name as client ID. */
export const credential_fields: readonly CredentialField[] = [
  { name: 'client_id', label: 'Client ID', secret: false, autocomplete: 'off' },
  { name: 'client_secret', label: 'Client secret', secret: true, autocomplete: 'off' },
  { name: 'app_secret', label: 'Client secret (optional)', secret: true, autocomplete: 'off', optional: true },
  { name: 'bearer_token', label: 'Bearer token', secret: true, autocomplete: 'off' },
];

/** In order of preference: the first two need no person to renew. */
export const sign_in_ways: readonly SignInWay[] = [
  {
    name: 'backend_services',
    label: 'Signing key (SMART Backend Services)',
    about: 'The EMR identifies this service by its public keys. No secret is shared.',
    fields: ['client_id'],
    by_app: true,
    app_required: true,
    must_register: 'key_set',
  },
  {
    name: 'client_secret',
    label: 'Client ID and secret',
    about: 'Use the client ID and secret from your EMR administrator.',
    fields: ['client_id', 'client_secret'],
    by_app: true,
  },
  {
    name: 'authorization_code',
    label: 'Sign in on the EMR’s own page',
    about: 'Opens the EMR’s sign-in page in a new window.',
    fields: ['client_id', 'app_secret'],
    by_app: true,
    must_register: 'return_address',
    on_page: true,
  },
  {
    name: 'bearer_token',
    label: 'Bearer token',
    about: 'Use a token issued by the EMR. When it expires, you must enter a new one.',
    fields: ['bearer_token'],
  },
];

/**
 * The ways that the server's discovery document allows. A list that the document does not contain allows everything. A
 * token issued by hand needs no document.
 */
export function offeredWays(authority: AuthorizationServer): string[] {
  const { authorization_endpoint, auth_methods = [], grant_types = [], smart_capabilities = [] } = authority;
  const grants = (type: string) => grant_types.length === 0 || grant_types.includes(type);
  const authenticates = (methods: string[], capability: string) =>
    auth_methods.length === 0 ||
    methods.some((method) => auth_methods.includes(method)) ||
    smart_capabilities.includes(capability);
  const offered: Record<string, boolean> = {
    backend_services:
      grants('client_credentials') && authenticates(['private_key_jwt'], 'client-confidential-asymmetric'),
    client_secret:
      grants('client_credentials') &&
      authenticates(['client_secret_basic', 'client_secret_post'], 'client-confidential-symmetric'),
    authorization_code: authorization_endpoint !== undefined && grants('authorization_code'),
    bearer_token: true,
  };
  return sign_in_ways.map(({ name }) => name).filter((name) => offered[name]);
}

/**
 * The scopes to request: everything, in the notation the server supports. If the server lists scopes per type, those
 * are requested, without operations (`system/*.$export`), because some servers grant all requested scopes or none.
 */
export function scopesFor(level: 'system' | 'user', supported: readonly string[] | undefined): string {
  const offered = new Set(supported);
  const full_access = [[`${level}/*.cruds`], [`${level}/*.*`], [`${level}/*.read`, `${level}/*.write`]];
  const listed = [...offered].filter((scope) => scope.startsWith(`${level}/`) && parseScope(scope).length > 0);
  const requested = full_access.find((scopes) => scopes.every((scope) => offered.has(scope))) ?? listed;
  // Some servers guard each of their APIs with a scope of its own.
  const api = [...offered].filter((scope) => /^\w+:fhir$/i.test(scope));
  const records = [...api, ...(requested.length > 0 ? requested : [`${level}/*.read`, `${level}/*.write`])];
  if (level === 'system') return records.join(' ');
  // If the server does not list its scopes, only the one that every SMART server supports is added.
  const more = ['openid', 'fhirUser', 'offline_access'].filter((scope) => offered.has(scope));
  return [...(supported ? more : ['offline_access']), ...records].join(' ');
}

/**
 * The scopes to try for the service itself, in this order. A server that lists none may know one of the notations only,
 * and some grant all requested scopes or none.
 */
export function systemScopes(supported: readonly string[] | undefined): string[] {
  const first = scopesFor('system', supported);
  const lists_system = supported?.some((scope) => scope.startsWith('system/'));
  return lists_system ? [first] : [first, 'system/*.cruds', 'system/*.*'];
}

/** Restricts the server's capabilities to the granted scopes. Scopes that name no records are ignored. */
export function limitToScopes(facts: ServerFacts, granted: string | undefined): ServerFacts {
  const scopes = (granted ?? '').split(/\s+/).flatMap(parseScope);
  if (scopes.length === 0) return facts;
  const types = Object.entries(facts.types).map(([type, type_facts]) => {
    const allowed_interactions = new Set(
      scopes.filter((scope) => scope.type === '*' || scope.type === type).flatMap(({ allowed }) => allowed),
    );
    return [
      type,
      { ...type_facts, interactions: type_facts.interactions.filter((each) => allowed_interactions.has(each)) },
    ];
  });
  return { ...facts, types: Object.fromEntries(types) };
}

const letters: Record<string, Interaction> = { c: 'create', r: 'read', u: 'update', s: 'search-type' };
const keywords: Record<string, Interaction[]> = {
  '*': ['read', 'search-type', 'create', 'update'],
  read: ['read', 'search-type'],
  write: ['create', 'update'],
};

/** `user/Patient.read` in SMART 1, `user/Patient.rs?…` in SMART 2. */
function parseScope(scope: string): { type: string; allowed: Interaction[] }[] {
  const [, type, right = ''] = /^(?:system|user|patient)\/(\*|[A-Za-z]+)\.(\*|[a-z]+)(?:\?.*)?$/.exec(scope) ?? [];
  if (type === undefined) return [];
  const allowed = keywords[right] ?? [...right].flatMap((letter) => letters[letter] ?? []);
  return [{ type, allowed }];
}

import type { Interaction, ServerFacts } from '../transport/capabilities.ts';

/**
 * The scopes to request: everything, in the notation the server supports. If the server lists scopes per type, those
 * are requested, without operations (`system/*.$export`), because some servers grant all requested scopes or none.
 */
export function scopesFor(level: 'system' | 'user', supported: readonly string[] | undefined): string {
  const known = new Set(supported);
  const full_access = [[`${level}/*.cruds`], [`${level}/*.*`], [`${level}/*.read`, `${level}/*.write`]];
  const listed = [...known].filter((scope) => scope.startsWith(`${level}/`) && parseScope(scope).length > 0);
  const wanted = full_access.find((scopes) => scopes.every((scope) => known.has(scope))) ?? listed;
  // Some servers guard each of their APIs with a scope of its own.
  const api = [...known].filter((scope) => /^\w+:fhir$/i.test(scope));
  const records = [...api, ...(wanted.length > 0 ? wanted : [`${level}/*.read`, `${level}/*.write`])];
  if (level === 'system') return records.join(' ');
  // If the server does not list its scopes, only the one that every SMART server supports is added.
  const more = ['openid', 'fhirUser', 'offline_access'].filter((scope) => known.has(scope));
  return [...(supported ? more : ['offline_access']), ...records].join(' ');
}

/** Restricts the server's capabilities to the granted scopes. Scopes that name no records are ignored. */
export function limitToScopes(facts: ServerFacts, granted: string | undefined): ServerFacts {
  const scopes = (granted ?? '').split(/\s+/).flatMap(parseScope);
  if (scopes.length === 0) return facts;
  const types = Object.entries(facts.types).map(([type, of]) => {
    const able = new Set(
      scopes.filter((scope) => scope.type === '*' || scope.type === type).flatMap(({ allowed }) => allowed),
    );
    return [type, { ...of, interactions: of.interactions.filter((each) => able.has(each)) }];
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

import type { Credentials, SignInRefusal } from '../../connector.ts';
import type { AuthorizationServer } from './discover.ts';
import { offeredWays } from './signInWays.ts';

/** A rejection by the authorization server: the OAuth error code, and what it says about it. */
export type TokenRefusal = { refused: string; description?: string; scopes?: string };

/** Whether the server may have refused the way in which the secret was sent, rather than the client. */
export function mayBeAuthentication({ refused }: TokenRefusal): boolean {
  return ['invalid_client', 'invalid_request', 'unauthorized_client'].includes(refused);
}

/** Of two refusals of the same client, the one that says more: that of the method that the server understood. */
export function clearerRefusal(first: TokenRefusal, second: TokenRefusal): TokenRefusal {
  return namesSecret(second.description) ? second : first;
}

/**
 * What a rejected token request means. OAuth has one code, `invalid_client`, for an unknown client, a wrong secret and
 * an unknown key, and some servers send `invalid_request` instead. Their description often says which it was.
 */
export function toRefusal(
  refusal: TokenRefusal,
  { way = '' }: Credentials,
  authority: AuthorizationServer,
): SignInRefusal {
  const { refused, description, scopes = '' } = refusal;
  if (refused === 'invalid_scope' || /\bscopes?\b/i.test(description ?? '')) {
    return { outcome: 'refused', reason: 'scope', scopes };
  }
  const supported_ways = offeredWays(authority);
  if (!supported_ways.includes(way) || isMethodRefused(refusal)) {
    return { outcome: 'refused', reason: 'method', supported_ways: supported_ways.filter((each) => each !== way) };
  }
  return { outcome: 'refused', reason: credentialAtFault(way, description) };
}

/** Some servers send `unauthorized_client` for wrong credentials too. They say so in the description. */
function isMethodRefused({ refused, description }: TokenRefusal): boolean {
  if (['unsupported_grant_type', 'unsupported_response_type'].includes(refused)) return true;
  return refused === 'unauthorized_client' && !/invalid|unknown|credential|secret|authentic/i.test(description ?? '');
}

function credentialAtFault(way: string, description: string | undefined): 'client' | 'secret' | 'key' | 'access' {
  if (namesClient(description)) return 'client';
  if (way === 'backend_services') return 'key';
  // The EMR's page has accepted the client by now.
  return way === 'authorization_code' || namesSecret(description) ? 'secret' : 'access';
}

/** Not texts such as "Invalid client or invalid client credentials", which name both. */
function namesSecret(description = ''): boolean {
  return /\bsecret\b/i.test(description) && !/\bor\b/i.test(description);
}

function namesClient(description = ''): boolean {
  const unknown = 'unknown|invalid|unregistered|not found|no such|not registered|does not exist|disabled|inactive';
  const named = new RegExp(`(${unknown})\\b.{0,20}\\bclient(?! (auth|assert))|\\bclient\\b.{0,40}(${unknown})`, 'i');
  return named.test(description) && !/\b(secret|credentials?|assertion|keys?|or)\b/i.test(description);
}

import type { Credentials, SignInRefusal } from '../../connector.ts';
import { printable } from '../transport/call.ts';
import type { AuthorizationServer } from './authorizationServer.ts';
import { offeredWays } from './signInWays.ts';

/** A rejection by the authorization server: the OAuth error code, and what it says about it. */
export type TokenRefusal = { refused: string; description?: string; hint?: string; scopes?: string };

/** Whether the server may have refused the way in which the secret was sent, rather than the client. */
export function mayBeAuthentication({ refused }: TokenRefusal): boolean {
  return ['invalid_client', 'invalid_request', 'unauthorized_client'].includes(refused);
}

/** Of two refusals of the same client, the one that says more: that of the method that the server understood. */
export function clearerRefusal(first: TokenRefusal, second: TokenRefusal): TokenRefusal {
  return namesSecret(joinExplanation(second)) ? second : first;
}

/**
 * What a rejected token request means. OAuth has one code, `invalid_client`, for an unknown client, a wrong secret and
 * an unknown key, and some servers send `invalid_request` instead. Their description or hint often says which it was.
 */
export function toRefusal(
  refusal: TokenRefusal,
  credentials: Credentials,
  authority: AuthorizationServer,
): SignInRefusal {
  const { way = '' } = credentials;
  const emr_message = quotable(refusal, credentials);
  const refused = { outcome: 'refused', ...(emr_message !== undefined && { emr_message }) } as const;
  const explanation = joinExplanation(refusal);
  if (refusal.refused === 'invalid_scope' || /\bscopes?\b/i.test(explanation)) {
    return { ...refused, reason: 'scope', scopes: refusal.scopes ?? '' };
  }
  const supported_ways = offeredWays(authority);
  if (!supported_ways.includes(way) || isMethodRefused(refusal, way)) {
    return { ...refused, reason: 'method', supported_ways: supported_ways.filter((each) => each !== way) };
  }
  return { ...refused, reason: credentialAtFault(refusal, way) };
}

function joinExplanation({ description = '', hint = '' }: TokenRefusal): string {
  return `${description} ${hint}`.trim();
}

/** The server's words, shortened, unless they repeat a credential. The hint says more than the standard's phrases. */
function quotable({ description, hint }: TokenRefusal, credentials: Credentials): string | undefined {
  const texts = [description, hint].map(printable).filter((each) => each !== undefined);
  const quoted = [...new Set(texts)].join(' ');
  const secrets = ['client_secret', 'app_secret', 'bearer_token'].map((name) => credentials[name] ?? '');
  const repeats = secrets.some((secret) => secret !== '' && quoted.includes(secret));
  return quoted === '' || repeats ? undefined : [...quoted].slice(0, quote_length_max).join('');
}

const quote_length_max = 300;

/**
 * Whether the server refuses the way to sign in, and not the credentials. Some servers send `unauthorized_client` or
 * `invalid_request` for wrong credentials too, and their explanation shows it.
 */
function isMethodRefused(refusal: TokenRefusal, way: string): boolean {
  const { refused } = refusal;
  const explanation = joinExplanation(refusal);
  if (['unsupported_grant_type', 'unsupported_response_type'].includes(refused) || namesMethod(explanation))
    return true;
  if (refused === 'unauthorized_client') return !/invalid|unknown|credential|secret|authentic/i.test(explanation);
  if (refused !== 'invalid_request') return false;
  // If the server requires an assertion, a sign-in by secret uses the wrong method.
  const about_credentials = way === 'backend_services' ? namesKey(explanation) : namesSecret(explanation);
  return !about_credentials && !namesClient(explanation);
}

/** Texts such as "assertion type is not supported", "Unsupported authentication method". */
function namesMethod(explanation: string): boolean {
  const method =
    '(?:grant|grant[ _]type|response[ _]type|assertion[ _]type|auth\\w* method|token_endpoint_auth_method)';
  const refused = '(?:not (?:supported|allowed|enabled|permitted|authorized)|unsupported|disabled)';
  return new RegExp(`\\b${method}\\b.{0,40}\\b${refused}|\\b${refused}\\b.{0,20}\\b${method}\\b`, 'i').test(
    explanation,
  );
}

function credentialAtFault(refusal: TokenRefusal, way: string): 'client' | 'secret' | 'key' | 'access' {
  const explanation = joinExplanation(refusal);
  if (namesClient(explanation)) return 'client';
  if (way === 'backend_services') return isKeyAtFault(refusal) ? 'key' : 'access';
  // The EMR's page has accepted the client by now.
  return way === 'authorization_code' || namesSecret(explanation) ? 'secret' : 'access';
}

/** A client that authenticates by key and is refused without a reason is refused because of the key. */
function isKeyAtFault(refusal: TokenRefusal): boolean {
  const explanation = joinExplanation(refusal);
  // The key was accepted, but not what was signed with it: its time, its audience, its id.
  if (/\b(aud|audience|exp|expired?|iat|nbf|jti|clock|replay\w*|typ)\b/i.test(explanation)) return false;
  return refusal.refused === 'invalid_client' || namesKey(explanation);
}

function namesKey(explanation: string): boolean {
  return /\b(assertion|jwt|jws|jwks?|keys?|kid|signature|signed)\b/i.test(explanation);
}

/** Not texts such as "Invalid client or invalid client credentials", which name both. */
function namesSecret(explanation: string): boolean {
  return /\bsecret\b/i.test(explanation) && !/\bor\b/i.test(explanation);
}

function namesClient(explanation: string): boolean {
  const unknown = 'unknown|invalid|unregistered|not found|no such|not registered|does not exist|disabled|inactive';
  const named = new RegExp(`(${unknown})\\b.{0,20}\\bclient(?! (auth|assert))|\\bclient\\b.{0,40}(${unknown})`, 'i');
  return named.test(explanation) && !/\b(secret|credentials?|assertion|keys?|or)\b/i.test(explanation);
}

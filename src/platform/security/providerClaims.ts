import * as oidc from 'openid-client';
import { OutboundFailure } from './outbound.ts';

export type Claims = Readonly<Record<string, unknown>>;

type Tokens = {
  access_token: string;
  /** In milliseconds since 1970; null if the provider does not say. */
  expires_at: number | null;
  refresh_token: string | null;
};

/**
 * What a session keeps to ask the provider again. `by`: where it says which roles a person has, in the user info or in the
 * ID token that comes with refreshed tokens. That is undetermined if the provider did not answer at the sign-in; then,
 * the source that gives the `roles` of the sign-in is the one.
 */
export type ProviderTokens = (Tokens & { by: 'user_info' | 'id_token' }) | Undetermined;

type Undetermined = Tokens & { by: 'undetermined'; roles: string };

/** How the caller reads claims: whether they suffice to sign in, and which roles they give, as a text to compare. */
export type ClaimReader = {
  isComplete(claims: Claims): boolean;
  readRoles(claims: Claims): string;
};

/** With neither claims nor a failure, the provider has no user info. */
type UserInfo = { claims?: Claims; failure?: IdentityFailure };

/** Reads the user info at a sign-in. Throws if it is about another person. */
export async function readUserInfo(
  configuration: oidc.Configuration,
  access_token: string,
  subject: string,
): Promise<UserInfo> {
  if (!configuration.serverMetadata().userinfo_endpoint) return {};
  try {
    return { claims: await fetchUserInfo(configuration, access_token, subject) };
  } catch (error) {
    if (!(error instanceof IdentityFailure) || error.code === subject_differs) throw error;
    return { failure: error };
  }
}

type SignedIn = { subject: string; roles: string; info: UserInfo; reader: ClaimReader };

/**
 * Finds out at a sign-in where the provider repeats the roles, and returns the tokens for it. Undefined if it does so
 * nowhere, which only definite answers show: after an outage, the next check finds it out.
 */
export async function findRoles(
  configuration: oidc.Configuration,
  granted: Granted,
  { subject, roles, info, reader }: SignedIn,
): Promise<ProviderTokens | undefined> {
  const tokens = toTokens(granted, null);
  if (info.claims && reader.readRoles(info.claims) === roles) return { ...tokens, by: 'user_info' };
  const renewed = await renewAtSignIn(configuration, subject, tokens);
  if (renewed === 'failed') return { ...tokens, by: 'undetermined', roles };
  const { claims, tokens: newest } = renewed === 'not_offered' ? { tokens, claims: undefined } : renewed;
  if (claims && reader.readRoles(claims) === roles) return { ...newest, by: 'id_token' };
  if (info.failure?.kind === 'declined') throw info.failure;
  return info.failure && !isAbsent(info.failure) ? { ...newest, by: 'undetermined', roles } : undefined;
}

/** OAuth error codes of providers that refresh no tokens, or not for our client. */
const not_offered_codes = new Set(['unauthorized_client', 'unsupported_grant_type']);

async function renewAtSignIn(
  configuration: oidc.Configuration,
  subject: string,
  tokens: Tokens,
): Promise<Renewed | 'not_offered' | 'failed'> {
  if (tokens.refresh_token === null) return 'not_offered';
  try {
    return await renew(configuration, subject, tokens);
  } catch (error) {
    const failure = toIdentityFailure(error);
    if (!(failure instanceof IdentityFailure) || failure.kind === 'declined') throw failure;
    return not_offered_codes.has(failure.code) ? 'not_offered' : 'failed';
  }
}

type Check = {
  configuration: oidc.Configuration;
  subject: string;
  reader: ClaimReader;
  keep: (renewed: ProviderTokens) => Promise<void>;
};

/** The person's claims now, from where the tokens give them. */
export async function claimsAgain(check: Check, tokens: ProviderTokens): Promise<Claims> {
  if (tokens.by === 'user_info') return (await userInfoAgain(check, tokens)).claims;
  if (tokens.by === 'undetermined') return determineClaims(check, tokens);
  const { claims } = await renewAndKeep(check, tokens);
  if (!claims) throw new IdentityFailure('unavailable', 'id_token_missing', 'The provider sent no ID token.');
  return claims;
}

/**
 * Determines which source gives the roles of the sign-in. If none does, the person's roles have changed since, or the
 * provider repeats them nowhere; only another sign-in can tell.
 */
async function determineClaims(check: Check, tokens: Undetermined): Promise<Claims> {
  const { configuration, reader, keep } = check;
  const settle = async (by: 'user_info' | 'id_token', claims: Claims, newest: Tokens) => {
    const { access_token, expires_at, refresh_token } = newest;
    await keep({ by, access_token, expires_at, refresh_token });
    return claims;
  };
  const has_user_info = configuration.serverMetadata().userinfo_endpoint !== undefined;
  const info = has_user_info ? await userInfoAgain(check, tokens) : { tokens, claims: undefined };
  if (info.claims && reader.readRoles(info.claims) === tokens.roles)
    return settle('user_info', info.claims, info.tokens);
  const renewed = info.tokens.refresh_token === null ? undefined : await renewAndKeep(check, info.tokens);
  if (renewed?.claims && reader.readRoles(renewed.claims) === tokens.roles) {
    return settle('id_token', renewed.claims, renewed.tokens);
  }
  throw new IdentityFailure('declined', 'roles_differ', 'The provider does not repeat the roles of the sign-in.');
}

/** The user info, with the tokens that are valid after it was read. */
async function userInfoAgain(
  check: Check,
  tokens: ProviderTokens,
): Promise<{ tokens: ProviderTokens; claims: Claims }> {
  const { configuration, subject } = check;
  const expired = tokens.expires_at !== null && tokens.expires_at <= Date.now();
  if (!expired) {
    try {
      return { tokens, claims: await fetchUserInfo(configuration, tokens.access_token, subject) };
    } catch (error) {
      const refused = error instanceof IdentityFailure && error.kind === 'declined' && error.code !== subject_differs;
      if (!refused || tokens.refresh_token === null) throw error;
    }
  }
  const { tokens: renewed } = await renewAndKeep(check, tokens);
  return { tokens: renewed, claims: await fetchUserInfo(configuration, renewed.access_token, subject) };
}

const subject_differs = 'subject_differs';

/** A user info about someone else, and one that does not accept the token, are the provider's word, not an outage. */
async function fetchUserInfo(
  configuration: oidc.Configuration,
  access_token: string,
  subject: string,
): Promise<Claims> {
  try {
    return await oidc.fetchUserInfo(configuration, access_token, subject);
  } catch (error) {
    if (error instanceof oidc.ClientError && error.code === 'OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED') {
      throw new IdentityFailure('declined', subject_differs, 'The provider’s user info is about another person.');
    }
    const status = readStatus(error);
    if (status === 401 || error instanceof oidc.WWWAuthenticateChallengeError) {
      throw new IdentityFailure('declined', `status_${status}`, 'The provider does not accept the token.');
    }
    if (status !== undefined) {
      throw new IdentityFailure('invalid', `status_${status}`, 'The provider’s response is not valid.');
    }
    throw toIdentityFailure(error);
  }
}

/** The status of a response that the library did not accept. */
function readStatus(error: unknown): number | undefined {
  if (error instanceof oidc.WWWAuthenticateChallengeError) return error.status;
  return error instanceof oidc.ClientError && error.cause instanceof Response ? error.cause.status : undefined;
}

/** The provider has no user info, whatever its metadata says. */
function isAbsent({ code }: IdentityFailure): boolean {
  return ['status_404', 'status_405', 'status_410'].includes(code);
}

async function renewAndKeep<Kept extends ProviderTokens>(
  { configuration, subject, keep }: Check,
  tokens: Kept,
): Promise<{ tokens: Kept; claims: Claims | undefined }> {
  const { tokens: issued, claims } = await renew(configuration, subject, tokens);
  const renewed = { ...tokens, ...issued };
  await keep(renewed);
  return { tokens: renewed, claims };
}

type Renewed = { tokens: Tokens; claims: Claims | undefined };

/** New tokens, and the claims of the ID token among them. */
async function renew(
  configuration: oidc.Configuration,
  subject: string,
  { refresh_token }: Pick<Tokens, 'refresh_token'>,
): Promise<Renewed> {
  if (refresh_token === null) {
    throw new IdentityFailure('unavailable', 'token_expired', 'The access token has expired, and there is no other.');
  }
  const granted = await oidc.refreshTokenGrant(configuration, refresh_token);
  const claims = granted.claims();
  if (claims && claims.sub !== subject) {
    throw new IdentityFailure('declined', subject_differs, 'The provider’s tokens are about another person.');
  }
  return { tokens: toTokens(granted, refresh_token), claims };
}

type Granted = Awaited<ReturnType<typeof oidc.refreshTokenGrant>>;

/** Providers that do not replace a refresh token do not repeat it. */
function toTokens(granted: Granted, before: string | null): Tokens {
  const seconds = granted.expiresIn();
  return {
    access_token: granted.access_token,
    expires_at: seconds === undefined ? null : Date.now() + seconds * 1000,
    refresh_token: granted.refresh_token ?? before,
  };
}

/**
 * - `unavailable`: no usable response; a later attempt can succeed
 * - `declined`: the provider did not sign the person in
 * - `client_refused`: it does not accept our client ID, secret or redirect URI
 * - `invalid`: its response is not valid for this sign-in
 */
export type IdentityFailureKind = 'unavailable' | 'declined' | 'client_refused' | 'invalid';

/** Why a sign-in at the provider failed. It has no cause: the library's errors contain responses with tokens. */
export class IdentityFailure extends Error {
  readonly kind: IdentityFailureKind;
  /** The error code of OAuth or of the library. */
  readonly code: string;
  constructor(kind: IdentityFailureKind, code: string, message: string) {
    super(message);
    this.name = 'IdentityFailure';
    this.kind = kind;
    this.code = code;
  }
}

/** OAuth error codes for "not now", and those that concern our client instead of the person. */
const unavailable_codes = new Set(['temporarily_unavailable', 'server_error', 'slow_down']);
const client_codes = new Set([
  'invalid_client',
  'unauthorized_client',
  'invalid_scope',
  'unsupported_grant_type',
  'unsupported_response_type',
]);

/** The failure behind an error of the library or of the network; other errors are returned as they are. */
export function toIdentityFailure(error: unknown): unknown {
  const cause = error instanceof oidc.ClientError ? error.cause : undefined;
  const [own] = [error, cause].filter((each) => each instanceof IdentityFailure);
  if (own) return own;
  const [outbound] = [error, cause].filter((each) => each instanceof OutboundFailure);
  if (outbound) return new IdentityFailure('unavailable', outbound.kind, outbound.message);
  if (error instanceof oidc.AuthorizationResponseError || error instanceof oidc.ResponseBodyError) {
    // Anyone can write the code into a URL, so only the form of a real one is repeated.
    const code = /^[a-z_]{1,40}$/.test(error.error) ? error.error : 'unknown';
    return new IdentityFailure(classifyCode(code), code, 'The provider refused the sign-in.');
  }
  if (error instanceof oidc.WWWAuthenticateChallengeError) {
    return new IdentityFailure('client_refused', `status_${error.status}`, 'The provider refused the request.');
  }
  if (error instanceof oidc.ClientError || error instanceof TypeError) {
    const { code = 'unknown' } = error as { code?: string };
    return new IdentityFailure('invalid', code, 'The provider’s response is not valid.');
  }
  return error;
}

function classifyCode(code: string): IdentityFailureKind {
  if (unavailable_codes.has(code)) return 'unavailable';
  return client_codes.has(code) ? 'client_refused' : 'declined';
}

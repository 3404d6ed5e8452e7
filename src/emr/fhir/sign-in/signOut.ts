import type { Access, EmrEndpoint } from '../../connector.ts';
import { type AuthorizationServer, discoverAuthorization, readCapabilityStatement } from './discover.ts';
import { revokeToken } from './tokens.ts';
import { requireTrustedRevocation } from './trustedEndpoints.ts';

/**
 * Revokes the refresh token and the access token, if the server publishes a revocation endpoint. Throws if that is not
 * trusted. A bearer token was issued to someone else, and only they can revoke it.
 */
export async function signOut(
  endpoint: EmrEndpoint,
  { credentials, grant }: Pick<Access, 'credentials' | 'grant'>,
): Promise<boolean> {
  if (!grant.authority) return false;
  // Written by signIn from a value of this type.
  const authority = await withRevocation(endpoint, JSON.parse(grant.authority));
  if (!authority.revocation_endpoint) return false;
  requireTrustedRevocation(endpoint, authority);
  for (const name of ['refresh_token', 'access_token'] as const) {
    const token = grant[name];
    if (token) await revokeToken(endpoint, authority, credentials, token, name);
  }
  return true;
}

/** Grants of earlier versions do not contain the endpoint. */
async function withRevocation(endpoint: EmrEndpoint, authority: AuthorizationServer): Promise<AuthorizationServer> {
  if (authority.revocation_endpoint) return authority;
  const { revocation_endpoint } = await discoverAuthorization(endpoint, await readCapabilityStatement(endpoint));
  return { ...authority, revocation_endpoint };
}

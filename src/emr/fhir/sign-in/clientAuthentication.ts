import * as oauth from 'openid-client';
import type { SigningAlgorithm } from '../../../platform/security/signingKeys.ts';
import type { Credentials, EmrEndpoint } from '../../connector.ts';
import type { AuthorizationServer, SecretMethod } from './discover.ts';

/** One way to authenticate as the client. `secret_method` is set if it sends a secret. */
export type ClientAuthentication = { auth: oauth.ClientAuth; secret_method?: SecretMethod };

/**
 * The ways to authenticate, in the order in which to try them. Servers do not always list how they take a secret, and
 * some take it only in the body, so a refused one is sent again the other way. Once one has worked, only that is used.
 */
export async function authenticationsOf(
  endpoint: EmrEndpoint,
  authority: AuthorizationServer,
  { way, client_secret, app_secret }: Credentials,
): Promise<ClientAuthentication[]> {
  if (way === 'backend_services') return [{ auth: await signedAssertion(endpoint, authority) }];
  const secret = client_secret || app_secret;
  if (!secret) return [{ auth: oauth.None() }];
  return secretMethods(authority).map((secret_method) => ({
    secret_method,
    auth: secret_method === 'client_secret_basic' ? basicAuthentication(secret) : oauth.ClientSecretPost(secret),
  }));
}

/** Every OAuth server must support Basic, so it comes first unless the server lists only the body. */
function secretMethods({ secret_method, auth_methods = [] }: AuthorizationServer): SecretMethod[] {
  if (secret_method) return [secret_method];
  const only_body = auth_methods.includes('client_secret_post') && !auth_methods.includes('client_secret_basic');
  return only_body ? ['client_secret_post', 'client_secret_basic'] : ['client_secret_basic', 'client_secret_post'];
}

/**
 * HTTP Basic. RFC 6749 requires form encoding, which openid-client also applies to `-`, `_`, `.` and `~`. Many servers
 * do not decode, and these four are common in client IDs. No decoder needs them encoded, so they stay.
 */
function basicAuthentication(secret: string): oauth.ClientAuth {
  return (_server, client, _body, headers) => {
    const credentials = [client.client_id, secret].map(formEncode).join(':');
    headers.set('authorization', `Basic ${Buffer.from(credentials).toString('base64')}`);
  };
}

function formEncode(text: string): string {
  return encodeURIComponent(text)
    .replace(/[!'()*]/g, (each) => `%${each.charCodeAt(0).toString(16).toUpperCase()}`)
    .replaceAll('%20', '+');
}

async function signedAssertion(endpoint: EmrEndpoint, authority: AuthorizationServer): Promise<oauth.ClientAuth> {
  if (!endpoint.keys) throw new Error('A sign-in by key needs keys.');
  const { algorithms = ['RS384'] } = authority;
  const alg: SigningAlgorithm = !algorithms.includes('RS384') && algorithms.includes('ES384') ? 'ES384' : 'RS384';
  const { kid, key } = await endpoint.keys.current(alg);
  return oauth.PrivateKeyJwt(
    { kid, key },
    {
      [oauth.modifyAssertion]: (header, payload) => {
        // SMART requires it, and some servers answer 401 without it. openid-client leaves it out.
        header.typ = 'JWT';
        // SMART: the audience is the token endpoint, not the issuer.
        payload.aud = authority.token_endpoint;
      },
    },
  );
}

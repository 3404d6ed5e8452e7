import * as oauth from 'openid-client';
import { EmrFailure, type PageSignIn } from '../../connector.ts';
import { type AuthorizationServer, discoverAuthorization, readCapabilityStatement } from './discover.ts';
import { scopesFor } from './scopes.ts';
import { oauthConfiguration, tokenOutcome } from './tokens.ts';

/** Authorization code with PKCE. The verifier stays on our side, and the code is useless without it. */
export const pageSignIn: PageSignIn = {
  start: async (endpoint, credentials, { return_address, state }) => {
    const authority = await discoverAuthorization(endpoint, await readCapabilityStatement(endpoint));
    if (!authority.authorization_endpoint) {
      throw new EmrFailure('refused', 'The server has no sign-in page. Choose another way to sign in.');
    }
    const verifier = oauth.randomPKCECodeVerifier();
    const scope = scopesFor('user', authority.scopes);
    const url = oauth.buildAuthorizationUrl(await oauthConfiguration(endpoint, authority, credentials), {
      redirect_uri: return_address,
      scope: authority.issuer ? scope : withoutIdentity(scope),
      state,
      code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
      // SMART: the FHIR server that the token is for.
      aud: endpoint.address,
    });
    // A password is entered there, so https is required unless the server itself uses http (a sandbox).
    if (!['https:', new URL(endpoint.address).protocol].includes(url.protocol)) {
      throw new EmrFailure('refused', 'The server’s sign-in page does not use https.');
    }
    return { url: url.href, pending: { verifier, state, authority: JSON.stringify(authority) } };
  },
  finish: async (endpoint, credentials, pending, returned) => {
    // Written by `start` from a value of this type.
    const authority: AuthorizationServer = JSON.parse(pending.authority ?? '{}');
    const config = await oauthConfiguration(endpoint, authority, credentials);
    // Without a known issuer there is nothing to compare it with. The state already ties the response to this server.
    if (!authority.issuer) returned.searchParams.delete('iss');
    const outcome = await tokenOutcome(() =>
      oauth.authorizationCodeGrant(config, returned, {
        pkceCodeVerifier: pending.verifier ?? '',
        expectedState: pending.state ?? '',
      }),
    );
    if ('refused' in outcome) {
      return { outcome: 'refused', reason: outcome.refused === 'access_denied' ? 'person' : 'access' };
    }
    return { outcome: 'signed_in', grant: { ...outcome.tokens, authority: JSON.stringify(authority) } };
  },
};

/** An identity token cannot be verified without knowing its issuer, so none is requested. */
function withoutIdentity(scope: string): string {
  return scope
    .split(' ')
    .filter((each) => each !== 'openid' && each !== 'fhirUser')
    .join(' ');
}

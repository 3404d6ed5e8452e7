import * as oauth from 'openid-client';
import { EmrFailure, type PageSignIn } from '../../connector.ts';
import { collectSteps } from './connectionReport.ts';
import { type AuthorizationServer, discoverAuthorization, readCapabilityStatement } from './discover.ts';
import { toRefusal } from './refusals.ts';
import { scopesFor } from './scopes.ts';
import { exchangeCode, oauthConfiguration } from './tokens.ts';
import { requireIssuer, requireTrusted } from './trustedEndpoints.ts';

/** Authorization code with PKCE. The verifier stays on our side, and the code is useless without it. */
export const pageSignIn: PageSignIn = {
  start: async (at, credentials, { return_address, state }) => {
    const { endpoint, steps, add } = collectSteps(at);
    const authority = await discoverAuthorization(endpoint, await readCapabilityStatement(endpoint));
    const { authorization_endpoint } = authority;
    if (!authorization_endpoint) {
      throw new EmrFailure('refused', 'The server has no sign-in page. Choose another way to sign in.');
    }
    requireTrusted(endpoint, authority, { page: true });
    const verifier = oauth.randomPKCECodeVerifier();
    const supported = scopesFor('user', authority.scopes);
    const scope = authority.issuer ? supported : withoutIdentity(supported);
    const nonce = scope.split(' ').includes('openid') ? oauth.randomNonce() : undefined;
    const url = oauth.buildAuthorizationUrl(oauthConfiguration(endpoint, authority, credentials), {
      redirect_uri: return_address,
      scope,
      state,
      ...(nonce && { nonce }),
      code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
      // SMART: the FHIR server that the token is for.
      aud: endpoint.address,
    });
    // A password is entered there, so https is required unless the server itself uses http (a sandbox).
    if (!['https:', new URL(endpoint.address).protocol].includes(url.protocol)) {
      throw new EmrFailure('refused', 'The server’s sign-in page does not use https.');
    }
    const note = `Opened in the browser. Scopes requested: ${scope}`;
    const request = `GET ${url.origin}${url.pathname}`;
    add({ stage: 'sign_in', request, status: null, duration_ms: 0, outcome: 'ok', note });
    const pending = { verifier, state, scope, ...(nonce && { nonce }), authority: JSON.stringify(authority) };
    return { url: url.href, pending: { ...pending, steps: steps() } };
  },
  finish: async (at, credentials, pending, returned) => {
    const { endpoint, steps, add } = collectSteps(at, pending.steps);
    // Written by `start` from a value of this type.
    const authority: AuthorizationServer = JSON.parse(pending.authority ?? '{}');
    // Again, because the owner may have changed the app while the person was on the page.
    requireTrusted(endpoint, authority, { page: true });
    requireIssuer(endpoint, authority, returned);
    // Checked above. openid-client would compare it with an issuer that may be on another host.
    returned.searchParams.delete('iss');
    const error = returned.searchParams.get('error');
    if (error !== null) {
      const request = `GET ${returned.origin}${returned.pathname}`;
      add({ stage: 'sign_in', request, status: null, duration_ms: 0, outcome: 'refused', note: error.slice(0, 100) });
    }
    const { verifier = '', state = '', nonce, scope = '' } = pending;
    const outcome = await exchangeCode(endpoint, authority, credentials, returned, { verifier, state, nonce });
    if (!('refused' in outcome)) {
      const { tokens } = outcome;
      return {
        outcome: 'signed_in',
        grant: { ...tokens, authority: JSON.stringify(outcome.authority), steps: steps() },
      };
    }
    if (outcome.refused === 'access_denied') return { outcome: 'refused', reason: 'person' };
    // The code: used, expired, or of another sign-in.
    if (outcome.refused === 'invalid_grant') return { outcome: 'refused', reason: 'expired' };
    return toRefusal({ ...outcome, scopes: scope }, credentials, authority);
  },
};

/** An identity token cannot be verified without knowing its issuer, so none is requested. */
function withoutIdentity(scope: string): string {
  return scope
    .split(' ')
    .filter((each) => each !== 'openid' && each !== 'fhirUser')
    .join(' ');
}

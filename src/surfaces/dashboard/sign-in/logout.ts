import { Type } from 'typebox';
import { endpoint } from '../../../http/endpoint.ts';
import { secret, success } from '../../../model/fields.ts';
import { receiveLogout } from '../../../product/operators/providerLogouts.ts';

/** Called by the identity provider itself, so there is no session, origin or CSRF token: the token is signed. */
export const providerLogout = endpoint({
  id: 'dashboard.single-sign-on.logout',
  surface: 'dashboard',
  method: 'POST',
  path: '/dashboard/sign-in/back-channel-logout',
  auth: 'none',
  // The provider need not be in the networks of the people who use the dashboard. It changes nothing but ends sessions.
  from_anywhere: true,
  // A signature is checked, and the provider's keys may be read.
  cost: 5,
  summary: 'End the sessions of a person who has signed out at the identity provider',
  url_encoded: true,
  body: Type.Object({ logout_token: secret({ maxLength: 12_000 }) }),
  response: Type.Object({ success }),
  errors: ['sso_off', 'logout_token_refused', 'logout_token_unchecked'],
  handle: async ({ ctx, address, body }) => {
    await receiveLogout(ctx, body.logout_token, address);
    return { success: true };
  },
});

import { type Access, type EmrEndpoint, EmrFailure, type Grant } from '../../connector.ts';
import { createGrantStore } from '../../grantStore.ts';
import { refreshTokens, requestTokens, type TokenOutcome, toGrant } from '../sign-in/tokens.ts';
import { requireTrusted } from '../sign-in/trustedEndpoints.ts';
import { call } from './call.ts';
import type { SendRequest } from './search.ts';

export type Session = {
  request: SendRequest;
  /** The current grant, which a request may have renewed. */
  grant: () => Grant;
  /** Stores a grant with changed server facts. */
  save: (grant: Grant) => Promise<void>;
};

/**
 * Sends requests as the person who linked the account. An expired or rejected token is renewed once without a person. A
 * request rejected with 401 was not applied, so it is repeated, including writes. `beforeSending` runs right before each
 * request.
 */
export function openSession(
  endpoint: EmrEndpoint,
  access: Access,
  beforeSending: (input: Parameters<SendRequest>[0]) => Promise<void> = async () => {},
): Session {
  const grant = createGrantStore(endpoint, access, (before, signal) => renew({ ...endpoint, signal }, access, before));
  const send = async (input: Parameters<SendRequest>[0]) => {
    // Not before a renewal, which may take seconds: a write that was announced and not sent has to be looked up.
    await beforeSending(input);
    const used = grant.current();
    return { used, response: await call(endpoint, input, used.access_token) };
  };
  const request: SendRequest = async (input) => {
    if (isExpired(grant.current())) await grant.renew(grant.current());
    const first = await send(input);
    if (first.response.status !== 401) return first.response;
    await grant.renew(first.used);
    const second = await send(input);
    if (second.response.status !== 401) return second.response;
    // Another process may have renewed it once more, and some servers accept only the newest token.
    await grant.reread(second.used, refusal());
    const last = await send(input);
    if (last.response.status === 401) throw refusal();
    return last.response;
  };
  return {
    request,
    grant: grant.current,
    save: async (updated) => {
      await access.saveGrant(updated);
      grant.replace(updated);
    },
  };
}

/** A token that is about to expire might expire in transit. */
const expiry_margin_ms = 10_000;

function isExpired({ expires_at }: Grant): boolean {
  return expires_at !== undefined && Number(expires_at) - expiry_margin_ms < Date.now();
}

function refusal(): EmrFailure {
  return new EmrFailure('login_required', 'The EMR no longer accepts the sign-in.');
}

async function renew(endpoint: EmrEndpoint, access: Access, grant: Grant): Promise<Grant> {
  const outcome = await requestNewTokens(endpoint, access, grant);
  if ('refused' in outcome) throw refusal();
  // If the response names no scopes, they are unchanged.
  const tokens = { ...(grant.scope !== undefined && { scope: grant.scope }), ...outcome.tokens };
  const renewed = toGrant(tokens, outcome.authority, grant.server ?? '');
  // Without a new refresh token, the old one stays valid.
  const { refresh_token } = grant;
  return renewed.refresh_token || !refresh_token ? renewed : { ...renewed, refresh_token };
}

async function requestNewTokens(endpoint: EmrEndpoint, { credentials }: Access, grant: Grant): Promise<TokenOutcome> {
  if (!grant.authority) throw new EmrFailure('login_required', 'The EMR no longer accepts the bearer token.');
  // Written by signIn from a value of this type.
  const authority = JSON.parse(grant.authority);
  // The owner may have changed the EMR app since.
  requireTrusted(endpoint, authority, { page: credentials.way === 'authorization_code', kind: 'login_required' });
  if (credentials.way !== 'authorization_code') return requestTokens(endpoint, authority, credentials);
  if (!grant.refresh_token) throw new EmrFailure('login_required', 'The EMR requires a new sign-in.');
  return refreshTokens(endpoint, authority, credentials, grant.refresh_token);
}

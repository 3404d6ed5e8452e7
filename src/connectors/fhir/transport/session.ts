import { type Access, type EmrEndpoint, EmrFailure, type Grant } from '../../connector.ts';
import { holdGrant } from '../../grantStore.ts';
import { refreshTokens, requestTokens, type TokenOutcome, toGrant } from '../sign-in/tokens.ts';
import { call } from './call.ts';
import type { Ask } from './search.ts';

export type Session = {
  ask: Ask;
  /** The newest grant: asking may have renewed it. */
  grant: () => Grant;
  /** Keeps what was learnt beside the tokens with the account. */
  keep: (grant: Grant) => Promise<void>;
};

/**
 * Asks as the person who linked the account. A token that has run out, or is refused before its time, is renewed once
 * without a person; what was refused for it was not carried out, so it is asked again, writes too.
 */
export function openSession(endpoint: EmrEndpoint, access: Access): Session {
  const grant = holdGrant(access.grant, (before) => renew(endpoint, access, before));
  const ask: Ask = async (asked) => {
    if (isExpired(grant.current())) await grant.renew(grant.current());
    const used = grant.current();
    const answer = await call(endpoint, asked, used.access_token);
    if (answer.status !== 401) return answer;
    await grant.renew(used);
    const again = await call(endpoint, asked, grant.current().access_token);
    if (again.status === 401) throw new EmrFailure('login_required', 'The EMR no longer accepts the sign-in.');
    return again;
  };
  return {
    ask,
    grant: grant.current,
    keep: async (learnt) => {
      await access.saveGrant(learnt);
      grant.replace(learnt);
    },
  };
}

/** A token that is about to end would end on its way. */
const expiry_margin_ms = 10_000;

function isExpired({ expires_at }: Grant): boolean {
  return expires_at !== undefined && Number(expires_at) - expiry_margin_ms < Date.now();
}

/** Gives the new grant when it is kept: one that could not be kept is not used, and the next call renews again. */
async function renew(endpoint: EmrEndpoint, access: Access, grant: Grant): Promise<Grant> {
  const outcome = await requestNewTokens(endpoint, access, grant);
  if ('refused' in outcome) {
    throw new EmrFailure('login_required', 'The EMR no longer accepts the sign-in.');
  }
  // Written by signIn from a value of this type.
  const authority = JSON.parse(grant.authority ?? '{}');
  // Rights that are not named are those of before.
  const tokens = { ...(grant.scope !== undefined && { scope: grant.scope }), ...outcome.tokens };
  const renewed = toGrant(tokens, authority, grant.server ?? '');
  // A server that gives no new refresh token means the old one to be used on.
  const { refresh_token } = grant;
  const whole = renewed.refresh_token || !refresh_token ? renewed : { ...renewed, refresh_token };
  await access.saveGrant(whole);
  return whole;
}

async function requestNewTokens(endpoint: EmrEndpoint, { credentials }: Access, grant: Grant): Promise<TokenOutcome> {
  if (!grant.authority) throw new EmrFailure('login_required', 'The EMR no longer accepts the bearer token.');
  const authority = JSON.parse(grant.authority);
  if (credentials.way !== 'authorization_code') return requestTokens(endpoint, authority, credentials);
  if (!grant.refresh_token) throw new EmrFailure('login_required', 'The EMR asks for a new sign-in.');
  return refreshTokens(endpoint, authority, credentials, grant.refresh_token);
}

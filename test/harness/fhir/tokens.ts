import { randomBytes, randomUUID } from 'node:crypto';
import type { FaultSwitches } from './faults.ts';

export type Bearer = { client_id: string; scope: string; user: string | undefined };
/** `sign_in`: what all tokens have in common that go back to the same sign-in. */
type Issued = Bearer & { sign_in: string };
type Access = Issued & { ends_at: number; uses_left: number };
type Response = { access_token: string; expires_in: number; refresh_token?: string };

export type Tokens = {
  issue(bearer: Bearer, options: { refresh: boolean }): Response;
  /** New tokens for a refresh token. Ends the refresh token if the server rotates them. */
  redeem(refresh_token: string, client_id: string): (Response & { scope: string }) | undefined;
  redemptions: ReadonlyMap<string, number>;
  accepts(access_token: string): boolean;
  /** The person that an access token or refresh token was issued to, also if it has ended. */
  findUser(token: string): string | undefined;
  /** Ends everything that a person's sign-ins were issued. */
  endSignIns(user: string): void;
  /** RFC 7009: unknown tokens are ignored. */
  revoke(token: string, client_id: string): void;
  expire(which: 'access' | 'all'): void;
};

export function createTokens(faults: FaultSwitches, issued: string[] = []): Tokens {
  const access = new Map<string, Access>();
  const refresh = new Map<string, Issued>();
  const ended = new Map<string, Issued>();
  const redemptions = new Map<string, number>();
  const users = new Map<string, string>();
  const issue = (granted: Issued, options: { refresh: boolean }): Response => {
    const expires_in = faults.token_life_s;
    const access_token = `at-${randomBytes(24).toString('base64url')}`;
    issued.push(access_token);
    access.set(access_token, {
      ...granted,
      ends_at: Date.now() + expires_in * 1000,
      uses_left: faults.token_uses_max,
    });
    if (granted.user !== undefined) users.set(access_token, granted.user);
    if (!options.refresh) return { access_token, expires_in };
    const refresh_token = `rt-${randomBytes(24).toString('base64url')}`;
    issued.push(refresh_token);
    if (granted.user !== undefined) users.set(refresh_token, granted.user);
    refresh.set(refresh_token, granted);
    return { access_token, expires_in, refresh_token };
  };
  const end = (isEnded: (token: Issued) => boolean) => {
    for (const tokens of [access, refresh]) {
      for (const [token, each] of tokens) if (isEnded(each)) tokens.delete(token);
    }
  };
  return {
    issue: (bearer, options) => issue({ ...bearer, sign_in: randomUUID() }, options),
    redeem: (refresh_token, client_id) => {
      redemptions.set(refresh_token, (redemptions.get(refresh_token) ?? 0) + 1);
      const stolen = ended.get(refresh_token);
      if (stolen && faults.refresh_reuse === 'ends_sign_in') end(({ sign_in }) => sign_in === stolen.sign_in);
      const granted = refresh.get(refresh_token);
      if (granted?.client_id !== client_id) return undefined;
      if (faults.refresh_rotates) {
        refresh.delete(refresh_token);
        ended.set(refresh_token, granted);
      }
      return { ...issue(granted, { refresh: true }), scope: granted.scope };
    },
    redemptions,
    accepts: (access_token) => {
      const token = access.get(access_token);
      return token !== undefined && token.ends_at > Date.now() && token.uses_left-- > 0;
    },
    findUser: (token) => users.get(token),
    endSignIns: (user) => end((token) => token.user === user),
    revoke: (token, client_id) => {
      for (const tokens of [access, refresh]) if (tokens.get(token)?.client_id === client_id) tokens.delete(token);
    },
    expire: (which) => {
      access.clear();
      if (which === 'all') refresh.clear();
    },
  };
}

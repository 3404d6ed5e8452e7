import { randomBytes } from 'node:crypto';
import type { FaultSwitches } from './faults.ts';

export type Bearer = { client_id: string; scope: string; user: string | undefined };
type Access = Bearer & { ends_at: number; uses_left: number };

export type Tokens = {
  issue(
    bearer: Bearer,
    options: { refresh: boolean },
  ): { access_token: string; expires_in: number; refresh_token?: string };
  /** Ends the refresh token if the server rotates them. */
  redeem(refresh_token: string, client_id: string): Bearer | undefined;
  accepts(access_token: string): boolean;
  /** RFC 7009: unknown tokens are ignored. */
  revoke(token: string, client_id: string): void;
  expire(which: 'access' | 'all'): void;
};

export function openTokens(faults: FaultSwitches, issued: string[] = []): Tokens {
  const access = new Map<string, Access>();
  const refresh = new Map<string, Bearer>();
  return {
    issue: (bearer, options) => {
      const expires_in = faults.token_life_s;
      const access_token = `at-${randomBytes(24).toString('base64url')}`;
      issued.push(access_token);
      access.set(access_token, {
        ...bearer,
        ends_at: Date.now() + expires_in * 1000,
        uses_left: faults.token_uses_max,
      });
      if (!options.refresh) return { access_token, expires_in };
      const refresh_token = `rt-${randomBytes(24).toString('base64url')}`;
      issued.push(refresh_token);
      refresh.set(refresh_token, bearer);
      return { access_token, expires_in, refresh_token };
    },
    redeem: (refresh_token, client_id) => {
      const bearer = refresh.get(refresh_token);
      if (bearer?.client_id !== client_id) return undefined;
      if (faults.refresh_rotates) refresh.delete(refresh_token);
      return bearer;
    },
    accepts: (access_token) => {
      const token = access.get(access_token);
      return token !== undefined && token.ends_at > Date.now() && token.uses_left-- > 0;
    },
    revoke: (token, client_id) => {
      for (const known of [access, refresh]) if (known.get(token)?.client_id === client_id) known.delete(token);
    },
    expire: (which) => {
      access.clear();
      if (which === 'all') refresh.clear();
    },
  };
}

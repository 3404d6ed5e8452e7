import type { Tx } from '../db/database.ts';
import { newToken } from '../ids.ts';
import { hashToken } from '../security/hash.ts';

/** What one run of Link is for. `account_id` is set in update mode: the account that is linked again. */
export type LinkPurpose = {
  client_id: string;
  user_id: string;
  org_id: string;
  connector: string;
  emr_address: string;
  account_id: string | null;
  callback_url: string | null;
  language: string | null;
};

export const link_token_minutes = 30;

export async function addLinkToken(tx: Tx, purpose: LinkPurpose): Promise<string> {
  const token = newToken('link_token');
  await tx`INSERT INTO link_tokens (token_hash, client_id, user_id, org_id, connector, emr_address, account_id,
      callback_url, language, expires_at)
    VALUES (${hashToken(token)}, ${purpose.client_id}, ${purpose.user_id}, ${purpose.org_id}, ${purpose.connector},
      ${purpose.emr_address}, ${purpose.account_id}, ${purpose.callback_url}, ${purpose.language},
      now() + make_interval(mins => ${link_token_minutes}))`;
  return token;
}

/** What a link token is for, if it is still good. Reading it does not use it up: a wrong password can be mended. */
export async function findLinkToken(tx: Tx, token: string): Promise<LinkPurpose | undefined> {
  const [row] = await tx<LinkPurpose[]>`
    SELECT client_id, user_id, org_id, connector, emr_address, account_id, callback_url, language
      FROM link_tokens WHERE token_hash = ${hashToken(token)} AND used_at IS NULL AND expires_at > now()`;
  return row;
}

/** Uses the token up. Of several attempts at once exactly one succeeds. */
export async function burnLinkToken(tx: Tx, token: string): Promise<boolean> {
  const burnt = await tx`UPDATE link_tokens SET used_at = now()
    WHERE token_hash = ${hashToken(token)} AND used_at IS NULL AND expires_at > now() RETURNING 1`;
  return burnt.length > 0;
}

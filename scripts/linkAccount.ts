import { Secret, TOTP } from 'otpauth';
import type { LarkspurFacts } from '../src/surfaces/sandbox/seedSandbox.ts';

/** Sends a request and returns the body of its response. Throws if it is refused. */
// biome-ignore lint/suspicious/noExplicitAny: a caller reads the fields it needs
export type Call = (method: string, path: string, body?: object) => Promise<any>;

export type LinkOptions = {
  user_id: string;
  org_id: string;
  emr_url: string;
  /** Who signs in to the EMR. */
  person: LarkspurFacts['staff'][number] | undefined;
  /** Links this account again instead of a new one. */
  access_token?: string;
};

/** Links a Larkspur account by its password and one-time code, and returns its access token. `call` is by the client. */
export async function linkAccount(call: Call, options: LinkOptions): Promise<string> {
  const { user_id, org_id, emr_url, person, access_token } = options;
  if (!person) throw new Error('Larkspur has no such user.');
  const { username, password, totp_secret } = person;
  const user = { user_id, org_id, emr_name: 'larkspur', emr_instance_domain: emr_url };
  const { token } = await call('POST', '/link/token/create', { ...user, ...(access_token && { access_token }) });
  const { public_token } = await call('POST', '/sandbox/public_token/create', {
    link_token: token,
    credentials: { username, password },
    one_time_code: new TOTP({ secret: Secret.fromBase32(totp_secret) }).generate(),
  });
  return exchangePublicToken(call, public_token);
}

/** Returns the access token of an account that was just linked. */
export async function exchangePublicToken(call: Call, public_token: string): Promise<string> {
  return (await call('GET', `/link/token/exchange?public_token=${public_token}`)).token;
}

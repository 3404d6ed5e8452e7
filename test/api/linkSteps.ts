import { expect } from 'vitest';
import type { Answer, Api } from '../harness/api.ts';
import type { TestSandbox } from '../harness/sandbox.ts';

const headers = { access_token: null };

/** The steps of a link, one by one, each as any client may take it. */
export type LinkSteps = {
  /** A link token for a user and an organization that nobody has used before, unless reported otherwise. */
  linkToken(body?: Record<string, unknown>, api?: Api): Promise<string>;
  /** The sign-in of a member of Larkspur's staff, with whatever `fields` say instead. */
  signIn(link_token: string, staff: number, fields?: Record<string, unknown>, api?: Api): Promise<Answer>;
  exchange(public_token: string, api?: Api): Promise<Answer>;
};

export function linkSteps({ api: own, sandbox }: Pick<TestSandbox, 'api' | 'sandbox'>): LinkSteps {
  let made = 0;
  return {
    linkToken: async (body = {}, api = own) => {
      made += 1;
      const answer = await api.call('POST', '/link/token/create', {
        body: {
          user_id: `user-${made}`,
          org_id: `org-${made}`,
          emr_name: 'larkspur',
          emr_instance_domain: sandbox.larkspur.url,
          ...body,
        },
        headers,
      });
      expect(answer.status, JSON.stringify(answer.body)).toBe(200);
      return answer.body.token;
    },
    signIn: (link_token, staff, fields = {}, api = own) => {
      const { username, password } = sandbox.larkspur.staff[staff] ?? {};
      const body = { link_token, credentials: { username, password }, one_time_code: own.code(staff), ...fields };
      return api.call('POST', '/sandbox/public_token/create', { body, headers });
    },
    exchange: (public_token, api = own) =>
      api.call('GET', `/link/token/exchange?public_token=${public_token}`, { headers }),
  };
}

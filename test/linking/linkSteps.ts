import { expect } from 'vitest';
import type { Api, ApiResponse } from '../harness/api.ts';
import type { TestSandbox } from '../harness/sandbox.ts';

const headers = { access_token: null };

/** The link token in the URL of a hosted page. */
export function tokenIn(url: string): string {
  return new URLSearchParams(new URL(url).hash.slice(1)).get('token') ?? '';
}

/** The API calls that link an account, one by one. */
export type LinkSteps = {
  /** Creates a link token; without `user_id` and `org_id` in `body`, for a new user and organization. */
  linkToken(body?: Record<string, unknown>, api?: Api): Promise<string>;
  /** Signs in as a member of Larkspur's staff; `fields` override the body. */
  signIn(link_token: string, staff: number, fields?: Record<string, unknown>, api?: Api): Promise<ApiResponse>;
  /** Opens Link's page and agrees to what it shows. A link without consent cannot be used through the page. */
  consent(link_token: string): Promise<ApiResponse>;
  exchange(public_token: string, api?: Api): Promise<ApiResponse>;
};

export function linkSteps({ api: own, sandbox }: Pick<TestSandbox, 'api' | 'sandbox'>): LinkSteps {
  let created = 0;
  return {
    linkToken: async (body = {}, api = own) => {
      created += 1;
      const response = await api.call('POST', '/link/token/create', {
        body: {
          user_id: `user-${created}`,
          org_id: `org-${created}`,
          emr_name: 'larkspur',
          emr_instance_domain: sandbox.larkspur.url,
          ...body,
        },
        headers,
      });
      expect(response.status, JSON.stringify(response.body)).toBe(200);
      return response.body.token;
    },
    signIn: (link_token, staff, fields = {}, api = own) => {
      const { username, password } = sandbox.larkspur.staff[staff] ?? {};
      const body = { link_token, credentials: { username, password }, one_time_code: own.code(staff), ...fields };
      return api.call('POST', '/sandbox/public_token/create', { body, headers });
    },
    consent: async (link_token) => {
      const as_page = { client_id: null, client_secret: null, access_token: null, 'link-token': link_token };
      const { body: session } = await own.call('GET', '/link/v1/session', { headers: as_page });
      const body = { terms_id: session.consent?.terms_id ?? '', language: 'en', text: 'What the page shows.' };
      return own.call('POST', '/link/v1/consent', { body, headers: as_page });
    },
    exchange: (public_token, api = own) =>
      api.call('GET', `/link/token/exchange?public_token=${public_token}`, { headers }),
  };
}

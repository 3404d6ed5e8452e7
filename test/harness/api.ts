import { setTimeout as pause } from 'node:timers/promises';
import { Secret, TOTP } from 'otpauth';
import type { Sandbox } from '../../src/surfaces/sandbox/seedSandbox.ts';
import { pollingPause } from './poll.ts';

export type ApiResponse = {
  status: number;
  headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: a test reads the fields it expects; schemas are checked where that matters
  body: any;
};
export type CallOptions = {
  body?: unknown;
  /** Sent instead of the sandbox's own; null leaves a header out. */
  headers?: Record<string, string | null>;
};

export type Api = {
  call(method: string, path: string, options?: CallOptions): Promise<ApiResponse>;
  /** Requests a telephone encounter with the example ids of the seeded practice; `fields` override them. */
  callIn(fields?: Record<string, unknown>, headers?: Record<string, string | null>): Promise<ApiResponse>;
  /** Waits for the event of a finished job. The default timeout allows for a sync on a busy machine. */
  untilEvent(job_id: number, timeout_ms?: number): Promise<ApiResponse['body']>;
  job(job_id: number): Promise<ApiResponse['body']>;
  /** Runs a sync to its end and returns the job id. */
  sync(): Promise<number>;
  /** Larkspur's control API. */
  control(method: string, path: string, body?: unknown): Promise<ApiResponse>;
  ledger(): Promise<{ operation: string; marker: string; patient_mrn: string | null; at: string; applied: boolean }[]>;
  /** The current one-time code of a Larkspur staff member. */
  code(staff?: number): string;
  /** Links an account (with `access_token`: re-links it) through the real sign-in and returns the access token. */
  link(options?: {
    user_id?: string;
    org_id?: string;
    staff?: number;
    access_token?: string;
    emr_name?: string;
  }): Promise<string>;
};

export function createApi(sandbox: Sandbox): Api {
  const own = {
    client_id: sandbox.client_id,
    client_secret: sandbox.client_secret,
    access_token: sandbox.access_token,
  };
  const api: Api = {
    call: (method, path, { body, headers = {} } = {}) =>
      exchange(sandbox.base_url + path, method, { ...own, ...headers }, body),
    callIn: (fields = {}, headers = {}) => {
      const { patient_mrn, provider_id, location_id, assigned_to_id } = sandbox.example;
      const body = { patient_mrn, provider_id, location_id, assigned_to_id, ...fields };
      return api.call('POST', '/v1/telephone-encounters', { body, headers });
    },
    untilEvent: async (job_id, timeout_ms = 120_000) => {
      const deadline = Date.now() + timeout_ms;
      for (let turn = 0; Date.now() < deadline; turn++) {
        const { body } = await api.call('GET', `/v1/webhook-events?job_id=${job_id}`);
        if (body.webhook_events?.length > 0) return body.webhook_events[0];
        await pause(pollingPause(turn));
      }
      throw new Error(`Job ${job_id} has no event: ${JSON.stringify(await api.job(job_id))}`);
    },
    sync: async () => {
      const { body } = await api.call('POST', '/v1/sync', { body: {} });
      const event = await api.untilEvent(body.job_id);
      if (event.event_type !== 'sync.completed') throw new Error(`The sync failed: ${JSON.stringify(event.data)}`);
      return body.job_id;
    },
    job: async (job_id) => (await api.call('GET', `/v1/jobs/${job_id}`)).body.job,
    control: (method, path, body) =>
      exchange(sandbox.larkspur.url + path, method, { 'control-token': sandbox.larkspur.control_token }, body),
    ledger: async () => (await api.control('GET', '/control/ledger')).body.entries,
    code: (staff = 0) => {
      const secret = sandbox.larkspur.staff[staff]?.totp_secret;
      if (!secret) throw new Error(`There is no staff member ${staff}.`);
      return new TOTP({ secret: Secret.fromBase32(secret) }).generate();
    },
    link: async ({
      user_id = sandbox.user_id,
      org_id = sandbox.org_id,
      staff = 0,
      access_token,
      emr_name = 'larkspur',
    } = {}) => {
      const client_only = { access_token: null };
      const body = {
        user_id,
        org_id,
        emr_name,
        emr_instance_domain: sandbox.larkspur.url,
        ...(access_token && { access_token }),
      };
      const created = await api.call('POST', '/link/token/create', { body, headers: client_only });
      const person = sandbox.larkspur.staff[staff];
      const linked = await api.call('POST', '/sandbox/public_token/create', {
        body: {
          link_token: created.body.token,
          credentials: { username: person?.username, password: person?.password },
          one_time_code: api.code(staff),
        },
        headers: client_only,
      });
      if (linked.status !== 200) throw new Error(`Linking failed: ${JSON.stringify(linked.body)}`);
      const path = `/link/token/exchange?public_token=${linked.body.public_token}`;
      return (await api.call('GET', path, { headers: client_only })).body.token;
    },
  };
  return api;
}

async function exchange(
  url: string,
  method: string,
  headers: Record<string, string | null>,
  body: unknown,
): Promise<ApiResponse> {
  const sent = Object.entries(headers).filter((pair): pair is [string, string] => pair[1] !== null);
  const text = body === undefined || typeof body === 'string' ? body : JSON.stringify(body);
  const response = await fetch(url, {
    method,
    headers: { ...(text === undefined ? {} : { 'content-type': 'application/json' }), ...Object.fromEntries(sent) },
    ...(text === undefined ? {} : { body: text }),
  });
  const received = await response.text();
  const json = response.headers.get('content-type')?.includes('json') && received !== '';
  return { status: response.status, headers: response.headers, body: json ? JSON.parse(received) : received };
}

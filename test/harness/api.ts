import { setTimeout as pause } from 'node:timers/promises';
import { Secret, TOTP } from 'otpauth';
import type { Sandbox } from '../../src/sandbox/seedSandbox.ts';

export type Answer = {
  status: number;
  headers: Headers;
  // Answers are looked into freely by tests; schemas are checked where that is the point.
  // biome-ignore lint/suspicious/noExplicitAny: a test reads whatever it expects to be there
  body: any;
};
export type CallOptions = {
  body?: unknown;
  /** Sent instead of the sandbox's own; null leaves a header out. */
  headers?: Record<string, string | null>;
};

export type Api = {
  call(method: string, path: string, options?: CallOptions): Promise<Answer>;
  /** A telephone encounter with the seeded practice's example ids, and whatever `fields` say instead. */
  callIn(fields?: Record<string, unknown>, headers?: Record<string, string | null>): Promise<Answer>;
  /** Waits for the event that ends a job: a sync takes some seconds, and many times that on a machine with other work. */
  untilEvent(job_id: number, patience_ms?: number): Promise<Answer['body']>;
  job(job_id: number): Promise<Answer['body']>;
  /** Has the service read the clinic anew. Gives the job. */
  sync(): Promise<number>;
  /** Larkspur's control API. */
  control(method: string, path: string, body?: unknown): Promise<Answer>;
  ledger(): Promise<{ operation: string; marker: string; patient_mrn: string | null; at: string; applied: boolean }[]>;
  /** The present one-time code of a member of Larkspur's staff. */
  code(staff?: number): string;
  /** Links (or, with `access_token`, links again) by the real sign-in, and gives the access token. */
  link(options?: {
    user_id?: string;
    org_id?: string;
    staff?: number;
    access_token?: string;
    emr_name?: string;
  }): Promise<string>;
};

export function openApi(sandbox: Sandbox): Api {
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
    untilEvent: async (job_id, patience_ms = 120_000) => {
      const deadline = Date.now() + patience_ms;
      while (Date.now() < deadline) {
        const { body } = await api.call('GET', `/v1/webhook-events?job_id=${job_id}`);
        if (body.webhook_events?.length > 0) return body.webhook_events[0];
        await pause(25);
      }
      throw new Error(`Job ${job_id} has no event yet: ${JSON.stringify(await api.job(job_id))}`);
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
): Promise<Answer> {
  const sent = Object.entries(headers).filter((pair): pair is [string, string] => pair[1] !== null);
  const text = body === undefined || typeof body === 'string' ? body : JSON.stringify(body);
  const answer = await fetch(url, {
    method,
    headers: { ...(text === undefined ? {} : { 'content-type': 'application/json' }), ...Object.fromEntries(sent) },
    ...(text === undefined ? {} : { body: text }),
  });
  const received = await answer.text();
  const json = answer.headers.get('content-type')?.includes('json') && received !== '';
  return { status: answer.status, headers: answer.headers, body: json ? JSON.parse(received) : received };
}

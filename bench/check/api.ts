import { setTimeout as pause } from 'node:timers/promises';

export type Headers = Record<string, string>;

export type Api = {
  base_url: string;
  headers: Headers;
  /** Sends a request and returns the body of its response. Throws if it is refused. */
  // biome-ignore lint/suspicious/noExplicitAny: a check reads the fields it needs
  call(method: string, path: string, body?: unknown): Promise<any>;
  /** A job's times in milliseconds, once `field` is known. */
  untilJob(job_id: number, field: 'started_at' | 'finished_at'): Promise<{ created_ms: number; at_ms: number }>;
};

const poll_ms = 50;

export function createApi(base_url: string, headers: Headers): Api {
  const api: Api = {
    base_url,
    headers,
    call: async (method, path, body) => {
      const json = body === undefined || body instanceof FormData ? {} : { 'content-type': 'application/json' };
      const response = await fetch(base_url + path, {
        method,
        headers: { ...headers, ...json },
        body: body === undefined || body instanceof FormData ? (body ?? null) : JSON.stringify(body),
      });
      const text = await response.text();
      if (!response.ok) throw new Error(`${method} ${path} returned ${response.status}: ${text.slice(0, 500)}`);
      return JSON.parse(text);
    },
    untilJob: async (job_id, field) => {
      for (;;) {
        const { job } = await api.call('GET', `/v1/jobs/${job_id}`);
        if (job[field]) return { created_ms: Date.parse(job.created_at), at_ms: Date.parse(job[field]) };
        await pause(poll_ms);
      }
    },
  };
  return api;
}

import { Pool } from 'undici';
import { median } from './report.ts';

/** A request to repeat. `body` is called for each one. */
export type Request = {
  base: string;
  path: string;
  method: 'GET' | 'POST';
  headers: Record<string, string>;
  body?: () => string;
  /** How many are in progress at a time. */
  in_flight?: number;
  /** How many in total. */
  requests?: number;
};

const requests_per_round = 1_500;

/** Repeats a request and returns how many were completed per second, and the median time of one. */
export async function measureRate({
  base,
  path,
  method,
  headers,
  body,
  in_flight = 32,
  requests = Math.min(requests_per_round, in_flight * 200),
}: Request): Promise<{ rate: number; requests: number; p50_ms: number }> {
  const pool = new Pool(base, { connections: in_flight });
  const times: number[] = [];
  let left = requests;
  const start = performance.now();
  await Promise.all(
    Array.from({ length: in_flight }, async () => {
      while (left-- > 0) {
        const sent = performance.now();
        const response = await pool.request({ path, method, headers, body: body?.() ?? null });
        await response.body.dump();
        if (response.statusCode !== 200) throw new Error(`${path} returned ${response.statusCode}.`);
        times.push(performance.now() - sent);
      }
    }),
  );
  const seconds = (performance.now() - start) / 1000;
  await pool.close();
  return { rate: requests / seconds, requests, p50_ms: median(times) };
}

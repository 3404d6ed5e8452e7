import { Pool } from 'undici';
import type { Rate, Request } from './measureRate.ts';
import { median } from './report.ts';

/** The process that sends the requests of measureRate.ts: its work must not count as the server's. */
async function repeat({ base, path, method, headers, bodies, in_flight, requests }: Required<Request>): Promise<Rate> {
  const pool = new Pool(base, { connections: in_flight });
  const times: number[] = [];
  let sent = 0;
  const start = performance.now();
  await Promise.all(
    Array.from({ length: in_flight }, async () => {
      while (sent < requests) {
        const body = bodies[sent++ % Math.max(bodies.length, 1)] ?? null;
        const sent_at = performance.now();
        const response = await pool.request({ path, method, headers, body });
        await response.body.dump();
        if (response.statusCode !== 200) throw new Error(`${path} returned ${response.statusCode}.`);
        times.push(performance.now() - sent_at);
      }
    }),
  );
  const seconds = (performance.now() - start) / 1000;
  await pool.close();
  return { rate: requests / seconds, requests, p50_ms: median(times) };
}

process.on('message', (request: Required<Request>) => {
  repeat(request).then(
    (rate) => process.send?.({ rate }),
    (error: unknown) => process.send?.({ error: String(error) }),
  );
});

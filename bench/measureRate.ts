import { Pool } from 'undici';

/** A request to repeat. `body` is called for each one. */
export type Request = {
  base: string;
  path: string;
  method: 'GET' | 'POST';
  headers: Record<string, string>;
  body?: () => string;
};

const requests = 1_500;
const concurrency = 32;

/** Requests per second, with `concurrency` of them in progress at a time. */
export async function measureRate({ base, path, method, headers, body }: Request): Promise<number> {
  const pool = new Pool(base, { connections: concurrency });
  let left = requests;
  const start = performance.now();
  await Promise.all(
    Array.from({ length: concurrency }, async () => {
      while (left-- > 0) {
        const response = await pool.request({ path, method, headers, body: body?.() ?? null });
        await response.body.dump();
        if (response.statusCode !== 200) throw new Error(`${path} returned ${response.statusCode}.`);
      }
    }),
  );
  const seconds = (performance.now() - start) / 1000;
  await pool.close();
  return requests / seconds;
}

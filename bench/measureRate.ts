import { Pool } from 'undici';

/** A request to be made over and over; `body` makes a new one each time. */
export type Asked = {
  base: string;
  path: string;
  method: 'GET' | 'POST';
  headers: Record<string, string>;
  body?: () => string;
};

const requests = 1_500;
const at_once = 32;

/** Requests per second with `at_once` under way. */
export async function measureRate({ base, path, method, headers, body }: Asked): Promise<number> {
  const pool = new Pool(base, { connections: at_once });
  let left = requests;
  const start = performance.now();
  await Promise.all(
    Array.from({ length: at_once }, async () => {
      while (left-- > 0) {
        const answer = await pool.request({ path, method, headers, body: body?.() ?? null });
        await answer.body.dump();
        if (answer.statusCode !== 200) throw new Error(`${path} answered ${answer.statusCode}.`);
      }
    }),
  );
  const seconds = (performance.now() - start) / 1000;
  await pool.close();
  return requests / seconds;
}

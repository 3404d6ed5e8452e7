import { constants, setPriority } from 'node:os';
import { Pool } from 'undici';

/**
 * The process that sends floods: 64 connections, each of which sends its next request when it has the response to the
 * last. A message starts a flood or, with null,
 * stops it.
 */
export type Flood = { method: 'GET' | 'POST'; path: string; headers?: Record<string, string>; body?: string };

// It stands for other machines, and must not take the cores of this one.
setPriority(constants.priority.PRIORITY_LOW);

const connections = 64;
let running: AbortController | undefined;

function start(base_url: string, { method, path, headers = {}, body }: Flood): AbortController {
  const stop = new AbortController();
  const pool = new Pool(base_url, { connections });
  const send = async () => {
    const response = await pool.request({ method, path, headers, body: body ?? null });
    await response.body.dump();
  };
  for (let n = 0; n < connections; n++) {
    void (async () => {
      // The service may close a connection instead of responding: the flood continues.
      while (!stop.signal.aborted) await send().catch(() => {});
    })();
  }
  stop.signal.addEventListener('abort', () => void pool.destroy());
  return stop;
}

process.on('message', ({ flood }: { flood: Flood | null }) => {
  running?.abort();
  running = flood ? start(process.argv[2] ?? '', flood) : undefined;
  process.send?.('done');
});

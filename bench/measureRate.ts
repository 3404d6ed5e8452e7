import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

/** A request to repeat, with each of the bodies in turn. */
export type Request = {
  base: string;
  path: string;
  method: 'GET' | 'POST';
  headers: Record<string, string>;
  bodies?: readonly string[];
  /** How many are in progress at a time. */
  in_flight?: number;
  /** How many in total. */
  requests?: number;
};

/** How many requests were completed per second, and the median time of one. */
export type Rate = { rate: number; requests: number; p50_ms: number };

const requests_per_round = 3_000;

let client: ChildProcess | undefined;

/** Repeats a request from a process of its own, which stays for the next time: its code is compiled then. */
export async function measureRate({
  bodies = [],
  in_flight = 32,
  requests = Math.min(requests_per_round, in_flight * 200),
  ...request
}: Request): Promise<Rate> {
  client ??= fork(fileURLToPath(new URL('./client.js', import.meta.url)));
  const process_of_client = client;
  process_of_client.ref();
  process_of_client.channel?.ref();
  process_of_client.send({ ...request, bodies, in_flight, requests });
  const [answer] = (await once(process_of_client, 'message')) as [{ rate: Rate } | { error: string }];
  // An idle client does not keep the benchmark running; it ends with it.
  process_of_client.unref();
  process_of_client.channel?.unref();
  if ('error' in answer) throw new Error(answer.error);
  return answer.rate;
}

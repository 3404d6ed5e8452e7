import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { Sandbox } from '../../src/surfaces/sandbox/seedSandbox.ts';

/** A write that the service acknowledged, and when. `reason` is its text, which no other write has. */
export type Acknowledged = { reason: string; job_id: number; at: number };

export type Load = {
  acknowledged: readonly Acknowledged[];
  /** How many requests failed, by status, or by the error's code if there was no response. */
  failures: ReadonlyMap<string, number>;
  /** The longest time without an acknowledged write since `from`, in milliseconds. */
  longestGap(from: number): number;
  /** Ends the writers. Each first repeats its last write until it is acknowledged. */
  stop(): Promise<void>;
};

const request_timeout_ms = 15_000;
const retry_ms = 200;

/**
 * Writers that act as a careful client: each repeats a write with its Idempotency-Key, at another process, until it is
 * acknowledged, and then sends the next. Each has a patient of its own, so that the lanes run in parallel.
 */
export function startLoad(
  sandbox: Sandbox,
  urls: readonly string[],
  options: { writers: number; pause_ms: number },
): Load {
  const acknowledged: Acknowledged[] = [];
  const failures = new Map<string, number>();
  // Texts of an earlier load must not look like repetitions.
  const load = randomUUID().slice(0, 8);
  let stopped = false;
  let turn = 0;

  const send = async (reason: string, patient_mrn: string, key: string): Promise<number | undefined> => {
    const { client_id, client_secret, access_token, example } = sandbox;
    const { provider_id, location_id, assigned_to_id } = example;
    const headers = {
      client_id,
      client_secret,
      access_token,
      'content-type': 'application/json',
      'idempotency-key': key,
    };
    const body = JSON.stringify({ patient_mrn, provider_id, location_id, assigned_to_id, reason });
    const signal = AbortSignal.timeout(request_timeout_ms);
    try {
      const url = `${urls[turn++ % urls.length]}/v1/telephone-encounters`;
      const response = await fetch(url, { method: 'POST', headers, body, signal });
      const { job_id } = (await response.json()) as { job_id: number };
      if (response.status === 200) return job_id;
      count(`${response.status}`);
    } catch (error) {
      count(readErrorCode(error));
    }
    return undefined;
  };
  const count = (kind: string) => failures.set(kind, (failures.get(kind) ?? 0) + 1);

  const writer = async (number: number) => {
    for (let n = 1; !stopped; n++) {
      const reason = `load ${load} writer ${number} call ${n}`;
      const key = randomUUID();
      let job_id = await send(reason, `LK10001${number}`, key);
      while (job_id === undefined) {
        await pause(retry_ms);
        job_id = await send(reason, `LK10001${number}`, key);
      }
      acknowledged.push({ reason, job_id, at: Date.now() });
      await pause(options.pause_ms);
    }
  };
  const writers = Array.from({ length: options.writers }, (_, number) => writer(number));

  return {
    acknowledged,
    failures,
    longestGap: (from) => {
      const times = [from, ...acknowledged.map(({ at }) => at).filter((at) => at >= from), Date.now()];
      return Math.max(...times.slice(1).map((at, n) => at - (times[n] ?? at)));
    },
    stop: async () => {
      stopped = true;
      await Promise.all(writers);
    },
  };
}

function readErrorCode(error: unknown): string {
  const { cause, name } = error as Error & { cause?: { code?: string } };
  return cause?.code ?? name;
}

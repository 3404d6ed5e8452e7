import { randomUUID } from 'node:crypto';
import { appendFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { seededChance } from '../../../larkspur/seed/random.ts';
import type { Acknowledged } from '../check/evidence.ts';
import type { Account } from './accounts.ts';
import { composeToken, createRequest, type WriteRequest } from './requests.ts';

export type Load = {
  /** Acknowledged writes by kind. */
  acknowledged: ReadonlyMap<string, number>;
  /** Responses other than 200 by status and code, or by the error's code if there was none. */
  failed: ReadonlyMap<string, number>;
  /** When the newest write was acknowledged. */
  lastAt(): number;
  /** Whether the writers wait because the queue is full. */
  isPaused(): boolean;
  /** Ends the writers. Each first repeats its last write until it is acknowledged. */
  stop(): Promise<void>;
};

const request_timeout_ms = 15_000;
const retry_ms = 250;
const writers_per_account = 3;

/** Responses that repeating the request does not change. The load sends nothing that should get one. */
const refusals = new Set([400, 401, 404, 413, 415, 422]);

/**
 * Writers that act as careful clients, and wait while `isFull`: each repeats a write with its Idempotency-Key until it is acknowledged, notes it
 * in a file, and sends the next. Several writers of an account write to the same patients.
 */
export function startLoad(
  base_url: string,
  accounts: readonly Account[],
  options: { seed: number; file: string; pause_ms: number; isFull: () => boolean },
): Load {
  const acknowledged = new Map<string, number>();
  const failed = new Map<string, number>();
  let stopped = false;
  let sent = 0;
  let last_at = Date.now();

  const writer = async (account: Account, seed: number) => {
    const chance = seededChance(seed);
    while (!stopped) {
      const token = composeToken(sent++);
      const request = createRequest(chance, account.chart, token);
      const key = randomUUID();
      let accepted = await attempt(account, request, key);
      while (accepted === undefined) {
        await pause(retry_ms);
        accepted = await attempt(account, request, key);
      }
      if (accepted === 'refused') continue;
      last_at = Date.now();
      const { kind } = request;
      const line: Acknowledged = { token, kind, job_id: accepted.job_id, operation_id: accepted.document_id };
      appendFileSync(options.file, `${JSON.stringify(line)}\n`);
      increment(acknowledged, kind);
      do await pause(chance.below(2 * options.pause_ms));
      while (options.isFull() && !stopped);
    }
  };

  const attempt = async ({ headers }: Account, request: WriteRequest, key: string) => {
    try {
      const body = request.body();
      const form = body instanceof FormData;
      const response = await fetch(base_url + request.path, {
        method: request.method,
        headers: { ...headers, 'idempotency-key': key, ...(form ? {} : { 'content-type': 'application/json' }) },
        body: form ? body : JSON.stringify(body),
        signal: AbortSignal.timeout(request_timeout_ms),
      });
      const text = await response.text();
      if (response.status === 200) return readAccepted(JSON.parse(text));
      increment(failed, `${response.status} ${codeIn(text)}`.trim());
      if (refusals.has(response.status)) return 'refused' as const;
    } catch (error) {
      increment(failed, readErrorCode(error));
    }
    return undefined;
  };

  const writers = accounts.flatMap((account, n) =>
    Array.from({ length: writers_per_account }, (_, w) => writer(account, options.seed * 1_000 + n * 10 + w)),
  );
  return {
    acknowledged,
    failed,
    lastAt: () => last_at,
    isPaused: options.isFull,
    stop: async () => {
      stopped = true;
      await Promise.all(writers);
    },
  };
}

function readAccepted({ job_id, document_id }: { job_id?: number; document_id?: string }) {
  return { job_id: job_id === undefined ? null : `${job_id}`, document_id: document_id ?? null };
}

function increment(counts: Map<string, number>, name: string): void {
  counts.set(name, (counts.get(name) ?? 0) + 1);
}

/** The code of an error response, not its message, which may contain data. */
function codeIn(text: string): string {
  return /"code":"([a-z_]+)"/.exec(text)?.[1] ?? '';
}

function readErrorCode(error: unknown): string {
  const { cause, name } = error as Error & { cause?: { code?: string } };
  return cause?.code ?? name;
}

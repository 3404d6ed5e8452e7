import type { Context, SecretUses } from '../context.ts';
import { markSecretUsed } from './clients.ts';

const period_ms = 60_000;

/**
 * Notes when secrets are used. Requests do not wait for it. A secret is written at most once a minute per process, and the
 * statement skips what another process has just written.
 */
export function openSecretUses(
  { db, log }: Pick<Context, 'db' | 'log'>,
  now: () => number = Date.now,
): SecretUses & { close(): Promise<void> } {
  const noted = new Map<string, number>();
  const writing = new Set<Promise<void>>();
  return {
    note: ({ client_id, secret_id }) => {
      const last = noted.get(secret_id) ?? Number.NEGATIVE_INFINITY;
      if (now() - last < period_ms) return;
      noted.set(secret_id, now());
      const write = db
        .tenant(client_id, (tx) => markSecretUsed(tx, secret_id))
        .catch((error: unknown) => log.warn({ err: error }, 'use of a secret not noted'))
        .finally(() => writing.delete(write));
      writing.add(write);
    },
    close: async () => {
      await Promise.all(writing);
    },
  };
}

import { createHash } from 'node:crypto';
import { expect } from 'vitest';
import type { TestSandbox } from '../harness/sandbox.ts';

/** Holds an Idempotency-Key in an open transaction, like a request that is still running, until it is released. */
export async function holdKey(fixture: TestSandbox, key: string): Promise<{ release(): Promise<void> }> {
  const [row] = await fixture.owner<{ id: string; client_id: string }[]>`
    SELECT id, client_id FROM accounts WHERE user_id = ${fixture.sandbox.user_id}`;
  const hash = createHash('sha256').update(key).digest();
  let release = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  let markInserted = () => {};
  const inserted = new Promise<void>((resolve) => {
    markInserted = resolve;
  });
  const transaction = fixture.owner.begin(async (tx) => {
    await tx`INSERT INTO idempotency_keys (scope_id, key_hash, client_id, request_hash)
      VALUES (${row?.id ?? ''}, ${hash}, ${row?.client_id ?? ''}, ${hash})`;
    markInserted();
    await released;
    throw new Error('rolled back');
  });
  await inserted;
  return {
    release: async () => {
      release();
      await expect(transaction).rejects.toThrow('rolled back');
    },
  };
}

import { createHash } from 'node:crypto';
import { expect } from 'vitest';
import type { TestSandbox } from '../harness/sandbox.ts';

/** A request that has taken this key and is still running, until it is let go. */
export async function runTwin(world: TestSandbox, key: string): Promise<{ letGo(): Promise<void> }> {
  const [row] = await world.owner<{ id: string; client_id: string }[]>`
    SELECT id, client_id FROM accounts WHERE user_id = ${world.sandbox.user_id}`;
  const hash = createHash('sha256').update(key).digest();
  let release = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  let held = () => {};
  const holding = new Promise<void>((resolve) => {
    held = resolve;
  });
  const twin = world.owner.begin(async (tx) => {
    await tx`INSERT INTO idempotency_keys (scope_id, key_hash, client_id, request_hash)
      VALUES (${row?.id ?? ''}, ${hash}, ${row?.client_id ?? ''}, ${hash})`;
    held();
    await released;
    throw new Error('given up');
  });
  await holding;
  return {
    letGo: async () => {
      release();
      await expect(twin).rejects.toThrow('given up');
    },
  };
}

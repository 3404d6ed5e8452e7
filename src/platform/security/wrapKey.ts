import type { MasterKeys } from './masterKeys.ts';
import { SealFailure, sealWith, unsealWith } from './seal.ts';

/** A key as stored in the database. */
export type WrappedKey = { master_key_id: string; wrapped: Buffer };

/** The secret is wrapped by a master key that this process does not have. */
export class MasterKeyMissing extends SealFailure {
  readonly master_key_id: string;

  constructor(master_key_id: string) {
    super(
      `A data key is wrapped by the master key ${master_key_id}, which is neither MASTER_KEY nor MASTER_KEY_PREVIOUS.`,
    );
    this.name = 'MasterKeyMissing';
    this.master_key_id = master_key_id;
  }
}

/** Something refers to a master key that is not known to the database, or not anymore. */
export function isForeignKeyViolation(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === '23503';
}

/** Wraps a key with the current master key; the binding names its row. */
export function wrapKey({ current }: MasterKeys, key: Buffer, binding: string): WrappedKey {
  return { master_key_id: current.id, wrapped: sealWith(current.key, key, binding) };
}

/** Unwraps the result of `wrapKey` with the current or the previous master key. */
export function unwrapKey(master: MasterKeys, { master_key_id, wrapped }: WrappedKey, binding: string): Buffer {
  const found = [master.current, master.previous].find((key) => key?.id === master_key_id);
  if (!found) throw new MasterKeyMissing(master_key_id);
  return unsealWith(found.key, wrapped, binding);
}

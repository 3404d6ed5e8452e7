import type { Context } from '../context.ts';
import type { StoredAccount } from './accounts.ts';
import { askEmr } from './askEmr.ts';

/** Asks the EMR of an account again what it supports, and offers what it refused in use again. */
export function checkCapabilities(ctx: Context, account: StoredAccount): Promise<void> {
  return askEmr(ctx, account, (opened) => opened.refreshCapabilities({ retry_refused: true }));
}

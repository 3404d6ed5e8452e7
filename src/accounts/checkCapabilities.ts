import { EmrFailure } from '../connectors/connector.ts';
import type { Context } from '../context.ts';
import { apiError } from '../errors.ts';
import type { StoredAccount } from './accounts.ts';
import { connectorOf, openAccount } from './openAccount.ts';

/** A person waits for the result. */
const timeout_ms = 30_000;

/** Asks the EMR of an account again what it supports, and offers what it refused in use again. */
export async function checkCapabilities(ctx: Context, { id, client_id, connector }: StoredAccount): Promise<void> {
  const emr = connectorOf(ctx, connector).display_name;
  try {
    const opened = await openAccount(ctx, { client_id, account_id: id }, AbortSignal.timeout(timeout_ms));
    await opened.refreshCapabilities({ retry_refused: true });
  } catch (error) {
    if (!(error instanceof EmrFailure)) throw error;
    if (error.kind === 'unavailable') throw apiError('emr_unavailable', { emr }, { cause: error, retry_after_s: 5 });
    throw apiError('emr_check_refused', { emr, reason: error.message }, { cause: error });
  }
}

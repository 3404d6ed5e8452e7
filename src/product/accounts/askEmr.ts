import { apiError } from '../../catalog/errors.ts';
import { EmrFailure } from '../../emr/connector.ts';
import type { Context } from '../context.ts';
import type { StoredAccount } from './accounts.ts';
import { connectorOf, type OpenAccount, openAccount } from './openAccount.ts';

/** A person waits for the result. */
const timeout_ms = 30_000;

/** Asks the EMR of an account something for an operator, and maps its failures to API errors. */
export async function askEmr<T>(
  ctx: Context,
  { id, client_id, connector }: StoredAccount,
  ask: (opened: OpenAccount) => Promise<T>,
): Promise<T> {
  const emr = connectorOf(ctx, connector).display_name;
  try {
    return await ask(await openAccount(ctx, { client_id, account_id: id }, AbortSignal.timeout(timeout_ms)));
  } catch (error) {
    if (!(error instanceof EmrFailure)) throw error;
    // A host that does not exist is named: waiting does not help.
    if (error.kind === 'unavailable' && error.unknown_host === undefined) {
      throw apiError('emr_unavailable', { emr }, { cause: error, retry_after_s: 5 });
    }
    throw apiError('emr_check_refused', { emr, reason: error.message }, { cause: error });
  }
}

import { apiError } from '../../catalog/errors.ts';
import { EmrFailure } from '../../emr/emrFailure.ts';
import type { Context } from '../context.ts';
import type { StoredAccount } from './accounts.ts';
import type { MrnSetting } from './capabilities.ts';
import { type ConnectedAccount, connectAccount, requireConnector } from './connectAccount.ts';

/** A person waits for the result. */
const timeout_ms = 30_000;

/** Asks the EMR of an account something for an operator, and maps its failures to API errors. */
export async function askEmr<T>(
  ctx: Context,
  { id, client_id, connector }: StoredAccount,
  ask: (connected: ConnectedAccount) => Promise<T>,
): Promise<T> {
  const emr = requireConnector(ctx, connector).display_name;
  try {
    return await ask(await connectAccount(ctx, { client_id, account_id: id }, AbortSignal.timeout(timeout_ms)));
  } catch (error) {
    if (!(error instanceof EmrFailure)) throw error;
    // A host that does not exist is named: waiting does not help.
    if (error.kind === 'unavailable' && error.unknown_host === undefined) {
      throw apiError('emr_unavailable', { emr }, { cause: error, retry_after_s: 5 });
    }
    throw apiError('emr_check_refused', { emr, reason: error.message }, { cause: error });
  }
}

/** Asks the EMR of an account again what it supports, and restores what it refused in use. */
export function checkCapabilities(ctx: Context, account: StoredAccount): Promise<void> {
  return askEmr(ctx, account, (connected) => connected.refreshCapabilities({ retry_refused: true }));
}

/** Validates which identifier is the MRN and returns it as it is stored: a blank value is none. */
export function checkMrnSetting(
  ctx: Pick<Context, 'connectors'>,
  connector: string,
  setting: { mrn_system?: string | null | undefined; mrn_type?: string | null | undefined },
): MrnSetting {
  const system = setting.mrn_system?.trim() || null;
  const type = setting.mrn_type?.trim() || null;
  const field = system !== null ? 'mrn_system' : 'mrn_type';
  if ((system ?? type) !== null && !requireConnector(ctx, connector).sampleIdentifiers) {
    throw apiError('unsupported_field', { field }, { field });
  }
  return { mrn_system: system, mrn_type: type };
}

import { type Connector, type EmrEndpoint, EmrFailure } from '../connectors/connector.ts';
import type { Context } from '../context.ts';
import { apiError } from '../errors.ts';
import type { LinkPurpose } from './linkTokens.ts';

/** The EMR of a link, with a timeout suitable for a waiting person. */
export function emrEndpoint(ctx: Context, purpose: LinkPurpose): EmrEndpoint {
  const signal = AbortSignal.timeout(30_000);
  return { address: purpose.emr_address, outbound: ctx.emr_outbound, signal, keys: ctx.signing_keys };
}

/** Calls the EMR and maps its failures to API errors. */
export async function callEmr<T>(connector: Connector, ask: () => Promise<T>): Promise<T> {
  const emr = connector.display_name;
  try {
    return await ask();
  } catch (error) {
    if (!(error instanceof EmrFailure)) throw error;
    if (error.kind === 'refused')
      throw apiError('emr_sign_in_refused', { emr, reason: error.message }, { cause: error });
    throw apiError('emr_unavailable', { emr }, { cause: error, retry_after_s: 5 });
  }
}

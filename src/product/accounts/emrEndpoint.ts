import type { EmrEndpoint } from '../../emr/connector.ts';
import type { Context } from '../context.ts';
import { clientKeys } from '../../platform/security/signingKeys.ts';
import { readPins } from './emrApps.ts';

export type EndpointContext = Pick<Context, 'db' | 'vault' | 'emr_outbound'>;

/** The EMR of an account or a link, with the keys of its client and no others, and where its credentials may go. */
export async function emrEndpoint(
  ctx: EndpointContext,
  emr: { client_id: string; emr_address: string; emr_app_id: string | null },
  signal: AbortSignal,
): Promise<EmrEndpoint> {
  return {
    address: emr.emr_address,
    outbound: ctx.emr_outbound,
    signal,
    keys: clientKeys(ctx, emr.client_id),
    pins: emr.emr_app_id === null ? undefined : await readPins(ctx, emr.client_id, emr.emr_app_id),
  };
}

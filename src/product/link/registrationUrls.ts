import { hash } from 'node:crypto';
import { findClient } from '../clients/clients.ts';
import type { Context } from '../context.ts';
import type { LinkPurpose } from './linkTokens.ts';

/** What the URLs that are registered with an EMR depend on. */
export type Registration = Pick<LinkPurpose, 'client_id' | 'emr_app_id' | 'emr_address'>;

/**
 * The last part of the redirect URI: one per EMR app, or per client and EMR without one. A response that arrives at the
 * redirect URI of another EMR is refused (RFC 9700, section 4.4.2.2).
 */
export function callbackId({ client_id, emr_app_id, emr_address }: Registration): string {
  return emr_app_id ?? hash('sha256', `${client_id}\n${emr_address}`).slice(0, 32);
}

/** The redirect URI that must be registered with the EMR. */
export function returnAddress(ctx: Pick<Context, 'base_url'>, callback_id: string): string {
  return `${ctx.base_url}/link/v1/oauth/callback/${callback_id}`;
}

/** In place of an EMR app, where tests sign in with a key and without an app. */
export const sandbox_label = 'sandbox';

/** The public keys of a client, under a URL of its own for each EMR app, so that the EMRs that fetch it can be told apart. */
export function keySetUrl(ctx: Pick<Context, 'base_url'>, public_id: string, emr_app_id: string | null): string {
  return `${ctx.base_url}/.well-known/jwks/${public_id}/${emr_app_id ?? sandbox_label}.json`;
}

/** The key set that the EMR of a link must know. */
export async function findKeySetUrl(ctx: Context, { client_id, emr_app_id }: Registration): Promise<string> {
  const client = await findClient(ctx, client_id);
  return keySetUrl(ctx, client?.public_id ?? '', emr_app_id);
}

import type { SignInWay } from '../connectors/connector.ts';
import type { Context } from '../context.ts';

/** The redirect URI of the EMR's page. It must be registered with the EMR, so it is the same for every link. */
export function returnAddress(ctx: Context): string {
  return `${ctx.base_url}/link/v1/oauth/callback`;
}

/** The public keys by which an EMR recognizes our signatures. */
export function keySetUrl(ctx: Context): string {
  return `${ctx.base_url}/.well-known/jwks.json`;
}

/** The URL that must be registered with the EMR for a sign-in method. */
export function registrationUrl(ctx: Context, what: NonNullable<SignInWay['must_register']>): string {
  return what === 'key_set' ? keySetUrl(ctx) : returnAddress(ctx);
}

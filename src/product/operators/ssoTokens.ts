import type { Context } from '../context.ts';
import type { ProviderTokens } from '../../platform/security/providerClaims.ts';

/** The provider's tokens as a session stores them. They belong to this session alone. */
export function sealTokens(
  { system_keys }: Pick<Context, 'system_keys'>,
  session_hash: Buffer,
  tokens: ProviderTokens,
): Buffer {
  return system_keys.seal('operators', tokenBinding(session_hash), JSON.stringify(tokens));
}

export function unsealTokens(
  { system_keys }: Pick<Context, 'system_keys'>,
  session_hash: Buffer,
  sealed: Buffer,
): ProviderTokens {
  return JSON.parse(system_keys.unseal('operators', tokenBinding(session_hash), sealed));
}

function tokenBinding(session_hash: Buffer): string {
  return `operator_sessions.provider:${session_hash.toString('hex')}`;
}

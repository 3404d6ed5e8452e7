import { type ApiError, apiError } from '../../catalog/errors.ts';
import type { Claims } from '../../platform/security/providerClaims.ts';
import type { Context } from '../context.ts';

/** Why the sign-in is not as strong as the settings require. Only the ID token counts: user info is about the person. */
export function findWeakness({ config }: Pick<Context, 'config'>, { acr, amr }: Claims): ApiError | undefined {
  const { oidc_acr_values, oidc_amr_values } = config;
  const has = (required: readonly string[], sent: unknown) =>
    required.length === 0 || [sent].flat().some((each) => typeof each === 'string' && required.includes(each));
  if (!has(oidc_acr_values, Array.isArray(acr) ? undefined : acr)) return apiError('sso_acr_missing');
  return has(oidc_amr_values, amr) ? undefined : apiError('sso_amr_missing');
}

/** For the audit record, if the claims have a plausible form. */
export function describeStrength({ acr, amr }: Claims): object {
  const short = (value: unknown) => typeof value === 'string' && value.length <= 100;
  return {
    ...(short(acr) ? { acr } : {}),
    ...(Array.isArray(amr) ? { amr: amr.filter(short).slice(0, 10) } : {}),
  };
}

import { apiError } from '../../catalog/errors.ts';
import type { Endpoint } from '../endpoint.ts';
import type { Caller } from './authenticate.ts';

/** Rejects what the client's secret does not permit: a limited one may only be used where the endpoint says so. */
export function requirePermittedSecret({ limited_secrets = {} }: Endpoint, { secret, account }: Caller): void {
  if (secret?.access === 'read_only' && !limited_secrets.read_only) {
    throw apiError('secret_not_permitted', { limit: 'it is read-only' });
  }
  if (!secret || secret.org_id === null || limited_secrets.organization === 'checked_by_handler') return;
  const permitted = limited_secrets.organization === 'by_access_token' && account?.org_id === secret.org_id;
  if (!permitted) throw otherOrganization(secret.org_id);
}

/** For handlers that learn from the request which organization it is about. */
export function requireOrganization(limited_to: string | undefined, org_id: string): void {
  if (limited_to !== undefined && limited_to !== org_id) throw otherOrganization(limited_to);
}

function otherOrganization(org_id: string): Error {
  return apiError('secret_not_permitted', { limit: `it is limited to organization '${org_id}'` });
}

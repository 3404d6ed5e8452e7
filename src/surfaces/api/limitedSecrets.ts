import type { Endpoint } from '../../http/endpoint.ts';

/** Which limited secrets an endpoint with an access token permits. */
export const for_reads = { read_only: true, organization: 'by_access_token' } satisfies Endpoint['limited_secrets'];
export const for_writes = { organization: 'by_access_token' } satisfies Endpoint['limited_secrets'];

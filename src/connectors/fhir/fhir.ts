import type { Connector } from '../connector.ts';
import { operationNames } from '../operations.ts';
import { openOperations, operations } from './operations.ts';
import { pageSignIn } from './sign-in/pageSignIn.ts';
import { refreshCapabilities } from './sign-in/probeServer.ts';
import { signIn } from './sign-in/signIn.ts';
import { credential_fields, sign_in_ways } from './sign-in/signInWays.ts';
import { openClient } from './transport/client.ts';

export const fhir: Connector = {
  name: 'fhir',
  display_name: 'FHIR R4',
  credential_fields,
  sign_in_ways,
  page_sign_in: pageSignIn,
  // Some servers fail when two creates run at the same time.
  limits: { parallel_max: 1 },
  restricted_fields: false,
  refuseAddress: (url) => (url.href.includes('?') ? 'must be the base address of the FHIR server.' : undefined),
  signIn,
  refreshCapabilities,
  capabilities: operationNames(operations),
  open: (endpoint, access) =>
    openOperations({ client: openClient(endpoint, access), timezone: access.timezone ?? 'UTC' }),
};

import { type Connector, EmrFailure } from '../connector.ts';
import { operationNames } from '../operations.ts';
import { describeServer } from './describeServer.ts';
import { createChanges } from './lists/changes.ts';
import { describeIdentifiers } from './mrn.ts';
import { fieldNames, openOperations, operations, server_fields } from './operations.ts';
import { readSmartConfiguration } from './sign-in/discover.ts';
import { pageSignIn } from './sign-in/pageSignIn.ts';
import { refreshCapabilities } from './sign-in/probeServer.ts';
import { signIn } from './sign-in/signIn.ts';
import { credential_fields, offeredWays, sign_in_ways } from './sign-in/signInWays.ts';
import { signOut } from './sign-in/signOut.ts';
import { unexpectedEndpoint } from './sign-in/trustedEndpoints.ts';
import { openClient } from './transport/client.ts';
import { documentBytesMax, serverFindings } from './transport/serverFindings.ts';
import { unsupported_fields } from './writes/unsupportedFields.ts';

export const fhir: Connector = {
  name: 'fhir',
  display_name: 'FHIR R4',
  is_standard: true,
  credential_fields,
  sign_in_ways,
  offeredWays: async (endpoint) => {
    const authority = await readSmartConfiguration(endpoint);
    return authority && { ways: offeredWays(authority), sign_in_page: authority.authorization_endpoint };
  },
  unexpectedEndpoint: async (endpoint) => {
    if (!endpoint.pins) return undefined;
    const authority = await readSmartConfiguration(endpoint);
    return authority && unexpectedEndpoint(endpoint, authority);
  },
  describeServer,
  page_sign_in: pageSignIn,
  // Some servers fail when two creates run at the same time.
  limits: { parallel_max: 1, measured_max: 4 },
  unsupported_fields,
  refuseAddress: (url) => (url.href.includes('?') ? 'must be the base address of the FHIR server.' : undefined),
  signIn,
  signOut,
  refreshCapabilities,
  grant_facts: ['server'],
  documentBytesMax,
  serverFindings,
  sampleIdentifiers: async (endpoint, access) => {
    const patients = await openClient(endpoint, access).samplePatients();
    if (!patients) throw new EmrFailure('unavailable', 'The EMR did not list any patients.');
    return describeIdentifiers(patients, access.mrn_rule);
  },
  capabilities: [...operationNames(operations), ...fieldNames(server_fields)],
  open: (endpoint, access) => {
    const client = openClient(endpoint, access);
    return openOperations({ client, timezone: access.timezone ?? 'UTC', changes: createChanges(client) });
  },
};

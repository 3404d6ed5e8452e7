import type { Connector, EmrEndpoint, ServerDescription } from '../connector.ts';
import { EmrFailure } from '../emrFailure.ts';
import { listCapabilities, listUnsupportedFields } from '../operations/operations.ts';
import { createExporter } from './bulk/exporter.ts';
import { documentBytesMax } from './chart/documents.ts';
import { planFindings } from './listReads.ts';
import { createChanges } from './lists.ts';
import { createSupportedOperations, operations, supportedCapabilities } from './operations.ts';
import { describeIdentifiers, readPatients } from './patients/mrn.ts';
import { practiceLists } from './practice/directoryBundle.ts';
import { serverFindings } from './practice/locations.ts';
import { presets } from './presets.ts';
import { readCapabilityStatement, readSmartConfiguration, unexpectedEndpoint } from './sign-in/authorizationServer.ts';
import { recordRequests } from './sign-in/connectionReport.ts';
import { refreshCapabilities } from './sign-in/probeServer.ts';
import { pageSignIn, signIn, signOut } from './sign-in/signIn.ts';
import { credential_fields, offeredWays, sign_in_ways } from './sign-in/signInWays.ts';
import { toCapabilities, toServerFacts } from './transport/capabilities.ts';
import { createClient } from './transport/client.ts';

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
  presets,
  // Some servers fail when two creates run at the same time.
  limits: { parallel_max: 1, measured_max: 4 },
  unsupported_fields: listUnsupportedFields(operations),
  refuseAddress: (url) => (url.href.includes('?') ? 'must be the base address of the FHIR server.' : undefined),
  practice_lists: practiceLists,
  // Searches, and proposals of appointments, by POST.
  isRead: ({ pathname }) => /\/(_search|\$find)$/.test(pathname),
  signIn,
  signOut,
  refreshCapabilities,
  grant_facts: ['server'],
  documentBytesMax,
  serverFindings: (grant) => [...serverFindings(grant), ...planFindings(grant)],
  sampleIdentifiers: async (endpoint, access) => {
    const patients = readPatients(await createClient(endpoint, access).sample('Patient'));
    if (!patients) throw new EmrFailure('unavailable', 'The EMR did not list any patients.');
    return describeIdentifiers(patients, access.mrn_rule);
  },
  capabilities: listCapabilities(operations),
  open: (endpoint, access) => {
    const client = createClient(endpoint, access);
    const { timezone = 'UTC', exported } = access;
    return createSupportedOperations({ client, timezone, changes: createChanges(client), exported });
  },
  openExporter: createExporter,
};

/** What the server publishes about itself. Fails if it is not a FHIR server. */
async function describeServer(endpoint: EmrEndpoint): Promise<ServerDescription> {
  const stated = await readCapabilityStatement(recordRequests(endpoint));
  if (!('statement' in stated)) return {};
  return { capabilities: supportedCapabilities(toCapabilities(toServerFacts(stated.statement))) };
}

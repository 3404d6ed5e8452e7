import type { EmrEndpoint, ServerDescription } from '../connector.ts';
import { supportedCapabilities } from './operations.ts';
import { readCapabilityStatement } from './sign-in/discover.ts';
import { toCapabilities, toServerFacts } from './transport/capabilities.ts';

/** What the server publishes about itself. Fails if it is not a FHIR server. */
export async function describeServer(endpoint: EmrEndpoint): Promise<ServerDescription> {
  const stated = await readCapabilityStatement(endpoint);
  if (!('statement' in stated)) return {};
  return { capabilities: supportedCapabilities(toCapabilities(toServerFacts(stated.statement))) };
}

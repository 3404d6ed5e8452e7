import { type EmrEndpoint, EmrFailure, type ServerDescription } from '../connector.ts';
import { supportedCapabilities } from './operations.ts';
import { discoverAuthorization, readCapabilityStatement, type Statement } from './sign-in/discover.ts';
import { toCapabilities, toServerFacts } from './transport/capabilities.ts';

/** What the server publishes about itself. Fails if it is not a FHIR server. */
export async function describeServer(endpoint: EmrEndpoint): Promise<ServerDescription> {
  const stated = await readCapabilityStatement(endpoint);
  const sign_in_page = await readSignInPage(endpoint, stated);
  if (!('statement' in stated)) return { sign_in_page };
  return { sign_in_page, capabilities: supportedCapabilities(toCapabilities(toServerFacts(stated.statement))) };
}

/** Undefined if the server does not publish it, or not right now: the capability statement is useful without it. */
async function readSignInPage(endpoint: EmrEndpoint, stated: Statement): Promise<string | undefined> {
  try {
    return (await discoverAuthorization(endpoint, stated)).authorization_endpoint;
  } catch (error) {
    if (error instanceof EmrFailure) return undefined;
    throw error;
  }
}

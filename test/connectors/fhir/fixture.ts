import { exportJWK, generateKeyPair } from 'jose';
import type { Access, Credentials, EmrEndpoint, Grant, SignIn } from '../../../src/connectors/connector.ts';
import { fhir } from '../../../src/connectors/fhir/fhir.ts';
import { type FhirClient, openClient } from '../../../src/connectors/fhir/transport/client.ts';
import type { SigningAlgorithm } from '../../../src/security/signingKeys.ts';
import type { FhirServer } from '../../harness/fhir/startFhirServer.ts';
import { openEndpoint } from '../larkspur/fixture.ts';

export type SignedIn = Extract<SignIn, { outcome: 'signed_in' }>;
export type TestDoor = EmrEndpoint & { calls: string[] };

/** Keys as an installation has them, and what it publishes of them. */
export async function newKeys() {
  const made = new Map<SigningAlgorithm, { kid: string; key: CryptoKey }>();
  const published: object[] = [];
  for (const alg of ['RS384', 'ES384'] as const) {
    const pair = await generateKeyPair(alg, { extractable: true });
    made.set(alg, { kid: `key-${alg}`, key: pair.privateKey });
    published.push({ ...(await exportJWK(pair.publicKey)), kid: `key-${alg}`, alg, use: 'sig' });
  }
  const current = async (alg: SigningAlgorithm) => {
    const key = made.get(alg);
    if (!key) throw new Error(`no key for ${alg}`);
    return key;
  };
  return { keys: { current }, jwks: { keys: published } };
}

type CryptoKey = Awaited<ReturnType<typeof generateKeyPair>>['privateKey'];

export async function signedIn(endpoint: EmrEndpoint, credentials: Credentials, page_grant?: Grant): Promise<SignedIn> {
  const answer = await fhir.signIn(endpoint, credentials, undefined, page_grant);
  if (answer.outcome !== 'signed_in') throw new Error(`not signed in: ${JSON.stringify(answer)}`);
  return answer;
}

export const bySecret = (server: FhirServer): Credentials => ({
  way: 'client_secret',
  ...server.clients.confidential,
});

/** The client of an account that was linked by a secret; `kept` are the grants that were handed back. */
export async function linkedClient(
  server: FhirServer,
  signal?: AbortSignal,
): Promise<{ client: FhirClient; endpoint: TestDoor; kept: Grant[]; access: Access }> {
  const credentials = bySecret(server);
  const { grant } = await signedIn(openEndpoint(server.url), credentials);
  const endpoint = openEndpoint(server.url, signal);
  const kept: Grant[] = [];
  const access = { credentials, grant, saveGrant: async (renewed: Grant) => void kept.push(renewed) };
  return { client: openClient(endpoint, access), endpoint, kept, access };
}

/** The paths below the server's base that a door was used for. */
export function pathsOf({ calls }: TestDoor): string[] {
  return calls.map((call) => call.replace('/fhir/R4', ''));
}

import { exportJWK, generateKeyPair } from 'jose';
import type { Access, Credentials, EmrEndpoint, Grant, SignIn } from '../../../src/connectors/connector.ts';
import { fhir } from '../../../src/connectors/fhir/fhir.ts';
import { type FhirClient, openClient } from '../../../src/connectors/fhir/transport/client.ts';
import type { SigningAlgorithm } from '../../../src/security/signingKeys.ts';
import type { FhirServer } from '../../harness/fhir/startFhirServer.ts';
import { openEndpoint } from '../larkspur/fixture.ts';

export type SignedIn = Extract<SignIn, { outcome: 'signed_in' }>;
export type TestEndpoint = EmrEndpoint & { calls: string[] };

/** The keys of an installation, and their public part. */
export async function newKeys() {
  const created = new Map<SigningAlgorithm, { kid: string; key: CryptoKey }>();
  const published: object[] = [];
  for (const alg of ['RS384', 'ES384'] as const) {
    const pair = await generateKeyPair(alg, { extractable: true });
    created.set(alg, { kid: `key-${alg}`, key: pair.privateKey });
    published.push({ ...(await exportJWK(pair.publicKey)), kid: `key-${alg}`, alg, use: 'sig' });
  }
  const current = async (alg: SigningAlgorithm) => {
    const key = created.get(alg);
    if (!key) throw new Error(`no key for ${alg}`);
    return key;
  };
  return { keys: { current }, jwks: { keys: published } };
}

type CryptoKey = Awaited<ReturnType<typeof generateKeyPair>>['privateKey'];

export async function signedIn(endpoint: EmrEndpoint, credentials: Credentials, page_grant?: Grant): Promise<SignedIn> {
  const response = await fhir.signIn(endpoint, credentials, undefined, page_grant);
  if (response.outcome !== 'signed_in') throw new Error(`not signed in: ${JSON.stringify(response)}`);
  return response;
}

export const bySecret = (server: FhirServer): Credentials => ({
  way: 'client_secret',
  ...server.clients.confidential,
});

/** The client of an account linked by secret. `saved` are the saved grants. */
export async function linkedClient(
  server: FhirServer,
  signal?: AbortSignal,
): Promise<{ client: FhirClient; endpoint: TestEndpoint; saved: Grant[]; access: Access }> {
  const credentials = bySecret(server);
  const { grant } = await signedIn(openEndpoint(server.url), credentials);
  const endpoint = openEndpoint(server.url, signal);
  const saved: Grant[] = [];
  const access = { credentials, grant, saveGrant: async (renewed: Grant) => void saved.push(renewed) };
  return { client: openClient(endpoint, access), endpoint, saved, access };
}

/** The called paths below the server's base. */
export function pathsOf({ calls }: TestEndpoint): string[] {
  return calls.map((call) => call.replace('/fhir/R4', ''));
}

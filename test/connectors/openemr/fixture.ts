import type { Access, Grant } from '../../../src/emr/connector.ts';
import { openemr } from '../../../src/emr/openemr/openemr.ts';
import type { Operations } from '../../../src/emr/operations/operations.ts';
import { visit_types } from '../../harness/openemr/linkOpenEmr.ts';
import { type OpenEmrServer, redirect_uri } from '../../harness/openemr/startOpenEmr.ts';
import { createEndpoint } from '../larkspur/fixture.ts';

export function credentialsAt({ client: { client_id, client_secret } }: OpenEmrServer): Access['credentials'] {
  return { way: 'authorization_code', client_id, app_secret: client_secret };
}

/** Signs in on the page, like a person. */
export async function signInAt(server: OpenEmrServer) {
  const [endpoint, credentials] = [createEndpoint(server.url), credentialsAt(server)];
  const back = { return_address: redirect_uri, state: 'a-state-that-nobody-can-guess' };
  const { url, pending } = (await openemr.page_sign_in?.start(endpoint, credentials, back)) ?? { url: '', pending: {} };
  const returned = (await server.signInOnPage(url)) ?? new URL(redirect_uri);
  const outcome = await openemr.page_sign_in?.finish(endpoint, credentials, pending, returned);
  if (outcome?.outcome !== 'signed_in') throw new Error(`not signed in: ${JSON.stringify(outcome)}`);
  const signed_in = await openemr.signIn(endpoint, credentials, undefined, outcome.grant);
  if (signed_in.outcome !== 'signed_in') throw new Error(`not signed in: ${JSON.stringify(signed_in)}`);
  return signed_in;
}

/** The operations of an account. `saved` are the saved grants. */
export async function openAt(server: OpenEmrServer, more: Partial<Access> = {}, headers: Record<string, string> = {}) {
  const { grant, timezone } = await signInAt(server);
  const endpoint = { ...createEndpoint(server.url), headers };
  const saved: Grant[] = [];
  const saveGrant = async (renewed: Grant) => void saved.push(renewed);
  const access = { credentials: credentialsAt(server), grant, timezone, visit_types, saveGrant, ...more };
  // Each test uses what OpenEMR offers.
  return { emr: openemr.open(endpoint, access) as Operations, endpoint, saved };
}

let markers = 0;

/** As the product makes them. */
export function newMarker(): string {
  markers += 1;
  return `${String(markers).padStart(32, '0')}-step`;
}

import { type Api, createApi } from '../api.ts';
import type { TestSandbox } from '../sandbox.ts';
import type { FhirServer } from './startFhirServer.ts';

/**
 * Links an account of a FHIR server like an application. Currently withheld interactions stay withheld until a sync.
 */
export async function linkFhir(
  fixture: Pick<TestSandbox, 'api' | 'sandbox'>,
  server: FhirServer,
  who: { user_id: string; org_id: string },
): Promise<Api & { access_token: string }> {
  const headers = { access_token: null };
  const created = await fixture.api.call('POST', '/link/token/create', {
    body: { ...who, emr_name: 'fhir', emr_instance_domain: server.url },
    headers,
  });
  const linked = await fixture.api.call('POST', '/sandbox/public_token/create', {
    body: { link_token: created.body.token, credentials: { way: 'client_secret', ...server.clients.confidential } },
    headers,
  });
  if (linked.status !== 200) throw new Error(`Linking failed: ${JSON.stringify(linked.body)}`);
  const path = `/link/token/exchange?public_token=${linked.body.public_token}`;
  const access_token: string = (await fixture.api.call('GET', path, { headers })).body.token;
  return { ...createApi({ ...fixture.sandbox, access_token }), access_token };
}

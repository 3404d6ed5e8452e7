import { linkSteps } from '../../linking/linkSteps.ts';
import { type Api, createApi } from '../api.ts';
import type { TestSandbox } from '../sandbox.ts';
import type { OpenEmrServer } from './startOpenEmr.ts';

export const visit_types = [
  { code: '5', description: 'Office Visit', minutes: 15 },
  { code: '12', description: 'Phone Call', minutes: null },
];

/** The body of a new patient. */
export function newPatient(first_name: string, last_name: string): Record<string, string> {
  return {
    first_name,
    last_name,
    dob: '1990-01-02',
    sex: 'female',
    phone: '518-555-0134',
    address_street: '2 Thistle Lane',
    address_city: 'Troy',
    address_state: 'NY',
    address_zip: '12180',
  };
}

/** Links an account through Link's own API: the consent, OpenEMR's login page, and the redirect back. */
export async function linkOpenEmr(
  fixture: Pick<TestSandbox, 'api' | 'sandbox'>,
  server: OpenEmrServer,
  who: { user_id: string; org_id: string },
  person?: { username: string; password: string },
): Promise<Api & { access_token: string }> {
  const steps = linkSteps(fixture);
  const link_token = await steps.linkToken({ ...who, emr_name: 'openemr', emr_instance_domain: server.url });
  const consented = await steps.consent(link_token);
  if (consented.status !== 200) throw new Error(`No consent: ${JSON.stringify(consented.body)}`);
  const { client_id, client_secret } = server.client;
  const credentials = { way: 'authorization_code', client_id, app_secret: client_secret };
  const started = await asLink('oauth/start', { credentials });
  // What an administrator of the clinic registers.
  const return_address = new URL(started.url).searchParams.get('redirect_uri') ?? '';
  if (!server.client.redirect_uris.includes(return_address)) server.client.redirect_uris.push(return_address);
  const returned = await server.signInOnPage(started.url, person);
  if (!returned) throw new Error('OpenEMR showed an error on its page.');
  await asLink('oauth/finish', {
    query: returned.search,
    window: started.window,
    callback_id: returned.pathname.split('/').at(-1),
  });
  const { public_token } = await asLink('sign-in', { credentials: { way: 'authorization_code' } });
  const access_token: string = (await steps.exchange(public_token)).body.token;
  return { ...createApi({ ...fixture.sandbox, access_token }), access_token };

  async function asLink(path: string, body: object) {
    const headers = { access_token: null, client_id: null, client_secret: null, 'link-token': link_token };
    const response = await fixture.api.call('POST', `/link/v1/${path}`, { headers, body });
    if (response.status !== 200) throw new Error(`${path} failed: ${JSON.stringify(response.body)}`);
    return response.body;
  }
}

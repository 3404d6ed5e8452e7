import { createHash } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { expectApiError } from '../../api/support.ts';
import type { ApiResponse } from '../../harness/api.ts';
import { type FhirServer, startFhirServer } from '../../harness/fhir/startFhirServer.ts';
import { row } from '../../harness/row.ts';
import { startSandbox, type TestSandbox } from '../../harness/sandbox.ts';
import { type LinkSteps, linkSteps } from '../../linking/linkSteps.ts';

let fixture: TestSandbox;
let server: FhirServer;
let steps: LinkSteps;
beforeAll(async () => {
  [fixture, server] = await Promise.all([
    startSandbox({ small: true, sync_after_link: false }),
    startFhirServer({ data: 'small' }),
  ]);
  steps = linkSteps(fixture);
});
beforeEach(async () => {
  await fixture.owner`UPDATE clients SET name = 'Sandbox'`;
  fixture.ctx.lookups.clear();
});
afterEach(() => server.reset());
afterAll(async () => {
  await fixture?.close();
  await server?.close();
});

/** Calls an endpoint of Link's page. */
const asPage = (link_token: string, method: string, path: string, body?: object): Promise<ApiResponse> =>
  fixture.api.call(method, `/link/v1/${path}`, {
    headers: { client_id: null, client_secret: null, access_token: null, 'link-token': link_token },
    ...(body && { body }),
  });
const session = async (link_token: string) => (await asPage(link_token, 'GET', 'session')).body;
const agree = (link_token: string, terms_id: string, fields: Record<string, unknown> = {}) =>
  asPage(link_token, 'POST', 'consent', { terms_id, language: 'en', text: 'These words.', ...fields });
const fhirToken = (body = {}) => steps.linkToken({ emr_name: 'fhir', emr_instance_domain: server.url, ...body });
const person = (staff: number) => {
  const { username, password } = fixture.sandbox.larkspur.staff[staff] ?? {};
  return { credentials: { username, password }, one_time_code: fixture.api.code(staff) };
};
const consents = (org_id: string) => fixture.owner<{ detail: Record<string, unknown> }[]>`
  SELECT * FROM audit_records WHERE action = 'link.consent.create' AND outcome = '200'
     AND detail ->> 'organization' = ${org_id} ORDER BY id`;

describe('consent', () => {
  test(row('CNS-01'), async () => {
    const token = await steps.linkToken({ user_id: 'recorded', org_id: 'recorded' });
    const { consent } = await session(token);
    expect(consent.required).toBe(true);
    const text = 'Sandbox quiere conectarse con Larkspur.';
    expect((await agree(token, consent.terms_id, { language: 'es', text })).body).toStrictEqual({ success: true });
    const records = await consents('recorded');
    expect(records).toHaveLength(1);
    const { host } = new URL(fixture.sandbox.larkspur.url);
    expect(records[0]).toMatchObject({
      actor_kind: 'link',
      actor: 'recorded',
      detail: {
        client: 'Sandbox',
        organization: 'recorded',
        emr: 'Larkspur',
        emr_address: fixture.sandbox.larkspur.url,
        sign_in_hosts: { default: host },
        access: {
          known: true,
          reads: expect.arrayContaining(['patients']),
          writes: expect.arrayContaining(['refills']),
        },
        language: 'es',
        text_sha256: createHash('sha256').update(text).digest('hex'),
        version: expect.stringMatching(/^\d+\.\d+\.\d+/),
      },
    });
    expect(JSON.stringify(records)).not.toContain(token);
  });

  test(row('CNS-02'), async () => {
    const token = await steps.linkToken();
    const { consent } = await session(token);
    expectApiError(await asPage(token, 'POST', 'sign-in', person(1)), 403, /has not agreed to this link yet/);
    const at_fhir = await fhirToken();
    server.ledger.length = 0;
    const credentials = { way: 'authorization_code', client_id: 'by-page' };
    const started = await asPage(at_fhir, 'POST', 'oauth/start', { credentials });
    expect([started.status, started.body.code]).toStrictEqual([403, 'consent_required']);
    expect(server.ledger).toStrictEqual([]);
    await agree(token, consent.terms_id);
    expect((await asPage(token, 'POST', 'sign-in', person(1))).status).toBe(200);
  });

  test('is not required by the sandbox endpoint, which has no page', async () => {
    expect((await steps.signIn(await steps.linkToken(), 1)).status).toBe(200);
  });

  test('counts only for the terms that were shown last', async () => {
    const token = await steps.linkToken({ org_id: 'renamed' });
    const { consent } = await session(token);
    expect((await agree(token, '0'.repeat(64))).body.code).toBe('consent_outdated');
    await agree(token, consent.terms_id);
    await fixture.owner`UPDATE clients SET name = 'Another name'`;
    fixture.ctx.lookups.clear();
    const renamed = (await session(token)).consent;
    expect(renamed.terms_id).not.toBe(consent.terms_id);
    expect((await asPage(token, 'POST', 'sign-in', person(2))).body.code).toBe('consent_required');
    expect((await agree(token, consent.terms_id)).body.code).toBe('consent_outdated');
    await agree(token, renamed.terms_id);
    expect((await asPage(token, 'POST', 'sign-in', person(2))).status).toBe(200);
  });

  test(row('CNS-03'), async () => {
    const token = await fhirToken({ org_id: 'moved' });
    await steps.consent(token);
    // As if the EMR had named another page before.
    await fixture.owner`UPDATE link_consents SET terms_hash = 'before',
      terms = jsonb_set(terms, '{sign_in_hosts}', '{"authorization_code": "before.example.org"}')
      WHERE terms ->> 'organization' = 'moved'`;
    const credentials = { way: 'authorization_code', client_id: 'by-page' };
    const started = await asPage(token, 'POST', 'oauth/start', { credentials });
    expectApiError(started, 409, /host of the EMR’s sign-in page, has changed/);
    const { ways } = await session(token);
    const on_page = ways.find(({ name }: { name: string }) => name === 'authorization_code');
    expect(on_page.sign_in_host).toBe(new URL(server.issuer).host);
    expect((await asPage(token, 'POST', 'oauth/start', { credentials })).body.code).toBe('consent_required');
    await steps.consent(token);
    const again = await asPage(token, 'POST', 'oauth/start', { credentials });
    expect(new URL(again.body.url).host).toBe(on_page.sign_in_host);
  });

  test('cannot be read or given by another link', async () => {
    const [mine, other] = [await steps.linkToken({ org_id: 'mine' }), await steps.linkToken({ org_id: 'other' })];
    const { consent } = await session(mine);
    expect((await agree(other, consent.terms_id)).body.code).toBe('consent_outdated');
    expect((await asPage(mine, 'POST', 'sign-in', person(1))).body.code).toBe('consent_required');
  });
});

describe('consent in update mode', () => {
  async function linked(who: { user_id: string; org_id: string }, staff: number): Promise<string> {
    const token = await steps.linkToken(who);
    await steps.consent(token);
    const { body } = await asPage(token, 'POST', 'sign-in', person(staff));
    const access_token = (await steps.exchange(body.public_token)).body.token;
    await fixture.owner`UPDATE accounts SET status = 'login_required' WHERE user_id = ${who.user_id}`;
    await fixture.owner`SELECT pg_notify('chartwire_access', '')`;
    return access_token;
  }

  test(row('CNS-04'), async () => {
    const who = { user_id: 'covered', org_id: 'covered' };
    const token = await steps.linkToken({ ...who, access_token: await linked(who, 3) });
    expect((await session(token)).consent.required).toBe(false);
    const one_time_code = fixture.api.code(3);
    expect((await asPage(token, 'POST', 'sign-in', { credentials: {}, one_time_code })).status).toBe(200);
    expect(await consents('covered')).toHaveLength(1);
  });

  test.each([
    ['the client has another name', () => fixture.owner`UPDATE clients SET name = 'Renamed'`],
    [
      'more would be read than was agreed to',
      () => fixture.owner`UPDATE link_consents SET terms = jsonb_set(terms, '{access,reads}', '["patients"]')`,
    ],
    [
      'more would be changed than was agreed to',
      () => fixture.owner`UPDATE link_consents SET terms = jsonb_set(terms, '{access,writes}', '[]')`,
    ],
    [
      'the sign-in happens on another host',
      () =>
        fixture.owner`UPDATE link_consents SET terms = jsonb_set(terms, '{sign_in_hosts}', '{"default": "old.test"}')`,
    ],
    ['there is none', () => fixture.owner`DELETE FROM link_consents`],
  ])('is asked for again if %s', async (name, change) => {
    const id = name.replaceAll(' ', '-');
    const who = { user_id: id, org_id: id };
    const token = await steps.linkToken({ ...who, access_token: await linked(who, 4) });
    await change();
    fixture.ctx.lookups.clear();
    const { consent } = await session(token);
    expect(consent.required).toBe(true);
    const body = { credentials: {}, one_time_code: fixture.api.code(4) };
    expect((await asPage(token, 'POST', 'sign-in', body)).body.code).toBe('consent_required');
    await agree(token, consent.terms_id);
    expect((await asPage(token, 'POST', 'sign-in', body)).status).toBe(200);
  });
});

describe('the access that Link names', () => {
  test('is what the server’s capability statement shows', async () => {
    server.faults.withheld = {
      Claim: 'all',
      Coverage: 'all',
      DocumentReference: 'all',
      Appointment: ['create', 'update'],
    };
    const { access } = await session(await fhirToken());
    expect(access.known).toBe(true);
    expect(access.reads).toEqual(expect.arrayContaining(['patients', 'appointments', 'providers']));
    expect(access.reads).not.toEqual(expect.arrayContaining(['claims']));
    expect(access.writes).toContain('patients');
    for (const withheld of ['documents', 'appointments']) expect(access.writes).not.toContain(withheld);
  });

  test('is everything that the connector supports, said to be uncertain, if the server does not respond', async () => {
    server.fail({ kind: 'error_503', path: '/metadata' });
    const { access, problem } = await session(await fhirToken());
    expect([access.known, problem]).toStrictEqual([false, null]);
    expect(access.reads).toContain('claims');
  });
});

describe('the page of a server that cannot be used', () => {
  test.each([
    ['larkspur', ''],
    ['fhir', '/fhir/R4'],
  ])('says that the host does not exist (%s), and the API does too', async (emr_name, path) => {
    const token = await steps.linkToken({ emr_name, emr_instance_domain: `http://nowhere.localhost:9${path}` });
    const { problem, consent } = await session(token);
    const reason = 'The host nowhere.localhost could not be found.';
    expect(problem).toStrictEqual({ code: 'emr_host_not_found', host: 'nowhere.localhost', reason });
    expect(consent).toBeNull();
    const credentials = emr_name === 'fhir' ? { way: 'bearer_token', bearer_token: 'x' } : person(1).credentials;
    const response = await steps.signIn(token, 1, { credentials });
    const message = 'The host nowhere.localhost could not be found. Check the address of the EMR.';
    expectApiError(response, 400, message);
  });

  test(row('CNS-05'), async () => {
    for (const emr_instance_domain of [fixture.sandbox.base_url, fixture.sandbox.larkspur.url]) {
      const { problem, emr } = await session(await fhirToken({ emr_instance_domain }));
      const { host } = new URL(emr_instance_domain);
      expect(problem).toStrictEqual({
        code: 'emr_address_wrong',
        host,
        reason: 'There is no FHIR server at this address.',
      });
      expect(emr).toBe(host);
    }
  });
});

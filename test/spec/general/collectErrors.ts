import { freePort } from '../../../scripts/freePort.ts';
import { loadConfig } from '../../../src/catalog/settings/config.ts';
import { startService } from '../../../src/main.ts';
import { apiAs, newClient, raw, sendBytes } from '../../api/support.ts';
import type { ApiResponse } from '../../harness/api.ts';
import { createPdf } from '../../harness/documents.ts';
import type { TestSandbox } from '../../harness/sandbox.ts';
import { linkSteps } from '../../linking/linkSteps.ts';
import { sendDocument } from '../support/sendDocument.ts';

/** The error response to a request, with what was wrong about it. */
export type CollectedError = { what: string; status: number; request_id: string | null; body: ApiResponse['body'] };

const mebibyte = 1_048_576;

/** One error response of each kind, except `login_required`, which has rows of its own. */
export async function collectErrors(fixture: TestSandbox): Promise<CollectedError[]> {
  const { api } = fixture;
  const collected: CollectedError[] = [];
  const collect = async (what: string, request: Promise<ApiResponse>) => {
    const { status, headers, body } = await request;
    collected.push({ what, status, request_id: headers.get('x-request-id'), body });
  };
  await collect('a missing field', api.callIn({ patient_mrn: undefined }));
  await collect('an unknown field', api.callIn({ nonsense: 1 }));
  await collect('an unknown parameter', api.call('GET', '/v1/patients?nonsense=1'));
  await collect('a wrong type', api.callIn({ caller: 5 }));
  await collect('a limit', api.callIn({ reason: 'r'.repeat(51) }));
  await collect('a body that is not JSON', api.call('POST', '/v1/sync', { body: '{' }));
  await collect('a body that is no object', api.call('POST', '/v1/sync', { body: '[]' }));
  await collect('no field at all', api.call('PATCH', '/v1/providers/ehr/501', { body: {} }));
  await collect('no client', api.call('GET', '/v1/providers', { headers: { client_id: null } }));
  await collect('no access token', api.call('GET', '/v1/providers', { headers: { access_token: null } }));
  await collect('an unknown access token', api.call('GET', '/v1/providers', { headers: { access_token: 'x' } }));
  await collect('no such endpoint', api.call('GET', '/v1/nowhere'));
  await collect('an unknown record', api.call('GET', '/v1/jobs/999999'));
  await collect('an unknown reference', api.callIn({ provider_id: '599' }));
  await collect('a large body', api.call('POST', '/v1/sync', { body: `{${' '.repeat(mebibyte)}}` }));
  await collect('a large document', sendDocument(fixture, {}, createPdf(5_242_881)));
  await collect('no document', sendDocument(fixture, {}, Buffer.from('MZ nonsense')));
  await collect(
    'a wrong media type',
    api.call('POST', '/v1/sync', { body: '{}', headers: { 'content-type': 'text/plain' } }),
  );
  const headers = { 'idempotency-key': 'used before' };
  await api.call('POST', '/v1/sync', { body: {}, headers });
  await collect('a key used before', api.callIn({}, headers));
  await collect('a bad key', api.call('POST', '/v1/sync', { body: {}, headers: { 'idempotency-key': 'é' } }));
  await collectLinkErrors(fixture, collect);
  await collect('too many requests', exceedRateLimit(fixture));
  for (const [what, path, more] of [
    ['an address that cannot be decoded', '/v1/jobs/%ZZ', {}],
    ['oversized headers', '/healthz', { filler: 'x'.repeat(40_000) }],
  ] as const) {
    const response = await raw(fixture.sandbox.base_url, { method: 'GET', path, headers: more });
    const request_id = response.headers['x-request-id'];
    collected.push({ what, status: response.status, request_id: `${request_id}`, body: JSON.parse(response.text) });
  }
  collected.push(await sendInvalidHttp(fixture));
  return collected;
}

async function collectLinkErrors(
  fixture: TestSandbox,
  collect: (what: string, request: Promise<ApiResponse>) => Promise<void>,
): Promise<void> {
  const steps = linkSteps(fixture);
  const headers = { access_token: null };
  const create = (body: object) => fixture.api.call('POST', '/link/token/create', { body, headers });
  const { org_id } = fixture.sandbox;
  await collect('a personal user_id', create({ user_id: 'jane@example.org', org_id }));
  await collect('an unknown EMR', create({ user_id: 'u', org_id: 'o', emr_name: 'epic' }));
  await collect('another domain', create({ user_id: 'u', org_id, emr_instance_domain: 'https://emr.example.org' }));
  await collect('an unknown callback', create({ user_id: 'u', org_id, callback_url: 'https://example.org' }));
  await collect('update mode without an account', create({ user_id: 'u', org_id, access_token: 'x' }));
  await collect('a bad webhook address', fixture.api.call('POST', '/v1/webhook', { body: { webhook_url: 'ftp://x' } }));
  await collect('an unknown public token', steps.exchange('pt_x'));
  await collect('an unknown link token', steps.signIn('lt_x', 1));
  const token = await steps.linkToken();
  const wrong = { username: fixture.sandbox.larkspur.staff[1]?.username, password: 'wrong' };
  await collect('a wrong password', steps.signIn(token, 1, { credentials: wrong }));
  await collect('no code', steps.signIn(token, 1, { one_time_code: undefined }));
  await collect('a wrong code', steps.signIn(token, 1, { one_time_code: '000000' }));
  const nowhere = await steps.linkToken({ emr_instance_domain: `http://127.0.0.1:${await freePort()}` });
  await collect('an EMR that is down', steps.signIn(nowhere, 1));
}

/** Sends several requests to a process that allows one request per second. */
async function exceedRateLimit(fixture: TestSandbox): Promise<ApiResponse> {
  const config = loadConfig({ ...fixture.env, PORT: '0', RATE_LIMIT: '1', RATE_BURST: '1' });
  const { base_url, close } = await startService(config, { role: 'api', print: () => {} });
  try {
    const client = await newClient(fixture);
    const api = apiAs({ ...fixture, sandbox: { ...fixture.sandbox, base_url } }, client);
    const responses = await Promise.all(
      Array.from({ length: 6 }, () => api.call('GET', '/link/emrs', { headers: { access_token: null } })),
    );
    const limited = responses.find(({ status }) => status === 429);
    if (!limited) throw new Error('No request was limited.');
    return limited;
  } finally {
    await close();
  }
}

async function sendInvalidHttp(fixture: TestSandbox): Promise<CollectedError> {
  const text = await sendBytes(fixture.sandbox.base_url, 'NONSENSE\r\n\r\n');
  const [head = '', body = ''] = text.split('\r\n\r\n');
  const request_id = /x-request-id: (\w+)/i.exec(head)?.[1] ?? null;
  return { what: 'invalid HTTP', status: Number(head.split(' ')[1]), request_id, body: JSON.parse(body) };
}

import { createConnection } from 'node:net';
import { loadConfig } from '../../../src/config.ts';
import { startService } from '../../../src/main.ts';
import { linkSteps } from '../../api/linkSteps.ts';
import { apiOf, newClient, raw } from '../../api/support.ts';
import type { Answer } from '../../harness/api.ts';
import { pdfOf } from '../../harness/documents.ts';
import { freePort, type TestSandbox } from '../../harness/sandbox.ts';
import { sendDocument } from '../support/sendDocument.ts';

/** A refused request: what was wrong, and the answer. */
export type Refusal = { what: string; status: number; request_id: string | null; body: Answer['body'] };

const mebibyte = 1_048_576;

/** One refusal of each kind that a client can meet, but for `login_required`, which has rows of its own. */
export async function collectRefusals(world: TestSandbox): Promise<Refusal[]> {
  const { api } = world;
  const found: Refusal[] = [];
  const keep = async (what: string, asked: Promise<Answer>) => {
    const { status, headers, body } = await asked;
    found.push({ what, status, request_id: headers.get('x-request-id'), body });
  };
  await keep('a missing field', api.callIn({ patient_mrn: undefined }));
  await keep('an unknown field', api.callIn({ nonsense: 1 }));
  await keep('an unknown parameter', api.call('GET', '/v1/patients?nonsense=1'));
  await keep('a wrong type', api.callIn({ caller: 5 }));
  await keep('a limit', api.callIn({ reason: 'r'.repeat(51) }));
  await keep('a body that is not JSON', api.call('POST', '/v1/sync', { body: '{' }));
  await keep('a body that is no object', api.call('POST', '/v1/sync', { body: '[]' }));
  await keep('no field at all', api.call('PATCH', '/v1/providers/ehr/501', { body: {} }));
  await keep('no client', api.call('GET', '/v1/providers', { headers: { client_id: null } }));
  await keep('no access token', api.call('GET', '/v1/providers', { headers: { access_token: null } }));
  await keep('an unknown access token', api.call('GET', '/v1/providers', { headers: { access_token: 'x' } }));
  await keep('no such endpoint', api.call('GET', '/v1/nowhere'));
  await keep('an unknown record', api.call('GET', '/v1/jobs/999999'));
  await keep('an unknown reference', api.callIn({ provider_id: '599' }));
  await keep('a large body', api.call('POST', '/v1/sync', { body: `{${' '.repeat(mebibyte)}}` }));
  await keep('a large document', sendDocument(world, {}, pdfOf(5_242_881)));
  await keep('no document', sendDocument(world, {}, Buffer.from('MZ nonsense')));
  await keep(
    'a wrong media type',
    api.call('POST', '/v1/sync', { body: '{}', headers: { 'content-type': 'text/plain' } }),
  );
  const headers = { 'idempotency-key': 'used before' };
  await api.call('POST', '/v1/sync', { body: {}, headers });
  await keep('a key used before', api.callIn({}, headers));
  await keep('a bad key', api.call('POST', '/v1/sync', { body: {}, headers: { 'idempotency-key': 'é' } }));
  await keepLinkRefusals(world, keep);
  await keep('too many requests', tooOften(world));
  for (const [what, path, more] of [
    ['an address that cannot be decoded', '/v1/jobs/%ZZ', {}],
    ['headers beyond what is read', '/healthz', { filler: 'x'.repeat(40_000) }],
  ] as const) {
    const answer = await raw(world.sandbox.base_url, { method: 'GET', path, headers: more });
    const request_id = answer.headers['x-request-id'];
    found.push({ what, status: answer.status, request_id: `${request_id}`, body: JSON.parse(answer.text) });
  }
  found.push(await notHttp(world));
  return found;
}

async function keepLinkRefusals(
  world: TestSandbox,
  keep: (what: string, asked: Promise<Answer>) => Promise<void>,
): Promise<void> {
  const steps = linkSteps(world);
  const headers = { access_token: null };
  const create = (body: object) => world.api.call('POST', '/link/token/create', { body, headers });
  const { org_id } = world.sandbox;
  await keep('a personal user_id', create({ user_id: 'jane@example.org', org_id }));
  await keep('an unknown EMR', create({ user_id: 'u', org_id: 'o', emr_name: 'epic' }));
  await keep('another domain', create({ user_id: 'u', org_id, emr_instance_domain: 'https://emr.example.org' }));
  await keep('an unknown callback', create({ user_id: 'u', org_id, callback_url: 'https://example.org' }));
  await keep('update mode for nobody', create({ user_id: 'u', org_id, access_token: 'x' }));
  await keep('a bad webhook address', world.api.call('POST', '/v1/webhook', { body: { webhook_url: 'ftp://x' } }));
  await keep('an unknown public token', steps.exchange('pt_x'));
  await keep('an unknown link token', steps.signIn('lt_x', 1));
  const token = await steps.linkToken();
  const wrong = { username: world.sandbox.larkspur.staff[1]?.username, password: 'wrong' };
  await keep('a wrong password', steps.signIn(token, 1, { credentials: wrong }));
  await keep('no code', steps.signIn(token, 1, { one_time_code: undefined }));
  await keep('a wrong code', steps.signIn(token, 1, { one_time_code: '000000' }));
  const nowhere = await steps.linkToken({ emr_instance_domain: `http://127.0.0.1:${await freePort()}` });
  await keep('an EMR that is down', steps.signIn(nowhere, 1));
}

/** A process of the same service that grants one request in a long while, and is asked twice. */
async function tooOften(world: TestSandbox): Promise<Answer> {
  const config = loadConfig({ ...world.env, PORT: '0', RATE_LIMIT: '1', RATE_BURST: '1' });
  const { base_url, close } = await startService(config, { role: 'api', print: () => {} });
  try {
    const client = await newClient(world);
    const api = apiOf({ ...world, sandbox: { ...world.sandbox, base_url } }, client);
    const asked = await Promise.all(
      Array.from({ length: 6 }, () => api.call('GET', '/link/emrs', { headers: { access_token: null } })),
    );
    const refused = asked.find(({ status }) => status === 429);
    if (!refused) throw new Error('Nothing was refused.');
    return refused;
  } finally {
    await close();
  }
}

async function notHttp(world: TestSandbox): Promise<Refusal> {
  const { port, hostname } = new URL(world.sandbox.base_url);
  const text = await new Promise<string>((resolve, reject) => {
    let received = '';
    const socket = createConnection(Number(port), hostname, () => socket.write('NONSENSE\r\n\r\n'));
    socket.on('data', (chunk) => {
      received += chunk.toString();
    });
    socket.on('close', () => resolve(received));
    socket.on('error', reject);
  });
  const [head = '', body = ''] = text.split('\r\n\r\n');
  const request_id = /x-request-id: (\w+)/i.exec(head)?.[1] ?? null;
  return { what: 'what is not HTTP', status: Number(head.split(' ')[1]), request_id, body: JSON.parse(body) };
}

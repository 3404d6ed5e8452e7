import { createServer } from 'node:http';

/** The part of a sandbox's sandbox.json that is used here. */
export type Sandbox = {
  base_url: string;
  client_id: string;
  client_secret: string;
  access_token: string;
  dashboard: { url: string; email: string; password: string };
  example: { patient_mrn: string; provider_id: string; location_id: string; assigned_to_id: string };
  larkspur: { url: string; control_token: string };
};

/**
 * Fills a new sandbox with a day of an ordinary practice: calls that were saved, four causes of failures, an endpoint that
 * works and one that does not. Stop the returned receivers after the last screenshot.
 */
export async function seed(sandbox: Sandbox): Promise<{ stop: () => void }> {
  const { patient_mrn, provider_id, location_id, assigned_to_id } = sandbox.example;
  await finished(sandbox, first_sync);
  const working = await startReceiver(4880, 200, 'ok');
  const broken = await startReceiver(4881, 503, 'upstream is down');
  for (const webhook_url of [working.url, broken.url]) await send(sandbox, 'POST', '/v1/webhook', { webhook_url });

  const call = { provider_id, location_id, assigned_to_id, caller: 'Test caller' };
  const write = async (fields: Record<string, unknown>, path = '/v1/telephone-encounters') =>
    finished(sandbox, (await send(sandbox, 'POST', path, fields)).job_id);
  for (const [n, reason] of reasons.entries()) {
    await write({ ...call, patient_mrn: mrn(n), reason, message: `${reason}: please call back.` });
  }
  for (const n of [2, 5, 7, 11]) {
    const refill = { reason: 'Refill', message: 'Asks for a refill.', refill_medication_name: 'Unlistedol' };
    await write({ ...call, ...refill, patient_mrn: mrn(n) });
  }
  const locked = { operation: 'create_telephone_encounter', kind: 'refuse', times: 3, reason: 'This chart is locked.' };
  await control(sandbox, '/control/faults', locked);
  for (const n of [3, 3, 9]) {
    await write({ ...call, patient_mrn: mrn(n), reason: 'Question', message: 'Question about a bill.' });
  }
  const year = new Date().getUTCFullYear() + 2;
  const away = { providerId: provider_id, startsAt: `07/09/${year} 10:00`, minutes: 60, reason: 'Away' };
  await control(sandbox, '/control/blocks', away);
  const visit = { provider: provider_id, location: location_id, type: 'FU', prevent_double_booking: 'true' };
  for (const n of [4, 6]) {
    await write({ ...visit, mrn: mrn(n), datetime: `${year}-07-09T10:00:00-04:00` }, '/v1/appointments');
  }
  await write({ ...visit, mrn: mrn(8), datetime: `${year}-07-08T10:00:00-04:00` }, '/v1/appointments');

  // Requests that the API rejects.
  await send(sandbox, 'POST', '/v1/telephone-encounters', { patient_mrn, reason: 'Question' });
  await send(sandbox, 'GET', '/v1/patient');
  await send({ ...sandbox, client_secret: 'cs_test_wrong' }, 'GET', '/v1/providers');
  for (const path of ['/v1/providers', '/v1/locations', '/v1/visit-types', '/v1/patients']) {
    await send(sandbox, 'GET', path);
  }
  const stop = () => {
    working.stop();
    broken.stop();
  };
  return { stop };
}

/** A token for Link to connect an account of a new practice. */
export async function createLinkToken(sandbox: Sandbox): Promise<string> {
  const account = { org_id: 'riverside-practice', user_id: 'user-17' };
  const emr = { emr_name: 'larkspur', emr_instance_domain: sandbox.larkspur.url };
  const { token } = await send(sandbox, 'POST', '/link/token/create', { ...account, ...emr });
  return token;
}

/** The job that fills a new sandbox. */
const first_sync = 1;

const reasons = [
  'Refill question',
  'Lab results',
  'Appointment change',
  'Referral status',
  'Pharmacy change',
  'Insurance question',
  'Follow-up',
  'Form to sign',
  'Medication question',
  'Records request',
];

/** The sandbox's patients are numbered. */
function mrn(n: number): string {
  return `LK${100001 + n}`;
}

async function startReceiver(port: number, status: number, body: string): Promise<{ url: string; stop: () => void }> {
  const server = createServer((request, response) => {
    request.resume().on('end', () => response.writeHead(status, { 'content-type': 'text/plain' }).end(body));
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  return { url: `http://127.0.0.1:${port}/webhooks`, stop: () => server.close() };
}

async function finished(sandbox: Sandbox, job_id: number): Promise<void> {
  for (;;) {
    const { job } = await send(sandbox, 'GET', `/v1/jobs/${job_id}`);
    if (job.finished_at) return;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

// biome-ignore lint/suspicious/noExplicitAny: responses of many endpoints.
type Body = Record<string, any>;

async function send(sandbox: Sandbox, method: string, path: string, body?: Body): Promise<Body> {
  const { client_id, client_secret, access_token } = sandbox;
  const for_client = path === '/v1/webhook' || path === '/link/token/create';
  const headers = { client_id, client_secret, ...(for_client ? {} : { access_token }) };
  return exchange(sandbox.base_url + path, method, headers, body);
}

async function control({ larkspur }: Sandbox, path: string, body: Body): Promise<Body> {
  return exchange(larkspur.url + path, 'POST', { 'control-token': larkspur.control_token }, body);
}

async function exchange(url: string, method: string, headers: Record<string, string>, body?: Body): Promise<Body> {
  const response = await fetch(url, {
    method,
    headers: body ? { ...headers, 'content-type': 'application/json' } : headers,
    body: body ? JSON.stringify(body) : null,
  });
  return (await response.json()) as Body;
}

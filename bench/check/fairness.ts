import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Api } from './api.ts';
import type { Check } from './check.ts';
import type { Attacker, Installation } from './installation.ts';

/**
 * Whatever hangs for one client, another client's work starts within two seconds, and 95 % of the first attempts to
 * deliver its events start within one.
 */
export const fairnessChecks: readonly Check<Installation>[] = [
  {
    name: 'fairness:hanging-emr',
    limit: 2,
    unit: 's',
    measure: (installation) =>
      installation.withAttacker(24, async (attacker) => {
        await attacker.setEmr('hang');
        await fetchPatients(attacker, 8);
        return longest(() => jobStart_s(installation));
      }),
  },
  {
    name: 'fairness:hanging-webhooks',
    limit: 1,
    unit: 's (p95)',
    measure: (installation) =>
      installation.withAttacker(4, (attacker) =>
        withReceivers(async ({ hanging_url, responding_url, received }) => {
          const [account] = attacker.accounts;
          for (let n = 0; n < 200; n++)
            await account?.call('POST', '/v1/webhook', { webhook_url: `${hanging_url}/${n}` });
          const { webhook_id } = await installation.other.call('POST', '/v1/webhook', { webhook_url: responding_url });
          const jobs = await fetchPatients(attacker, 5);
          for (const { account, job_id } of jobs) await account.untilJob(job_id, 'finished_at');
          try {
            return await p95(() => firstAttempt_s(installation, received));
          } finally {
            await installation.other.call('DELETE', `/v1/webhook/${webhook_id}`);
          }
        }),
      ),
  },
  {
    name: 'fairness:trickled-uploads',
    limit: 2,
    unit: 's',
    measure: (installation) =>
      installation.withAttacker(1, async ({ accounts: [account] }) => {
        if (!account) throw new Error('The attacker has no account.');
        const uploads = Array.from({ length: 24 }, () => trickleUpload(account));
        try {
          return await longest(() => upload_s(installation));
        } finally {
          for (const upload of uploads) upload.end();
        }
      }),
  },
];

const samples = 8;

async function longest(measure: () => Promise<number>): Promise<number> {
  return Math.max(...(await repeat(measure, samples)));
}

/** The 95th percentile. */
async function p95(measure: () => Promise<number>): Promise<number> {
  const figures = await repeat(measure, 40);
  return figures.toSorted((a, b) => a - b)[Math.ceil(figures.length * 0.95) - 1] ?? Number.NaN;
}

/** One after the other, so that they cover the first seconds of the attack. */
async function repeat(measure: () => Promise<number>, times: number): Promise<number[]> {
  const figures: number[] = [];
  for (let n = 0; n < times; n++) figures.push(await measure());
  return figures;
}

/** Searches the EMR for patients, from every account. */
async function fetchPatients({ accounts }: Attacker, per_account: number): Promise<{ account: Api; job_id: number }[]> {
  const numbers = Array.from({ length: per_account }, (_, n) => n);
  const searches = accounts.flatMap((account) => numbers.map((n) => ({ account, mrn: `BENCH${n}` })));
  return Promise.all(
    searches.map(async ({ account, mrn }) => {
      const { job_id } = await account.call('POST', '/v1/patients/fetch', { search_by: 'mrn', mrn });
      return { account, job_id };
    }),
  );
}

async function sendEncounter({ other, sandbox }: Installation): Promise<number> {
  const { patient_mrn, provider_id, location_id, assigned_to_id } = sandbox.example;
  const body = { patient_mrn, provider_id, location_id, assigned_to_id, reason: 'bench' };
  return (await other.call('POST', '/v1/telephone-encounters', body)).job_id;
}

/** From the acceptance of a job to its start. The next one is sent when it has finished. */
async function jobStart_s(installation: Installation): Promise<number> {
  const { other } = installation;
  const job_id = await sendEncounter(installation);
  const { created_ms, at_ms } = await other.untilJob(job_id, 'started_at');
  await other.untilJob(job_id, 'finished_at');
  return (at_ms - created_ms) / 1000;
}

/** From the end of a job to the first attempt to deliver its event. */
async function firstAttempt_s(installation: Installation, received: Received): Promise<number> {
  const job_id = await sendEncounter(installation);
  const { at_ms } = await installation.other.untilJob(job_id, 'finished_at');
  return Math.max(0, (await received(job_id)) - at_ms) / 1000;
}

/** When the event of a job arrived. */
type Received = (job_id: number) => Promise<number>;

/** An address that never responds, and one that does. */
async function withReceivers<T>(
  work: (receivers: { hanging_url: string; responding_url: string; received: Received }) => Promise<T>,
): Promise<T> {
  const arrived = new Map<string, number>();
  const waiting = new Map<string, () => void>();
  const server = createServer(async (incoming, outgoing) => {
    if (incoming.url?.startsWith('/hanging')) return;
    const at_ms = Date.now();
    let body = '';
    for await (const chunk of incoming) body += chunk;
    const { job_id } = JSON.parse(body);
    arrived.set(`${job_id}`, at_ms);
    waiting.get(`${job_id}`)?.();
    outgoing.end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const received = async (job_id: number) => {
    const key = `${job_id}`;
    if (!arrived.has(key)) await new Promise<void>((resolve) => waiting.set(key, resolve));
    return arrived.get(key) ?? Number.NaN;
  };
  try {
    return await work({ hanging_url: `${url}/hanging`, responding_url: `${url}/responding`, received });
  } finally {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
}

/** Sends a form one byte at a time. */
function trickleUpload({ base_url, headers }: Api): { end(): void } {
  const form = { 'content-type': 'multipart/form-data; boundary=bench', 'transfer-encoding': 'chunked' };
  const sent = request(`${base_url}/v1/documents`, { method: 'POST', headers: { ...headers, ...form }, agent: false });
  // Refused or closed: the attack is over, which is what should happen.
  sent.on('error', () => {});
  sent.write('--bench\r\ncontent-disposition: form-data; name="document"; filename="a.pdf"\r\n\r\n%PDF-1.4\n');
  const timer = setInterval(() => sent.write('x'), 200);
  sent.on('close', () => clearInterval(timer));
  return { end: () => sent.destroy() };
}

/** A valid document of 1 MB: the padding is a comment. */
function pdf(): Buffer {
  const head = `%PDF-1.4\n1 0 obj << /Type /Catalog /Pages 2 0 R >> endobj\n2 0 obj << /Type /Pages /Kids [] /Count 0 >> endobj\n%${'x'.repeat(1_000_000)}\n`;
  const xref = 'xref\n0 3\n0000000000 65535 f \n0000000009 00000 n \n0000000058 00000 n \n';
  return Buffer.from(`${head}${xref}trailer << /Size 3 /Root 1 0 R >>\nstartxref\n${head.length}\n%%EOF\n`);
}

async function upload_s({ other, sandbox }: Installation): Promise<number> {
  const form = new FormData();
  form.set('folder_name', 'Bench');
  form.set('patient_mrn', sandbox.example.patient_mrn);
  form.set('document', new Blob([pdf()]), 'bench.pdf');
  const start = performance.now();
  await other.call('POST', '/v1/documents', form);
  return (performance.now() - start) / 1000;
}

import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { type Api, createApi } from './api.ts';
import type { Check } from './check.ts';
import type { Installation } from './installation.ts';
import { residentMb, watch } from './watch.ts';

/** A large practice is exported in bounded memory, whatever the size of its files. */
export const bulkExportChecks: readonly Check<Installation>[] = [
  { name: 'bulk-export:memory', limit: 300, unit: 'MB', measure: exportPractice },
];

const patients = 100_000;

/** Reads a practice by bulk export, and returns by how much the memory of the service has grown at most. */
async function exportPractice({ pid, sandbox, other }: Installation): Promise<number> {
  const server = await startExportServer();
  try {
    const { call } = createApi(sandbox.base_url, {
      client_id: sandbox.client_id,
      client_secret: sandbox.client_secret,
    });
    const who = { user_id: 'exported', org_id: `exported-${server.port}` };
    const link = { ...who, emr_name: 'fhir', emr_instance_domain: `http://127.0.0.1:${server.port}/fhir` };
    const { token: link_token } = await call('POST', '/link/token/create', link);
    const credentials = { way: 'bearer_token', bearer_token: 'synthetic' };
    const { public_token } = await call('POST', '/sandbox/public_token/create', { link_token, credentials });
    const { token } = await call('GET', `/link/token/exchange?public_token=${public_token}`);
    const api = createApi(sandbox.base_url, { ...other.headers, access_token: token });
    const before_mb = await residentMb(pid);
    let peak_mb = before_mb;
    let done = false;
    const watching = watch(
      () => done,
      async () => {
        peak_mb = Math.max(peak_mb, await residentMb(pid));
      },
    );
    try {
      await readPractice(api);
    } finally {
      done = true;
      await watching;
    }
    await api.call('DELETE', '/v1/account');
    return peak_mb - before_mb;
  } finally {
    server.close();
  }
}

async function readPractice(api: Api): Promise<void> {
  const { job_id } = await api.call('POST', '/v1/sync', {});
  await api.untilJob(job_id, 'finished_at');
  // Linking has started a sync, too: one of the two reads the files.
  let stored = 0;
  for (let waited_s = 0; stored < patients && waited_s < 600; waited_s++) {
    stored = (await api.call('GET', '/v1/patients?page_size=1')).pagination.total_count;
    if (stored < patients) await pause(1000);
  }
  if (stored !== patients) throw new Error(`${stored} of ${patients} patients were read.`);
}

/** A FHIR server that has one list, and returns it by export only: as a single file, which it composes while it sends. */
async function startExportServer(): Promise<{ port: number; close(): void }> {
  const server = createServer((request, response) => void respond(request, response));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

async function respond({ url = '', method, headers }: IncomingMessage, response: ServerResponse): Promise<void> {
  const base = `http://${headers.host}/fhir`;
  const send = (status: number, body: object) =>
    response.writeHead(status, { 'content-type': 'application/fhir+json' }).end(JSON.stringify(body));
  if (url === '/fhir/metadata') return void send(200, statement);
  if (url.startsWith('/fhir/Patient/$export')) {
    return void response.writeHead(202, { 'content-location': `${base}/status` }).end();
  }
  if (url === '/fhir/status' && method === 'DELETE') return void response.writeHead(202).end();
  if (url === '/fhir/status') {
    const output = [{ type: 'Patient', url: `${base}/files/patients`, count: patients }];
    return void send(200, { transactionTime: new Date().toISOString(), requiresAccessToken: true, output, error: [] });
  }
  if (url !== '/fhir/files/patients') {
    const issue = [{ severity: 'error', code: url.startsWith('/fhir/Patient?') ? 'required' : 'not-found' }];
    return void send(url.startsWith('/fhir/Patient?') ? 400 : 404, { resourceType: 'OperationOutcome', issue });
  }
  response.writeHead(200, { 'content-type': 'application/fhir+ndjson' });
  await pipeline(Readable.from(composeLines()), response);
}

function* composeLines(): Generator<string> {
  for (let n = 0; n < patients; n++) yield `${JSON.stringify(toPatient(n))}\n`;
}

const statement = {
  resourceType: 'CapabilityStatement',
  fhirVersion: '4.0.1',
  software: { name: 'Export only' },
  rest: [
    {
      mode: 'server',
      resource: [
        {
          type: 'Patient',
          interaction: [{ code: 'read' }, { code: 'search-type' }],
          searchParam: [{ name: 'identifier', type: 'token' }],
          operation: [
            { name: 'export', definition: 'http://hl7.org/fhir/uv/bulkdata/OperationDefinition/patient-export' },
          ],
        },
      ],
    },
  ],
};

/** About 2 KB, as a US Core patient with a narrative has. */
function toPatient(n: number): object {
  return {
    resourceType: 'Patient',
    id: `synthetic-${n}`,
    meta: { lastUpdated: '2031-03-03T00:00:00Z', versionId: '1' },
    text: { status: 'generated', div: `<div>${`Synthetic patient ${n}. `.repeat(60)}</div>` },
    active: true,
    identifier: [{ type: { coding: [{ code: 'MR' }] }, system: 'urn:synthetic', value: `BENCH${n}` }],
    name: [{ use: 'official', family: `Placeholder${n % 997}`, given: [`Synthetic${n % 991}`] }],
    gender: 'unknown',
    birthDate: '1990-05-14',
    telecom: [{ system: 'phone', use: 'home', value: '518-555-0100' }],
    address: [{ use: 'home', line: ['1 Placeholder Lane'], city: 'Exampleton', state: 'NY', postalCode: '12999' }],
  };
}

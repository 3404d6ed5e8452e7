import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/**
 * A FHIR server that lists its patients by bulk export only, in a process of its own: neither its work nor its memory
 * must count as the service's. Files are written line by line.
 */
const [, , patients_text = '100000'] = process.argv;
const patients = Number(patients_text);
const lines_per_file = 10_000;
const files = Math.ceil(patients / lines_per_file);

const read_search = [{ code: 'read' }, { code: 'search-type' }];
const statement = {
  resourceType: 'CapabilityStatement',
  status: 'active',
  kind: 'instance',
  fhirVersion: '4.0.1',
  format: ['json'],
  rest: [
    {
      mode: 'server',
      resource: [
        {
          type: 'Patient',
          interaction: [{ code: 'read' }],
          operation: [
            { name: 'export', definition: 'http://hl7.org/fhir/uv/bulkdata/OperationDefinition/patient-export' },
          ],
        },
        { type: 'Practitioner', interaction: read_search },
        { type: 'Location', interaction: read_search },
      ],
    },
  ],
};

const others: Record<string, object> = {
  Practitioner: { resourceType: 'Practitioner', id: 'prac-1', active: true, name: [{ family: 'Bench' }] },
  Location: { resourceType: 'Location', id: 'loc-1', status: 'active', name: 'Bench', type: [{ text: 'Clinic' }] },
};

/** About 1.8 KB, as vendors return patients. */
function patient(n: number): object {
  const line = `${n} Synthetic Street`;
  return {
    resourceType: 'Patient',
    id: `bench-${n}`,
    meta: { versionId: '1', lastUpdated: '2026-11-18T09:00:00Z', profile: [`${us_core}/us-core-patient`] },
    text: { status: 'generated', div: `<div xmlns="http://www.w3.org/1999/xhtml">${'x'.repeat(600)}</div>` },
    extension: ['race', 'ethnicity'].map((name) => ({
      url: `${us_core}/us-core-${name}`,
      extension: [{ url: 'text', valueString: 'Unknown' }],
    })),
    identifier: [
      {
        type: { coding: [{ system: 'http://terminology.hl7.org/CodeSystem/v2-0203', code: 'MR' }] },
        system: 'urn:oid:1.2.3.4',
        value: `MB${n}`,
      },
    ],
    active: true,
    name: [{ use: 'official', family: `Bench${n}`, given: ['Synthetic', `Person${n % 97}`] }],
    telecom: [{ system: 'phone', value: `518-555-${String(n % 10_000).padStart(4, '0')}`, use: 'home' }],
    gender: n % 2 === 0 ? 'female' : 'male',
    birthDate: new Date(Date.UTC(1930, 0, 1 + (n % 30_000))).toISOString().slice(0, 10),
    address: [{ use: 'home', line: [line], city: 'Albany', state: 'NY', postalCode: '12201' }],
  };
}

const us_core = 'http://hl7.org/fhir/us/core/StructureDefinition';

async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
  await request.resume().toArray();
  const { pathname } = new URL(request.url ?? '/', base);
  const [, , first = '', second = ''] = pathname.split('/');
  const file = Number(second);
  if (pathname === '/fhir/.well-known/smart-configuration') return send(response, { token_endpoint: `${base}/token` });
  if (pathname === '/fhir/token') {
    return send(response, {
      access_token: 'synthetic',
      token_type: 'Bearer',
      expires_in: 3600,
      scope: 'system/*.read',
    });
  }
  if (first === 'metadata') return send(response, statement);
  if (pathname === '/fhir/Patient/$export') {
    response.writeHead(202, { 'content-location': `${base}/status` }).end();
    return;
  }
  if (first === 'status')
    return request.method === 'DELETE' ? void response.writeHead(202).end() : send(response, manifest());
  if (first === 'files' && file < files) return sendFile(response, file);
  const record = others[first];
  if (!record) return void response.writeHead(404).end();
  send(response, { resourceType: 'Bundle', type: 'searchset', total: 1, entry: [{ resource: record }] });
}

function manifest(): object {
  const output = Array.from({ length: files }, (_, n) => ({
    type: 'Patient',
    url: `${base}/files/${n}`,
    count: Math.min(lines_per_file, patients - n * lines_per_file),
  }));
  return { transactionTime: new Date().toISOString(), requiresAccessToken: true, output, error: [] };
}

async function sendFile(response: ServerResponse, file: number): Promise<void> {
  response.writeHead(200, { 'content-type': 'application/fhir+ndjson' });
  const end = Math.min(patients, (file + 1) * lines_per_file);
  for (let n = file * lines_per_file; n < end; n++) {
    if (!response.write(`${JSON.stringify(patient(n))}\n`)) await once(response, 'drain');
  }
  response.end();
}

function send(response: ServerResponse, body: object): void {
  response.writeHead(200, { 'content-type': 'application/fhir+json' }).end(JSON.stringify(body));
}

const server = createServer((request, response) => void handle(request, response));
server.listen(0, '127.0.0.1');
await once(server, 'listening');
const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}/fhir`;
process.stdout.write(`${base} is ready\n`);

import { afterAll, beforeAll, expect, test } from 'vitest';
import { expectApiError } from '../api/support.ts';
import type { Api } from '../harness/api.ts';
import { documents } from '../harness/documents.ts';
import { linkFhir } from '../harness/fhir/linkFhir.ts';
import { type FhirServer, startFhirServer } from '../harness/fhir/startFhirServer.ts';
import { signInOperator } from '../harness/operator.ts';
import { startSandbox, type TestSandbox } from '../harness/sandbox.ts';
import { sendDocument } from '../spec/support/sendDocument.ts';
import { until } from './support.ts';

let fixture: TestSandbox;
let server: FhirServer;
let api: Api & { access_token: string };
beforeAll(async () => {
  [fixture, server] = await Promise.all([startSandbox({ small: true }), startFhirServer({ data: 'small' })]);
  server.faults.withheld = { Appointment: 'all', ServiceRequest: 'all', Slot: 'all', Claim: 'all' };
  api = await linkFhir(fixture, server, { user_id: 'limited', org_id: 'limited' });
  Object.assign(server.faults, { json_bytes_max: 1_000_000, raw_bytes_max: 1_000_000 });
});
afterAll(async () => {
  await fixture.close();
  await server.close();
});

const send = (bytes: number) => {
  const content = Buffer.concat([documents.pdf, Buffer.alloc(bytes - documents.pdf.length, 32)]);
  return sendDocument(fixture, { patient_mrn: 'MB100001' }, content, { access_token: api.access_token });
};

const awaitState = ({ body }: { body: { document_id: string } }) =>
  until('the upload', async () => {
    const [job] = await fixture.owner<{ state: string }[]>`SELECT state FROM jobs
      WHERE operation_id = ${body.document_id} AND finished_at IS NOT NULL`;
    return job?.state;
  });

async function evidence() {
  const { body } = await (await signInOperator(fixture)).get('clients/{client}/accounts');
  // biome-ignore lint/suspicious/noExplicitAny: a test reads the fields it expects
  const { accounts } = body.organizations.find((each: any) => each.org_id === 'limited');
  return accounts[0].evidence.find(({ capability }: { capability: string }) => capability === 'uploadDocument').detail;
}

test('a document over the known limit of the server is refused in the request, which names the limit', async () => {
  expect(await evidence()).toBeNull();
  expect(await awaitState(await send(1_500_000))).toBe('failed');
  const message = 'document exceeds the EMR’s limit of 1.4 MB per document.';
  expectApiError(await send(1_500_000), 400, message, 'document');
  expect(await evidence()).toBe('Up to 1.4 MB per document.');
  const { body } = await api.call('GET', '/v1/account/connection-report');
  expect(body.data.findings).toContain('Documents: up to 1.4 MB each.');
  expect(await awaitState(await send(900_000))).toBe('succeeded');
  expect(await evidence()).toBe('Up to 1.4 MB per document.');
});

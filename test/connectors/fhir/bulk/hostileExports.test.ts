import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { ExportBatch, ExportManifest } from '../../../../src/emr/bulkExports.ts';
import { createExporter } from '../../../../src/emr/fhir/bulk/exporter.ts';
import { readFile } from '../../../../src/emr/fhir/bulk/files.ts';
import { openSession } from '../../../../src/emr/fhir/transport/client.ts';
import { awaitFailure, createEndpoint } from '../../larkspur/fixture.ts';

/** A server that answers as each test says, with the requests that it got. */
let respond: (request: IncomingMessage, response: ServerResponse) => void;
const requests: { path: string; authorization: string | undefined }[] = [];
const server = createServer((request, response) => {
  requests.push({ path: request.url ?? '', authorization: request.headers.authorization });
  respond(request, response);
});
let base: string;
beforeAll(async () => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}/r4`;
});
beforeEach(() => {
  requests.length = 0;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

const access = {
  credentials: { way: 'bearer_token', bearer_token: 'synthetic' },
  grant: { access_token: 'synthetic-token', server: JSON.stringify({ types: {}, export: { path: 'Patient' } }) },
  saveGrant: async () => {},
};
const open = (settings: object = {}) => createExporter({ ...createEndpoint(base), ...settings }, access);

function answer(status: number, body: unknown, headers: Record<string, string> = {}): typeof respond {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return (_request, response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(text);
  };
}

const page = (fields: object) => ({ transactionTime: '2026-11-18T09:00:00Z', output: [], ...fields });

test.each([
  ['a page of another system', answer(200, '<html>Welcome</html>', { 'content-type': 'text/html' })],
  ['JSON that is cut off', answer(200, '{"transactionTime":"2026-11-18T09:00:00Z","output":[')],
  ['nothing', answer(200, '')],
  ['a list', answer(200, [page({})])],
  ['JSON of a thousand levels', answer(200, `${'['.repeat(1000)}${']'.repeat(1000)}`)],
])('a manifest that is %s is unreadable, and is asked for again', async (_what, response) => {
  respond = response;
  expect(await awaitFailure(open().poll(`${base}/status/1`))).toMatchObject({ kind: 'unavailable' });
});

test.each([
  ['the same page', () => `${base}/status/1?page=1`],
  ['ever new pages', () => `${base}/status/1?page=${requests.length}`],
])('a manifest that goes on for ever with %s is refused', async (_what, next) => {
  const output = Array.from({ length: 2000 }, (_, n) => ({
    type: 'Patient',
    url: `${base}/files/${'x'.repeat(900)}${n}`,
  }));
  respond = (request, response) =>
    answer(200, page({ output, link: [{ relation: 'next', url: next() }] }))(request, response);
  const failure = await awaitFailure(open().poll(`${base}/status/1`));
  expect(failure).toMatchObject({ kind: 'refused', message: expect.stringContaining('more files') });
  expect(requests.length).toBeLessThan(25);
});

test.each([
  ['https://10.0.0.1/status/1', 'another host'],
  ['http://169.254.169.254/latest/meta-data', 'another host'],
  ['https://elsewhere.example.org/other/status/1', 'another host'],
  ['file:///etc/passwd', 'another host'],
])('the token is not sent to %s, which the server names as the state of its export', async (location, reason) => {
  respond = answer(202, '', { 'content-location': location });
  const failure = await awaitFailure(open().kickOff(undefined));
  expect(failure).toMatchObject({ kind: 'refused', message: expect.stringContaining(reason) });
  expect(requests.map(({ path }) => path.split('?')[0])).toStrictEqual(['/r4/Patient/$export']);
});

test('a redirect of the state of an export is not followed', async () => {
  respond = answer(302, '', { location: 'http://10.0.0.1/' });
  expect(await awaitFailure(open().poll(`${base}/status/1`))).toMatchObject({ kind: 'refused' });
  expect(requests).toHaveLength(1);
});

type Batches = { records: string[]; codes: string[] };

async function download(
  file: Partial<ExportManifest['files'][number]> = {},
  { idle_ms, ...settings }: { idle_ms?: number; search_params?: Record<string, string> } = {},
): Promise<Batches> {
  const endpoint = { ...createEndpoint(base), ...settings };
  const requested = { holds: 'records' as const, type: 'Patient', url: `${base}/files/1`, count: undefined, ...file };
  const manifest = { as_of: '2026-11-18T09:00:00Z', requires_token: true, names_deleted: false, files: [requested] };
  const received: Batches = { records: [], codes: [] };
  const server = { endpoint, session: openSession(endpoint, access), base: new URL(base), ...(idle_ms && { idle_ms }) };
  await readFile(server, { file: requested, manifest, types: ['Patient'] }, async (batch: ExportBatch) => {
    if (batch.holds === 'errors') received.codes.push(...batch.codes);
    else received.records.push(...batch.lines);
  });
  return received;
}

const patient = (fields: object = {}) => JSON.stringify({ resourceType: 'Patient', id: 'p-1', ...fields });

test.each([
  ['is a page', '<html>\nWelcome\n</html>'],
  ['is cut off', patient().slice(0, -5)],
  ['has records of another type', patient({ resourceType: 'Observation' })],
  ['has a record without an ID', patient({ id: undefined })],
  ['has an ID that is a number', patient({ id: 4711 })],
  ['has fewer records than the manifest says', patient()],
])('a file that %s is incomplete', async (_what, text) => {
  respond = answer(200, text, { 'content-type': 'text/html' });
  expect(await awaitFailure(download({ count: 2 }))).toMatchObject({ kind: 'unavailable' });
});

test.each([
  ['an ID of a thousand characters', () => ({ id: 'x'.repeat(1000) })],
  ['a line of 9 MB', () => ({ note: 'x'.repeat(9_000_000) })],
  ['a record of 200 levels', () => ({ deep: JSON.parse(`${'['.repeat(200)}${']'.repeat(200)}`) })],
])('a file with %s is refused', async (_what, fields) => {
  respond = answer(200, patient(fields()));
  const { kind, message } = await awaitFailure(download());
  expect([kind, message]).toStrictEqual([
    'refused',
    expect.stringMatching(/^A record of the export (is too large|has no usable ID)\.$/),
  ]);
});

test('a record of another practice, and one of none, is not used', async () => {
  const extension = (practice: string) => [
    { url: 'https://emr.example.org/StructureDefinition/ah-practice', valueString: practice },
  ];
  const search_params = { 'ah-practice': 'own' };
  respond = answer(200, patient({ extension: extension('own') }));
  expect((await download({}, { search_params })).records).toHaveLength(1);
  respond = answer(
    200,
    `${patient({ extension: extension('own') })}\n${patient({ id: 'p-2', extension: extension('other') })}`,
  );
  expect((await awaitFailure(download({}, { search_params }))).message).toContain('another practice');
  respond = answer(200, patient());
  expect((await awaitFailure(download({}, { search_params }))).message).toContain('do not name their practice');
});

test('codes of errors that are not of FHIR are not repeated', async () => {
  const issue = [
    { severity: 'error', code: 'processing' },
    { severity: 'error', code: 'wren-willa' },
    null,
    { code: 7 },
  ];
  respond = answer(200, JSON.stringify({ resourceType: 'OperationOutcome', issue }));
  const { codes } = await download({ holds: 'errors', type: 'OperationOutcome' });
  expect(codes).toStrictEqual(['processing', 'unknown', 'unknown', 'unknown']);
});

test('a file of which nothing more arrives is given up', async () => {
  respond = (_request, response) => void response.writeHead(200).write(`${patient()}\n`);
  expect(await awaitFailure(download({}, { idle_ms: 300 }))).toMatchObject({ kind: 'unavailable' });
});

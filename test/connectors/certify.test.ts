import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type * as fhir from 'fhir/r4.js';
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { certifyCommand } from '../../src/cli/certify.ts';
import { loadConfig } from '../../src/config.ts';
import { type FhirServer, startFhirServer } from '../harness/fhir/startFhirServer.ts';

let server: FhirServer;
let folder: string;
let file: string;
let secret: string;
beforeAll(async () => {
  server = await startFhirServer({ data: 'small' });
  folder = await mkdtemp(join(tmpdir(), 'certify-'));
  file = join(folder, 'me.json');
  const { client_id, client_secret } = server.clients.confidential;
  secret = client_secret;
  await writeFile(file, JSON.stringify({ way: 'client_secret', client_id, client_secret }));
});
afterAll(async () => {
  await rm(folder, { recursive: true });
  await server.close();
});
beforeEach(() => {
  process.exitCode = undefined;
  server.calm();
});
afterAll(() => {
  process.exitCode = undefined;
});

type Values = Parameters<typeof certifyCommand>[2];

/** What the command prints, and how it ends. */
async function certify(more: Values = {}): Promise<{ printed: string; code: typeof process.exitCode }> {
  const out = vi.spyOn(process.stdout, 'write').mockReturnValue(true);
  const config = loadConfig({ SANDBOX: 'on' });
  await certifyCommand(config, 'fhir', { address: server.url, 'credentials-file': file, ...more });
  const printed = out.mock.calls.map(([text]) => String(text)).join('');
  out.mockRestore();
  return { printed, code: process.exitCode };
}

test('a live EMR is read and not written to unless told, and the card shows no value of a record and no secret', async () => {
  const { printed, code } = await certify();
  expect(printed).toContain('writes nothing');
  expect(printed).toMatch(/FHIR R4: \d+ promises kept, 0 broken/);
  expect(printed).toContain('no synthetic records may be written here');
  expect(code).toBeUndefined();
  expect(server.writes()).toEqual([]);
  expect(printed).not.toContain(secret);
  for (const { name = [] } of await server.resources<fhir.Patient>('Patient')) {
    for (const { family } of name) expect(printed).not.toContain(family);
  }
});

test('told to write, it says plainly what it writes and where', async () => {
  const { printed } = await certify({ 'write-synthetic-records': true });
  expect(printed).toContain(`Writing synthetic records to ${new URL(server.url).host}`);
  expect(printed).toContain('They are not removed.');
  expect(server.writes('Patient').length).toBeGreaterThan(0);
  const written = await server.resources<fhir.Patient>('Patient');
  const made = written.filter(({ id }) => !id?.startsWith('pat-'));
  expect(made.length).toBeGreaterThan(0);
  for (const { name } of made) expect(name?.[0]?.family).toBe('Certification-Testpatient');
});

test('a broken promise ends it with exit code 1, and the card says which and why', async () => {
  server.faults.forbidden = ['Location'];
  const { printed, code } = await certify();
  expect(code).toBe(1);
  expect(printed).toMatch(/Broken\n {2}listLocations\.rows: it ended as refused/);
});

test('an EMR that lets nobody in is one broken promise, not a hundred', async () => {
  const wrong = join(folder, 'wrong.json');
  await writeFile(
    wrong,
    JSON.stringify({ way: 'client_secret', client_id: 'nobody', client_secret: 'never given out' }),
  );
  const { printed, code } = await certify({ 'credentials-file': wrong });
  expect(code).toBe(1);
  expect(printed).toMatch(/Broken\n {2}sign_in\.good: the sign-in ended as refused \(access\)\n.*\nNot tried/);
  expect(printed).toMatch(/nobody could sign in: .* and \d+ more/);
  expect(printed).not.toContain('never given out');
});

test.for<[string, Values, RegExp]>([
  ['nowhere', {}, /Name a connector: larkspur, fhir/],
  ['fhir', {}, /--address must be/],
  ['fhir', { address: 'https://emr.example' }, /--credentials-file must be/],
  ['fhir', { address: 'https://emr.example', 'credentials-file': 'nowhere.json' }, /is not a JSON object/],
])('what is wrong is one sentence: %s %o', async ([name, values, sentence]) => {
  await expect(certifyCommand(loadConfig({ SANDBOX: 'on' }), name, values)).rejects.toThrow(sentence);
});

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type * as fhir from 'fhir/r4.js';
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { loadConfig } from '../../src/catalog/settings/config.ts';
import { record_kinds } from '../../src/model/records/kinds.ts';
import { certifyCommand } from '../../src/surfaces/cli/certify.ts';
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
  server.reset();
});
afterAll(() => {
  process.exitCode = undefined;
});

type Values = Parameters<typeof certifyCommand>[2];

/** The output of the command and its exit code. */
async function certify(more: Values = {}): Promise<{ printed: string; code: typeof process.exitCode }> {
  const out = vi.spyOn(process.stdout, 'write').mockReturnValue(true);
  const config = loadConfig({ SANDBOX: 'on' });
  await certifyCommand(config, 'fhir', { address: server.url, 'credentials-file': file, ...more });
  const printed = out.mock.calls.map(([text]) => String(text)).join('');
  out.mockRestore();
  return { printed, code: process.exitCode };
}

test('reads a live EMR without writing to it, and prints no record values or secrets', async () => {
  const { printed, code } = await certify();
  expect(printed).toContain('writes nothing');
  expect(printed).toMatch(/FHIR R4: \d+ passed, 0 failed/);
  expect(printed).toContain('writing synthetic records is not allowed');
  expect(code).toBeUndefined();
  expect(server.writes()).toEqual([]);
  expect(printed).not.toContain(secret);
  for (const { name = [] } of await server.resources<fhir.Patient>('Patient')) {
    for (const { family } of name) expect(printed).not.toContain(family);
  }
});

test('announces what it writes, and where, before writing', async () => {
  // That a full run writes no other names is checked in shippedConnectors.test.ts.
  const { printed } = await certify({ 'write-synthetic-records': true, only: 'createPatient.written' });
  expect(printed).toContain(`Writes synthetic records to ${new URL(server.url).host}`);
  expect(printed).toContain('They are not deleted.');
  expect(server.writes('Patient').length).toBeGreaterThan(0);
  const patients = await server.resources<fhir.Patient>('Patient');
  const created = patients.filter(({ id }) => !id?.startsWith('pat-'));
  expect(created.length).toBeGreaterThan(0);
  for (const { name } of created) expect(name?.[0]?.family).toBe('Certification-Testpatient');
});

test('fails on empty lists unless they are named, and skips what needs a record without failing', async () => {
  const empty = await startFhirServer({ data: 'none' });
  // Visit types are never empty: FHIR defines some. A schedule is what they change with.
  await empty.storeUnchecked({
    resourceType: 'Schedule',
    id: 'unused',
    actor: [],
    meta: { lastUpdated: '2026-01-05T08:00:00Z' },
  });
  try {
    const result = await certify({ address: empty.url });
    expect(result.code).toBe(1);
    expect(result.printed).toContain('listPatients.present: the list is empty');
    process.exitCode = undefined;
    const named = await certify({
      address: empty.url,
      'empty-lists': record_kinds.map((kind) => kind.operation).join(),
    });
    expect(named.printed).toMatch(/FHIR R4: \d+ passed, 0 failed/);
    expect(named.printed).toContain('the EMR has no appointments');
    expect(named.code).toBeUndefined();
  } finally {
    await empty.close();
  }
});

test('exits with code 1 after a failed check and prints the reason', async () => {
  server.faults.hidden = ['Location'];
  const { printed, code } = await certify({ only: 'listLocations' });
  expect(code).toBe(1);
  expect(printed).toMatch(/Failed\n {2}listLocations\.present: the list is empty/);
});

test('reports a failed sign-in as one failed check and skips the rest', async () => {
  const withWrongSecret = join(folder, 'wrong.json');
  await writeFile(
    withWrongSecret,
    JSON.stringify({ way: 'client_secret', client_id: 'nobody', client_secret: 'never issued' }),
  );
  const { printed, code } = await certify({ 'credentials-file': withWrongSecret });
  expect(code).toBe(1);
  expect(printed).toMatch(/Failed\n {2}sign_in\.success: the sign-in returned refused \(access\)\n.*\nSkipped/);
  expect(printed).toMatch(/the sign-in failed: .* and \d+ more/);
  expect(printed).not.toContain('never issued');
});

test.for<[string, Values, RegExp]>([
  ['nowhere', {}, /Specify a connector: larkspur, fhir/],
  ['fhir', {}, /--address must be/],
  ['fhir', { address: 'https://emr.example' }, /--credentials-file is required: a JSON file/],
  [
    'fhir',
    { address: 'https://emr.example', 'credentials-file': 'nowhere.json' },
    /cannot read nowhere\.json as a JSON object/,
  ],
])('explains invalid arguments in one sentence: %s %o', async ([name, values, sentence]) => {
  await expect(certifyCommand(loadConfig({ SANDBOX: 'on' }), name, values)).rejects.toThrow(sentence);
});

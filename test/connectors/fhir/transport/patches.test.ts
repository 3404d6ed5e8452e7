import type * as r4 from 'fhir/r4.js';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { readMarkers } from '../../../../src/emr/fhir/transport/creates.ts';
import { type FhirServer, startFhirServer } from '../../../harness/fhir/startFhirServer.ts';
import { awaitFailure } from '../../larkspur/fixture.ts';
import { linkedClient } from '../fixture.ts';

let server: FhirServer;
beforeAll(async () => {
  server = await startFhirServer({ data: 'small' });
});
afterEach(() => {
  server.reset();
  server.ledger.length = 0;
});
afterAll(() => server.close());

async function openPatched() {
  server.faults.patched = ['Patient', 'Appointment', 'Coverage', 'RelatedPerson', 'Slot'];
  const { client } = await linkedClient(server);
  const [patient] = await server.resources<r4.Patient>('Patient');
  server.ledger.length = 0;
  return { client, id: patient?.id ?? '', read: () => client.read<r4.Patient>('Patient', patient?.id ?? '') };
}

const setCity = (city: string) => (current: r4.Patient) => ({
  ...current,
  address: [{ ...current.address?.[0], city }],
});

test('a record is changed by JSON Patch where the server does not take whole records', async () => {
  const { client, id, read } = await openPatched();
  expect(client.capabilities.interactions('Patient').has('update')).toBe(true);
  const { before, after } = await client.update<r4.Patient>('Patient', id, setCity('Patchville'), 'patch-1');
  expect([before.address?.[0]?.city, after.address?.[0]?.city]).not.toStrictEqual(['Patchville', 'Patchville']);
  const [sent] = server.writes('Patient');
  expect(sent).toMatchObject({ method: 'PATCH', performed: true });
  expect(sent?.headers).toMatchObject({
    'content-type': 'application/json-patch+json',
    'if-match': expect.stringMatching(/^W\/"/),
  });
  const operations: { op: string; path: string }[] = JSON.parse(sent?.body ?? '[]');
  // Only what changed, and our marker: nothing that the server maintains or somebody else may have entered.
  expect(operations.map(({ path }) => path.split('/')[1]).sort()).toStrictEqual(['address', 'identifier']);
  const stored = await read();
  expect(stored?.address?.[0]?.city).toBe('Patchville');
  expect(readMarkers(stored ?? after)).toContain('patch-1');
});

test('a patch is never applied to a version that it was not made for', async () => {
  const { client, id, read } = await openPatched();
  let changes = 0;
  let saved: Promise<void> | undefined;
  const { after } = await client.update<r4.Patient>(
    'Patient',
    id,
    (current) => {
      // Somebody else saves the record between our read and our patch, once.
      const meta = { versionId: 'saved-by-staff', lastUpdated: new Date().toISOString() };
      if (changes++ === 0) saved = server.storeUnchecked({ ...current, gender: 'other', meta });
      return setCity('Conflict')(current);
    },
    'patch-2',
  );
  await saved;
  expect(changes).toBe(2);
  expect(server.ledger.filter(({ method }) => method === 'PATCH')).toMatchObject([
    { performed: false },
    { performed: true },
  ]);
  expect(after).toMatchObject({ gender: 'other', address: [{ city: 'Conflict' }] });
  expect(await read()).toMatchObject({ gender: 'other', address: [{ city: 'Conflict' }] });
});

test('a lost response to a patch leaves its outcome unknown, and the marker shows that it arrived', async () => {
  const { client, id, read } = await openPatched();
  server.fail({ method: 'PATCH', path: '/Patient/', kind: 'reset', performed: true, times: 1 });
  await awaitFailure(client.update<r4.Patient>('Patient', id, setCity('Lost'), 'patch-3'));
  const stored = await read();
  expect(stored?.address?.[0]?.city).toBe('Lost');
  expect(await client.findByMarker('Patient', 'patch-3')).toMatchObject({ id });
});

test('a patch that the server refuses names the reason and changes nothing', async () => {
  const { client, id, read } = await openPatched();
  const before = await read();
  // A number, which no record of this type can have there.
  const invalid = (current: r4.Patient) => ({ ...current, birthDate: 7 as unknown as string });
  const failure = await awaitFailure(client.update<r4.Patient>('Patient', id, invalid, 'patch-4'));
  expect(failure.kind).toBe('refused');
  expect(await read()).toStrictEqual(before);
});

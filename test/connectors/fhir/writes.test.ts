import type * as fhir from 'fhir/r4.js';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { EmrFailure } from '../../../src/emr/emrFailure.ts';
import { fhir as fhir_connector } from '../../../src/emr/fhir/fhir.ts';
import { supportedCapabilities } from '../../../src/emr/fhir/operations.ts';
import { createClient, type FhirClient } from '../../../src/emr/fhir/transport/client.ts';
import { marker_system } from '../../../src/emr/fhir/transport/creates.ts';
import { type FhirServer, startFhirServer } from '../../harness/fhir/startFhirServer.ts';
import { awaitFailure } from '../larkspur/fixture.ts';
import { linkedClient } from './fixture.ts';

let server: FhirServer;
let client: FhirClient;
let marked = 0;
beforeAll(async () => {
  server = await startFhirServer();
  ({ client } = await linkedClient(server));
});
afterEach(() => server.reset());
afterAll(() => server.close());

const patient = (family: string): fhir.Patient => ({ resourceType: 'Patient', name: [{ family }] });
const newMarker = () => `operation-${++marked}-create`;

async function bearing(marker: string): Promise<fhir.Patient[]> {
  const all = await server.resources<fhir.Patient>('Patient');
  return all.filter(({ identifier = [] }) => identifier.some((each) => each.value === marker));
}

describe('a create', () => {
  test('returns the stored record with our marker and all other identifiers', async () => {
    const marker = newMarker();
    const mrn = { system: 'urn:mrn', value: 'M-1' };
    const stored = await client.create<fhir.Patient>({ ...patient('One'), identifier: [mrn] }, marker);
    expect(stored).toMatchObject({
      id: expect.any(String),
      identifier: [mrn, { system: marker_system, value: marker }],
    });
    expect(await client.read<fhir.Patient>('Patient', stored.id ?? '')).toEqual(stored);
    expect(await client.findByMarker<fhir.Patient>('Patient', marker)).toEqual(stored);
    expect(await client.findByMarker<fhir.Patient>('Patient', 'never-sent')).toBeUndefined();
  });

  test('sent twice with one marker creates one record, if the server supports it', async () => {
    const marker = newMarker();
    const [one, two] = [await client.create(patient('Twice'), marker), await client.create(patient('Twice'), marker)];
    expect(two.id).toBe(one.id);
    expect(await bearing(marker)).toHaveLength(1);
  });

  const responses = ['empty', 'empty_without_location', 'outcome', 'not_fhir'] as const;
  test.each(responses)('a create with the response %s is read back', async (create_response) => {
    server.faults.create_response = create_response;
    const marker = newMarker();
    const stored = await client.create(patient('Silent'), marker);
    expect(stored).toMatchObject({ id: (await bearing(marker))[0]?.id, name: [{ family: 'Silent' }] });
  });

  test('a create with an empty response from a server that cannot be searched has an unknown outcome', async () => {
    Object.assign(server.faults, { create_response: 'empty_without_location', search_by_identifier: false });
    const { client: other } = await linkedClient(server);
    expect(other.canFind('Patient')).toBe(false);
    const marker = newMarker();
    expect(await awaitFailure(other.create(patient('Lost'), marker))).toMatchObject({ kind: 'unknown_outcome' });
    expect(await awaitFailure(other.findByMarker('Patient', marker))).toMatchObject({ kind: 'unknown_outcome' });
  });

  test('a create that the server confirmed but does not find by marker is marked as accepted', async () => {
    const { client: other } = await linkedClient(server);
    const marker = newMarker();
    // Like a server that keeps only its own identifiers.
    Object.assign(server.faults, { create_response: 'empty_without_location', search_by_identifier: false });
    const failure = await awaitFailure(other.create(patient('Unmarked'), marker));
    expect(failure).toMatchObject({ kind: 'unknown_outcome', accepted: true });
    server.faults.create_response = 'empty';
    expect(await other.create(patient('Unmarked'), newMarker())).toMatchObject({ id: expect.any(String) });
  });

  const lost = [
    'error_500',
    'error_503',
    'html_500',
    'html_200',
    'empty',
    'not_fhir',
    'redirect',
    'reset',
    'truncated',
  ] as const;
  test.each(lost)('a create whose response became %s is found by its marker and not created again', async (kind) => {
    const { client: other } = await linkedClient(server);
    server.fail({ kind, method: 'POST', path: 'Patient', performed: true });
    const marker = newMarker();
    const outcome = await other.create(patient('Lost'), marker).catch((error: unknown) => error);
    // An empty or unreadable success is followed by a lookup. Every other loss is unknown.
    if (outcome instanceof EmrFailure) expect(outcome.kind).toBe('unknown_outcome');
    else expect(['html_200', 'empty', 'not_fhir']).toContain(kind);
    const match = await other.findByMarker<fhir.Patient>('Patient', marker);
    expect(await bearing(marker)).toMatchObject([{ id: match?.id }]);
  });

  test('a create that was never sent, or clearly rejected, has no unknown outcome', async () => {
    const definite = { too_many: 'unavailable', too_many_retry_after: 'unavailable', forbidden: 'refused' } as const;
    for (const [kind, expected] of Object.entries(definite)) {
      server.fail({ kind: kind as keyof typeof definite, method: 'POST' });
      expect((await awaitFailure(client.create(patient('No'), newMarker()))).kind).toBe(expected);
    }
    const invalid = { ...patient('No'), nonsense: 1 } as fhir.Patient;
    expect((await awaitFailure(client.create(invalid, newMarker()))).kind).toBe('refused');
  });

  test('a create that fails because of a concurrent create is found to be absent and created', async () => {
    server.faults.one_create_at_a_time = true;
    const markers = [newMarker(), newMarker()];
    const outcomes = await Promise.allSettled(markers.map((marker) => client.create(patient('AtOnce'), marker)));
    const failed = outcomes.findIndex(({ status }) => status === 'rejected');
    const marker = markers[failed] ?? '';
    expect(outcomes[failed]).toMatchObject({ reason: { kind: 'unknown_outcome' } });
    expect(await client.findByMarker('Patient', marker)).toBeUndefined();
    await client.create(patient('AtOnce'), marker);
    for (const each of markers) expect(await bearing(each)).toHaveLength(1);
  });
});

describe('a create that collides with another request', () => {
  test.each(['collision', 'conflict'] as const)('is sent again after %s, and stored once', async (kind) => {
    const marker = newMarker();
    server.fail({ kind, method: 'POST', path: 'R4/Patient', times: 2 });
    expect(await client.create(patient('Collided'), marker)).toMatchObject({ id: expect.any(String) });
    expect(await bearing(marker)).toHaveLength(1);
  });

  test('is found by its marker if it was stored after all', async () => {
    server.faults.conditional_create = false;
    const { client: other } = await linkedClient(server);
    const marker = newMarker();
    server.fail({ kind: 'collision', method: 'POST', path: 'R4/Patient', performed: true });
    const stored = await other.create(patient('Collided'), marker);
    expect(await bearing(marker)).toMatchObject([{ id: stored.id }]);
  });

  test('every time is unavailable if the server names the collision, else refused, but never a changed record', async () => {
    server.fail({ kind: 'collision', method: 'POST', path: 'R4/Patient', times: 3 });
    expect(await awaitFailure(client.create(patient('Collided'), newMarker()))).toMatchObject({ kind: 'unavailable' });
    server.fail({ kind: 'conflict', method: 'POST', path: 'R4/Patient', times: 3 });
    expect(await awaitFailure(client.create(patient('Collided'), newMarker()))).toMatchObject({
      kind: 'refused',
      code: 'emr_refused',
    });
  });
});

describe('a server that names only the id of a new record, in a format of its own', () => {
  beforeEach(() => {
    Object.assign(server.faults, {
      create_response: 'own_format',
      conditional_create: false,
      foreign_identifiers: false,
    });
  });
  const person = (family: string): fhir.Patient => ({ ...patient(family), birthDate: '1990-01-02' });

  test('is read back, and the record is confirmed by its content', async () => {
    const { client: other } = await linkedClient(server);
    const stored = await other.create<fhir.Patient>(person('Ownformat'), newMarker());
    expect(stored).toMatchObject({ id: expect.any(String), name: [{ family: 'Ownformat' }] });
    expect(other.canFind('Patient')).toBe(false);
  });

  test('leaves the outcome unknown if the record with the id is another one', async () => {
    const { client: other, endpoint, access } = await linkedClient(server);
    const { id = '' } = await other.create<fhir.Patient>(person('Ownformat'), newMarker());
    const fetch: typeof endpoint.outbound.fetch = async (url, request) => {
      const response = await endpoint.outbound.fetch(url, request);
      if (request.method !== 'POST' || !String(url).endsWith('/Patient')) return response;
      return { ...response, body: Buffer.from(JSON.stringify({ uuid: id })) };
    };
    const misled = createClient({ ...endpoint, outbound: { ...endpoint.outbound, fetch } }, access);
    const failure = await awaitFailure(misled.create(person('Someone'), newMarker()));
    expect(failure).toMatchObject({ kind: 'unknown_outcome', accepted: true });
  });
});

describe('a server that drops our marker', () => {
  test('is detected with its first record, and lost creates are then not looked up', async () => {
    server.faults.foreign_identifiers = false;
    server.faults.conditional_create = false;
    const { client: other, endpoint, access, saved } = await linkedClient(server);
    expect(other.canFind('Patient')).toBe(true);
    expect((await other.create(patient('Unmarked'), newMarker())).id).toBeDefined();
    const [grant] = saved.slice(-1);
    const next = createClient(endpoint, { ...access, grant: grant ?? access.grant });
    expect([next.canFind('Patient'), next.canFind('Coverage')]).toStrictEqual([false, true]);
    expect(await awaitFailure(next.findByMarker('Patient', newMarker()))).toMatchObject({ kind: 'unknown_outcome' });
    // A second one changes nothing, and a refresh does not reset it.
    await next.create(patient('Unmarked'), newMarker());
    expect(saved).toHaveLength(1);
    server.faults.withheld = { Claim: 'all' };
    const refreshed = await fhir_connector.refreshCapabilities?.(endpoint, { ...access, grant: grant ?? access.grant });
    expect(createClient(endpoint, { ...access, grant: refreshed?.grant ?? {} }).canFind('Patient')).toBe(false);
  });

  test('for two types is detected for both, even if its token is renewed in between', async () => {
    server.faults.foreign_identifiers = false;
    server.faults.conditional_create = false;
    const { client: other, endpoint, access, saved } = await linkedClient(server);
    const { id = '' } = await other.create<fhir.Patient>(patient('Unmarked'), newMarker());
    const coverage = { resourceType: 'Coverage', status: 'active', payor: [{ display: 'Mock Mutual' }] } as const;
    const insured = () =>
      other.create<fhir.Coverage>(
        { ...coverage, payor: [...coverage.payor], beneficiary: { reference: `Patient/${id}` } },
        newMarker(),
      );
    await insured();
    expect(other.canFind('Coverage'), 'at once').toBe(false);
    server.expireTokens('access');
    await insured();
    const [grant] = saved.slice(-1);
    const next = createClient(endpoint, { ...access, grant: grant ?? access.grant });
    expect([next.canFind('Patient'), next.canFind('Coverage'), next.canFind('Task')]).toStrictEqual([
      false,
      false,
      true,
    ]);
    expect(saved, 'two notes and one renewal').toHaveLength(3);
  });

  test('differs from one that keeps the marker but does not show it', async () => {
    server.faults.create_response = 'brief';
    const { client: other, saved } = await linkedClient(server);
    await other.create(patient('Terse'), newMarker());
    expect(saved.map(({ server: facts = '' }) => JSON.parse(facts))).toMatchObject([
      { unmarked: [], marked: ['Patient'] },
    ]);
  });

  test('is suspected until one record was found by its marker', async () => {
    const { client: other } = await linkedClient(server);
    expect(await awaitFailure(other.findCreated('Patient', 'never-sent'))).toMatchObject({ kind: 'unknown_outcome' });
    await other.create(patient('First'), newMarker());
    expect(await other.findCreated('Patient', 'never-sent')).toBeUndefined();
    expect(await awaitFailure(other.findCreated('Appointment', 'never-sent'))).toMatchObject({
      kind: 'unknown_outcome',
    });
  });
});

test('a server that ignores the marker and returns everything is not trusted', async () => {
  const { client: other } = await linkedClient(server);
  await client.create(patient('Anyone'), newMarker());
  Object.assign(server.faults, { search_by_identifier: false, unknown_parameter: 'ignore' });
  expect(other.canFind('Patient')).toBe(true);
  expect(await awaitFailure(other.findByMarker('Patient', 'never-sent'))).toMatchObject({ kind: 'unknown_outcome' });
});

describe('an update on a server that fails on elements that it generates itself', () => {
  test('is sent again without them, keeps everything else, and is remembered', async () => {
    server.faults.fails_on_periods = true;
    const address = [{ line: ['1 Mock Lane'], city: 'Exampleton', period: { start: '2020-01-01' } }];
    await server.storeUnchecked({ resourceType: 'Patient', id: 'dated', name: [{ family: 'Dated' }], address });
    const { client: other, saved } = await linkedClient(server);
    const change = (current: fhir.Patient): fhir.Patient => ({ ...current, gender: 'other' });
    const { after } = await other.update<fhir.Patient>('Patient', 'dated', change, newMarker());
    expect(after).toMatchObject({ gender: 'other', address: [{ line: ['1 Mock Lane'], city: 'Exampleton' }] });
    expect(JSON.parse(saved.at(-1)?.server ?? '{}')).toMatchObject({ bare_updates: ['Patient'] });
    // The server adds it again. The next update leaves it out at once.
    await server.storeUnchecked({ resourceType: 'Patient', id: 'dated', name: [{ family: 'Dated' }], address });
    server.ledger.length = 0;
    await other.update<fhir.Patient>('Patient', 'dated', change, newMarker());
    expect(server.ledger.filter(({ method }) => method === 'PUT')).toHaveLength(1);
  });

  test('is given up as before if it fails for another reason', async () => {
    await server.storeUnchecked({ resourceType: 'Patient', id: 'plain', name: [{ family: 'Plain' }] });
    const { client: other } = await linkedClient(server);
    server.fail({ kind: 'error_500', method: 'PUT', times: 5 });
    const work = other.update<fhir.Patient>('Patient', 'plain', (now) => ({ ...now, gender: 'other' }), newMarker());
    expect(await awaitFailure(work)).toMatchObject({ kind: 'unavailable' });
  });
});

describe('an update', () => {
  const stored = (family: string) => client.create<fhir.Patient>(patient(family), newMarker());
  const rename = (given: string) => (current: fhir.Patient) => ({
    ...current,
    name: [{ ...current.name?.[0], given: [given] }],
  });

  test('returns the versions before and after, and appends its marker to that of the create', async () => {
    const created = newMarker();
    const { id = '' } = await client.create<fhir.Patient>(patient('Before'), created);
    const { before, after } = await client.update<fhir.Patient>('Patient', id, rename('Ann'), 'update-1');
    expect(before.name).toEqual([{ family: 'Before' }]);
    expect(after.name).toEqual([{ family: 'Before', given: ['Ann'] }]);
    expect(after.identifier?.map(({ value }) => value)).toEqual([created, 'update-1']);
    expect(await client.findByMarker<fhir.Patient>('Patient', 'update-1')).toEqual(after);
  });

  test('the create and the last five changes of a record that changes often are found', async () => {
    const created = newMarker();
    const { id = '' } = await client.create<fhir.Patient>(
      { ...patient('Often'), identifier: [{ value: 'A-1' }] },
      created,
    );
    const changes = Array.from({ length: 9 }, newMarker);
    for (const marker of changes) await client.update<fhir.Patient>('Patient', id, rename(marker), marker);
    // A repeated change keeps the order.
    const { after } = await client.update<fhir.Patient>('Patient', id, rename('again'), changes[6] ?? '');
    expect(after.identifier?.map(({ value }) => value)).toEqual(['A-1', created, ...changes.slice(-5)]);
    const matches = await Promise.all([created, ...changes].map((each) => client.findByMarker('Patient', each)));
    expect(matches.map((each) => each?.id === id)).toEqual([
      true,
      false,
      false,
      false,
      false,
      true,
      true,
      true,
      true,
      true,
    ]);
  });

  test.each(['weak', 'strong', 'none'] as const)('is tied to its version with %s entity tags', async (etag) => {
    server.faults.etag = etag;
    const { id = '' } = await stored('Tagged');
    const { after } = await client.update<fhir.Patient>('Patient', id, rename('Bea'), newMarker());
    expect(after.name).toEqual([{ family: 'Tagged', given: ['Bea'] }]);
    expect(server.writes('Patient').at(-1)?.headers['if-match']).toMatch(etag === 'strong' ? /^"/ : /^W\/"/);
  });

  test('an update that meets a concurrent change is applied to the new version', async () => {
    const { id = '' } = await stored('Shared');
    let times = 0;
    const { before, after } = await client.update<fhir.Patient>(
      'Patient',
      id,
      (current) => {
        times += 1;
        if (times === 1) void server.storeUnchecked({ ...current, meta: { versionId: '99' }, gender: 'female' });
        return rename('Cleo')(current);
      },
      newMarker(),
    );
    expect(times).toBe(2);
    expect(before.gender).toBe('female');
    expect(after).toMatchObject({ gender: 'female', name: [{ family: 'Shared', given: ['Cleo'] }] });
  });

  test('an update of fields that others have changed is refused, and nothing is sent', async () => {
    const { id = '' } = await stored('Contested');
    let times = 0;
    const work = client.update<fhir.Patient>(
      'Patient',
      id,
      (current, first) => {
        times += 1;
        if (times === 1)
          void server.storeUnchecked({ ...current, meta: { versionId: '99' }, name: [{ family: 'Theirs' }] });
        if (current.name?.[0]?.family !== first.name?.[0]?.family)
          throw new EmrFailure('refused', 'Changed by others.');
        return { ...current, name: [{ family: 'Ours' }] };
      },
      newMarker(),
    );
    expect(await awaitFailure(work)).toMatchObject({ kind: 'refused', message: 'Changed by others.' });
    expect((await client.read<fhir.Patient>('Patient', id))?.name).toEqual([{ family: 'Theirs' }]);
  });

  test('an update that conflicts every time is unavailable', async () => {
    const { id = '' } = await stored('Busy');
    let version = 100;
    const work = client.update<fhir.Patient>(
      'Patient',
      id,
      (current) => {
        version += 1;
        void server.storeUnchecked({ ...current, meta: { versionId: String(version) } });
        return rename('Dot')(current);
      },
      newMarker(),
    );
    expect(await awaitFailure(work)).toMatchObject({ kind: 'unavailable' });
    expect(version).toBe(103);
  });

  test('an update of a missing record is not_found, and an id that changes the path is not sent', async () => {
    for (const id of ['nobody', '..', '.', 'a/b', '']) {
      expect(await awaitFailure(client.update('Patient', id, (same) => same, newMarker()))).toMatchObject({
        kind: 'not_found',
        code: 'patient_not_found',
      });
    }
    expect(server.ledger.some(({ path }) => path.endsWith('/R4/'))).toBe(false);
  });

  test('is neither made nor supported if the server keeps no versions', async () => {
    server.faults.versioning = 'no-version';
    const { id = '' } = await stored('Unversioned');
    const { client: other } = await linkedClient(server);
    expect(await awaitFailure(other.update('Patient', id, (same) => same, newMarker()))).toMatchObject({
      kind: 'refused',
    });
    expect(supportedCapabilities(other.capabilities)).not.toContain('updatePatient');
    expect(supportedCapabilities(client.capabilities)).toContain('updatePatient');
  });

  test('an update whose response is lost has an unknown outcome and is found by its marker', async () => {
    const { id = '' } = await stored('Unsure');
    server.fail({ kind: 'reset', method: 'PUT', performed: true });
    expect(await awaitFailure(client.update<fhir.Patient>('Patient', id, rename('Eve'), 'update-lost'))).toMatchObject({
      kind: 'unknown_outcome',
    });
    expect(await client.findByMarker<fhir.Patient>('Patient', 'update-lost')).toMatchObject({ id });
  });
});

import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { Grant } from '../../../src/emr/connector.ts';
import type { Operations } from '../../../src/emr/operations/operations.ts';
import {
  awaitFailure,
  collect,
  createEndpoint,
  createOperations,
  type Expected,
  expectNoSecret,
  type LarkspurFixture,
  openFixture,
  read_failures,
  signedInGrant,
} from './fixture.ts';

let fixture: LarkspurFixture;
let grant: Grant;
let emr: Operations;
beforeAll(async () => {
  fixture = await openFixture();
  grant = await signedInGrant(fixture);
  emr = createOperations(createEndpoint(fixture.emr.url), fixture.credentials, grant).emr;
});
afterEach(() => fixture.control('DELETE', '/faults'));
afterAll(() => fixture.close());

describe('a read', () => {
  test.each<[string, Expected]>([
    ['error_500', read_failures.error_500],
    ['error_429', read_failures.error_429],
    ['reset', read_failures.broke_off],
    ['truncate', read_failures.broke_off],
    ['html', read_failures.unreadable],
    ['empty', read_failures.unreadable],
  ])('a read with the fault %s is unavailable, and the next one is complete', async (kind, expected) => {
    await fixture.fault('list_staff', kind);
    const failure = await awaitFailure(collect(emr.listStaff()));
    expect(failure).toMatchObject(expected);
    expectNoSecret(failure, fixture.credentials, grant);
    expect(await collect(emr.listStaff())).toHaveLength(12);
  });

  test('a read waits for a delayed response', async () => {
    await fixture.fault('list_staff', 'delay', { delay_ms: 300 });
    expect(await collect(emr.listStaff())).toHaveLength(12);
  });

  test.each(['error_500', 'reset', 'html', 'empty', 'truncate'])(
    'a read of one chart never returns an empty list on %s',
    async (kind) => {
      await fixture.fault('list_medications', kind);
      await fixture.fault('list_patient_pharmacies', kind);
      await fixture.fault('list_patients', kind);
      expect(await awaitFailure(emr.listMedications('10001'))).toMatchObject({ kind: 'unavailable' });
      expect(await awaitFailure(emr.listPatientPharmacies('10001'))).toMatchObject({ kind: 'unavailable' });
      expect(await awaitFailure(emr.findPatient('LK100001'))).toMatchObject({ kind: 'unavailable' });
    },
  );

  test('a read of a patient that does not exist is not_found', async () => {
    expect(await emr.findPatient('LK999999')).toBeUndefined();
    const failure = await awaitFailure(emr.listMedications('1'));
    expect(failure).toMatchObject({ kind: 'not_found', message: "No patient with id '1'." });
  });
});

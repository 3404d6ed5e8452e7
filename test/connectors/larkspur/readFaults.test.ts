import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { Grant, Operations } from '../../../src/connectors/connector.ts';
import {
  collect,
  type Expected,
  expectNoSecret,
  failureOf,
  type LarkspurFixture,
  met,
  openEndpoint,
  openFixture,
  openOperations,
  signedInGrant,
} from './fixture.ts';

let fixture: LarkspurFixture;
let grant: Grant;
let emr: Operations;
beforeAll(async () => {
  fixture = await openFixture();
  grant = await signedInGrant(fixture);
  emr = openOperations(openEndpoint(fixture.emr.url), fixture.credentials, grant).emr;
});
afterEach(() => fixture.control('DELETE', '/faults'));
afterAll(() => fixture.close());

describe('a read', () => {
  test.each<[string, Expected]>([
    ['error_500', met.error_500],
    ['error_429', met.error_429],
    ['reset', met.broke_off],
    ['truncate', met.broke_off],
    ['html', met.unreadable],
    ['empty', met.unreadable],
  ])('met by %s is unavailable, and the next one is whole', async (kind, expected) => {
    await fixture.fault('list_staff', kind);
    const failure = await failureOf(collect(emr.listStaff()));
    expect(failure).toMatchObject(expected);
    expectNoSecret(failure, fixture.credentials, grant);
    expect(await collect(emr.listStaff())).toHaveLength(12);
  });

  test('met by a delay waits for it', async () => {
    await fixture.fault('list_staff', 'delay', { delay_ms: 300 });
    expect(await collect(emr.listStaff())).toHaveLength(12);
  });

  test.each(['error_500', 'reset', 'html', 'empty', 'truncate'])('of one chart is never empty by %s', async (kind) => {
    await fixture.fault('list_medications', kind);
    await fixture.fault('list_patient_pharmacies', kind);
    await fixture.fault('list_patients', kind);
    expect(await failureOf(emr.listMedications('10001'))).toMatchObject({ kind: 'unavailable' });
    expect(await failureOf(emr.listPatientPharmacies('10001'))).toMatchObject({ kind: 'unavailable' });
    expect(await failureOf(emr.findPatient('LK100001'))).toMatchObject({ kind: 'unavailable' });
  });

  test('of a patient that does not exist says so', async () => {
    expect(await emr.findPatient('LK999999')).toBeUndefined();
    const failure = await failureOf(emr.listMedications('1'));
    expect(failure).toMatchObject({ kind: 'not_found', message: "No patient with id '1'." });
  });
});

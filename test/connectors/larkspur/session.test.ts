import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Access, Grant } from '../../../src/emr/connector.ts';
import { larkspur } from '../../../src/emr/larkspur/larkspur.ts';
import type { Operations } from '../../../src/emr/operations/operations.ts';
import {
  awaitFailure,
  collect,
  createEndpoint,
  createOperations,
  expectNoSecret,
  type LarkspurFixture,
  openFixture,
  required,
  signedInGrant,
  startFakeServer,
} from './fixture.ts';

let fixture: LarkspurFixture;
let grant: Grant;
beforeAll(async () => {
  fixture = await openFixture();
});
beforeEach(async () => {
  grant = await signedInGrant(fixture);
});
afterEach(async () => {
  await fixture.control('DELETE', '/faults');
});
afterAll(() => fixture.close());

const renewal = 'POST /api/login/device';

describe('an expired session', () => {
  test('is renewed without a person, and the new grant is saved', async () => {
    const endpoint = createEndpoint(fixture.emr.url);
    const { emr, saved } = createOperations(endpoint, fixture.credentials, grant);
    await fixture.control('POST', '/sessions/expire', { mode: 'session' });
    expect(await collect(emr.listStaff())).toHaveLength(12);
    expect(endpoint.calls).toEqual(['GET /api/staff', renewal, 'GET /api/staff']);
    expect(saved).toHaveLength(1);
    expect(saved[0]).toMatchObject({ device_token: grant.device_token });

    // The saved grant is valid, and so is the one in use.
    const next = createOperations(createEndpoint(fixture.emr.url), fixture.credentials, required(saved[0]));
    expect(await collect(next.emr.listStaff())).toHaveLength(12);
    await collect(emr.listLocations());
    expect(endpoint.calls.filter((call) => call === renewal)).toHaveLength(1);
  });

  test('is renewed once for five concurrent calls, including a write', async () => {
    const endpoint = createEndpoint(fixture.emr.url);
    const { emr, saved } = createOperations(endpoint, fixture.credentials, grant);
    await fixture.control('POST', '/sessions/expire', { mode: 'session' });
    const input = { patient_ehr_id: '10001', pharmacy_ehr_id: '9003' };
    const [written] = await Promise.all([
      emr.addPatientPharmacy.send(input, 'five-at-once'),
      collect(emr.listStaff()),
      collect(emr.listProviders()),
      emr.findPatient('LK100001'),
      emr.listMedications('10001'),
    ]);
    expect(await required(emr.addPatientPharmacy.find)('five-at-once', input)).toEqual(written);
    expect(endpoint.calls.filter((call) => call === renewal)).toHaveLength(1);
    expect(saved).toHaveLength(1);
  });

  test('is not renewed again for a call that was rejected before the renewal', async () => {
    const endpoint = createEndpoint(fixture.emr.url);
    const { fetch } = endpoint.outbound;
    let release = () => {};
    const renewed = new Promise<void>((done) => {
      release = done;
    });
    endpoint.outbound.fetch = async (url, request) => {
      const response = await fetch(url, request);
      if (String(url).includes('/api/providers') && response.status === 401) await renewed;
      return response;
    };
    const { emr } = createOperations(endpoint, fixture.credentials, grant);
    await fixture.control('POST', '/sessions/expire', { mode: 'session' });
    const late = collect(emr.listProviders());
    await collect(emr.listStaff());
    release();
    expect(await late).toHaveLength(8);
    expect(endpoint.calls.filter((call) => call === renewal)).toHaveLength(1);
  });

  test('can expire and be renewed again', async () => {
    const { emr, saved } = createOperations(createEndpoint(fixture.emr.url), fixture.credentials, grant);
    for (const renewals of [1, 2]) {
      await fixture.control('POST', '/sessions/expire', { mode: 'session' });
      await collect(emr.listStaff());
      expect(saved).toHaveLength(renewals);
    }
  });

  test('fails as unavailable when the renewal gets no response, and is renewed by the next call', async () => {
    const { emr } = createOperations(createEndpoint(fixture.emr.url), fixture.credentials, grant);
    await fixture.control('POST', '/sessions/expire', { mode: 'session' });
    for (const kind of ['error_500', 'error_429', 'reset', 'html', 'empty', 'truncate']) {
      await fixture.fault('login_device', kind);
      const input = { patient_ehr_id: '10001', pharmacy_ehr_id: '9004' };
      // Known not to be applied, so never of unknown outcome.
      expect(await awaitFailure(emr.addPatientPharmacy.send(input, 'no-renewal'))).toMatchObject({
        kind: 'unavailable',
      });
    }
    expect(await collect(emr.listStaff())).toHaveLength(12);
  });

  test('fails as unavailable while the user is locked, because the lock expires by itself', async () => {
    const other = required(fixture.emr.staff[5]);
    const credentials = { username: other.username, password: 'wrong' };
    for (let attempts = 0; attempts < 5; attempts++)
      await larkspur.signIn(createEndpoint(fixture.emr.url), credentials, undefined);
    const { emr } = createOperations(
      createEndpoint(fixture.emr.url),
      { ...credentials, password: other.password },
      grant,
    );
    await fixture.control('POST', '/sessions/expire', { mode: 'session' });
    const failure = await awaitFailure(collect(emr.listStaff()));
    expect(failure).toMatchObject({ kind: 'unavailable', message: 'Larkspur has temporarily locked this user.' });
  });

  test('an expired session whose grant cannot be saved passes that error on, and the next call renews and saves it', async () => {
    const saved: Grant[] = [];
    let database_is_gone = true;
    const saveGrant: Access['saveGrant'] = async (renewed) => {
      if (database_is_gone) throw new Error('database gone');
      saved.push(renewed);
    };
    const emr = larkspur.open(createEndpoint(fixture.emr.url), {
      credentials: fixture.credentials,
      grant,
      saveGrant,
    }) as Operations;
    await fixture.control('POST', '/sessions/expire', { mode: 'session' });
    await expect(collect(emr.listStaff())).rejects.toThrow('database gone');
    database_is_gone = false;
    expect(await collect(emr.listStaff())).toHaveLength(12);
    expect(saved).toHaveLength(1);
  });
});

describe('a link that has ended', () => {
  test('needs a person, and later calls do not try again', async () => {
    const endpoint = createEndpoint(fixture.emr.url);
    const { emr, saved } = createOperations(endpoint, fixture.credentials, grant);
    await fixture.control('POST', '/sessions/expire', { mode: 'link' });
    const failures = await Promise.all([
      awaitFailure(collect(emr.listStaff())),
      awaitFailure(emr.addRefill.send({ encounter_ehr_id: '1', medication_ehr_id: '1', pharmacy_ehr_id: null }, 'm')),
    ]);
    failures.push(await awaitFailure(emr.findPatient('LK100001')));
    for (const failure of failures) {
      expect(failure).toMatchObject({ kind: 'login_required', message: 'Larkspur requires a new one-time code.' });
      expectNoSecret(failure, fixture.credentials, grant);
    }
    expect(endpoint.calls.filter((call) => call === renewal)).toHaveLength(1);
    expect(saved).toEqual([]);
  });

  test('a link that has ended after a password change needs a person', async () => {
    const credentials = { ...fixture.credentials, password: 'of last year' };
    const { emr } = createOperations(createEndpoint(fixture.emr.url), credentials, {
      ...grant,
      session_token: 'ended',
    });
    const failure = await awaitFailure(collect(emr.listStaff()));
    const message = 'Larkspur no longer accepts the username and password.';
    expect(failure).toMatchObject({ kind: 'login_required', message });
    expectNoSecret(failure, credentials, grant);
  });

  test('a link with a grant without a device needs a person', async () => {
    const { emr } = createOperations(createEndpoint(fixture.emr.url), fixture.credentials, { session_token: 'ended' });
    expect(await awaitFailure(collect(emr.listStaff()))).toMatchObject({ kind: 'login_required' });
  });
});

test('a new session that expires immediately is unavailable, after one renewal', async () => {
  const session = { sessionToken: 's', deviceToken: 'd', staffId: '1', staffName: 'A', timeZone: 'UTC' };
  const expired = { status: 401, json: { errorCode: 'SESSION_EXPIRED', errorText: 'Sign in first.' } };
  const fake = await startFakeServer(({ url }) => (url === '/api/login/device' ? { json: session } : expired));
  const endpoint = createEndpoint(fake.url);
  const { emr } = createOperations(endpoint, fixture.credentials, grant);
  expect(await awaitFailure(collect(emr.listStaff()))).toMatchObject({ kind: 'unavailable' });
  expect(endpoint.calls).toEqual(['GET /api/staff', renewal, 'GET /api/staff']);
  await fake.close();
});

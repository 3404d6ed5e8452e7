import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Access, Grant, Operations } from '../../../src/connectors/connector.ts';
import { larkspur } from '../../../src/connectors/larkspur/larkspur.ts';
import {
  expectNoSecret,
  failureOf,
  gather,
  lie,
  openDoor,
  openOperations,
  openPlace,
  type Place,
  required,
  signedInGrant,
} from './fixture.ts';

let place: Place;
let grant: Grant;
beforeAll(async () => {
  place = await openPlace();
});
beforeEach(async () => {
  grant = await signedInGrant(place);
});
afterEach(async () => {
  await place.control('DELETE', '/faults');
});
afterAll(() => place.close());

const renewal = 'POST /api/login/device';

describe('a session that has ended', () => {
  test('is renewed without a person, and the new grant is kept', async () => {
    const door = openDoor(place.emr.url);
    const { emr, kept } = openOperations(door, place.credentials, grant);
    await place.control('POST', '/sessions/expire', { mode: 'session' });
    expect(await gather(emr.listStaff())).toHaveLength(12);
    expect(door.calls).toEqual(['GET /api/staff', renewal, 'GET /api/staff']);
    expect(kept).toHaveLength(1);
    expect(kept[0]).toMatchObject({ device_token: grant.device_token });

    // The kept grant is good, and so is the one in use.
    const next = openOperations(openDoor(place.emr.url), place.credentials, required(kept[0]));
    expect(await gather(next.emr.listStaff())).toHaveLength(12);
    await gather(emr.listLocations());
    expect(door.calls.filter((call) => call === renewal)).toHaveLength(1);
  });

  test('is renewed once for five calls at once, of which one writes', async () => {
    const door = openDoor(place.emr.url);
    const { emr, kept } = openOperations(door, place.credentials, grant);
    await place.control('POST', '/sessions/expire', { mode: 'session' });
    const input = { patient_ehr_id: '10001', pharmacy_ehr_id: '9003' };
    const [written] = await Promise.all([
      emr.addPatientPharmacy.send(input, 'five-at-once'),
      gather(emr.listStaff()),
      gather(emr.listProviders()),
      emr.findPatient('LK100001'),
      emr.listMedications('10001'),
    ]);
    expect(await required(emr.addPatientPharmacy.find)('five-at-once', input)).toEqual(written);
    expect(door.calls.filter((call) => call === renewal)).toHaveLength(1);
    expect(kept).toHaveLength(1);
  });

  test('is not renewed again for a call that learns of its end after the renewal', async () => {
    const door = openDoor(place.emr.url);
    const { fetch } = door.outbound;
    let release = () => {};
    const renewed = new Promise<void>((done) => {
      release = done;
    });
    door.outbound.fetch = async (url, request) => {
      const answer = await fetch(url, request);
      if (String(url).includes('/api/providers') && answer.status === 401) await renewed;
      return answer;
    };
    const { emr } = openOperations(door, place.credentials, grant);
    await place.control('POST', '/sessions/expire', { mode: 'session' });
    const late = gather(emr.listProviders());
    await gather(emr.listStaff());
    release();
    expect(await late).toHaveLength(8);
    expect(door.calls.filter((call) => call === renewal)).toHaveLength(1);
  });

  test('may end again, and is renewed again', async () => {
    const { emr, kept } = openOperations(openDoor(place.emr.url), place.credentials, grant);
    for (const renewals of [1, 2]) {
      await place.control('POST', '/sessions/expire', { mode: 'session' });
      await gather(emr.listStaff());
      expect(kept).toHaveLength(renewals);
    }
  });

  test('fails for now when the renewal is not answered, and is renewed by the next call', async () => {
    const { emr } = openOperations(openDoor(place.emr.url), place.credentials, grant);
    await place.control('POST', '/sessions/expire', { mode: 'session' });
    for (const kind of ['error_500', 'error_429', 'reset', 'html', 'empty', 'truncate']) {
      await place.fault('login_device', kind);
      const input = { patient_ehr_id: '10001', pharmacy_ehr_id: '9004' };
      // Known not to be applied, so never of unknown outcome.
      expect(await failureOf(emr.addPatientPharmacy.send(input, 'no-renewal'))).toMatchObject({ kind: 'unavailable' });
    }
    expect(await gather(emr.listStaff())).toHaveLength(12);
  });

  test('fails for now when the user is locked: the lock opens by itself', async () => {
    const other = required(place.emr.staff[5]);
    const credentials = { username: other.username, password: 'wrong' };
    for (let tries = 0; tries < 5; tries++) await larkspur.signIn(openDoor(place.emr.url), credentials, undefined);
    const { emr } = openOperations(openDoor(place.emr.url), { ...credentials, password: other.password }, grant);
    await place.control('POST', '/sessions/expire', { mode: 'session' });
    const failure = await failureOf(gather(emr.listStaff()));
    expect(failure).toMatchObject({ kind: 'unavailable', message: 'Larkspur has locked this user for a while.' });
  });

  test('whose grant cannot be kept passes that error on, and the next call renews and keeps it', async () => {
    const kept: Grant[] = [];
    let database_is_gone = true;
    const keepGrant: Access['keepGrant'] = async (renewed) => {
      if (database_is_gone) throw new Error('database gone');
      kept.push(renewed);
    };
    const emr = larkspur.open(openDoor(place.emr.url), {
      credentials: place.credentials,
      grant,
      keepGrant,
    }) as Operations;
    await place.control('POST', '/sessions/expire', { mode: 'session' });
    await expect(gather(emr.listStaff())).rejects.toThrow('database gone');
    database_is_gone = false;
    expect(await gather(emr.listStaff())).toHaveLength(12);
    expect(kept).toHaveLength(1);
  });
});

describe('a link that has ended', () => {
  test('needs a person, and is not tried again by calls that follow', async () => {
    const door = openDoor(place.emr.url);
    const { emr, kept } = openOperations(door, place.credentials, grant);
    await place.control('POST', '/sessions/expire', { mode: 'link' });
    const failures = await Promise.all([
      failureOf(gather(emr.listStaff())),
      failureOf(emr.addRefill.send({ encounter_ehr_id: '1', medication_ehr_id: '1', pharmacy_ehr_id: null }, 'm')),
    ]);
    failures.push(await failureOf(emr.findPatient('LK100001')));
    for (const failure of failures) {
      expect(failure).toMatchObject({ kind: 'login_required', message: 'Larkspur asks for a new one-time code.' });
      expectNoSecret(failure, place.credentials, grant);
    }
    expect(door.calls.filter((call) => call === renewal)).toHaveLength(1);
    expect(kept).toEqual([]);
  });

  test('by a changed password needs a person', async () => {
    const credentials = { ...place.credentials, password: 'of last year' };
    const { emr } = openOperations(openDoor(place.emr.url), credentials, { ...grant, session_token: 'ended' });
    const failure = await failureOf(gather(emr.listStaff()));
    const message = 'Larkspur no longer accepts the user name and password.';
    expect(failure).toMatchObject({ kind: 'login_required', message });
    expectNoSecret(failure, credentials, grant);
  });

  test('by a grant without a device needs a person', async () => {
    const { emr } = openOperations(openDoor(place.emr.url), place.credentials, { session_token: 'ended' });
    expect(await failureOf(gather(emr.listStaff()))).toMatchObject({ kind: 'login_required' });
  });
});

test('a session that ends again at once is unavailable, after one renewal', async () => {
  const session = { sessionToken: 's', deviceToken: 'd', staffId: '1', staffName: 'A', timeZone: 'UTC' };
  const expired = { status: 401, json: { errorCode: 'SESSION_EXPIRED', errorText: 'Sign in first.' } };
  const liar = await lie(({ url }) => (url === '/api/login/device' ? { json: session } : expired));
  const door = openDoor(liar.url);
  const { emr } = openOperations(door, place.credentials, grant);
  expect(await failureOf(gather(emr.listStaff()))).toMatchObject({ kind: 'unavailable' });
  expect(door.calls).toEqual(['GET /api/staff', renewal, 'GET /api/staff']);
  await liar.close();
});

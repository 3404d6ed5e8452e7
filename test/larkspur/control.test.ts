import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type Clinic, ENCOUNTERS, encounterBody, openClinic, type Row } from './fixture.ts';

let clinic: Clinic;
const get = (path: string, token: string) => clinic.api('GET', path, undefined, token);

beforeAll(async () => {
  clinic = await openClinic();
});
afterAll(() => clinic.close());
beforeEach(() => clinic.control('POST', '/control/reset'));

test('every control request requires the control token', async () => {
  for (const [method, path] of [
    ['GET', '/control/ledger'],
    ['POST', '/control/faults'],
    ['POST', '/control/reset'],
    ['DELETE', '/control/patients/10001'],
  ] as const) {
    expect((await clinic.api(method, path)).status).toBe(401);
  }
});

test('mode session ends sessions only; mode link, the default, also forgets devices', async () => {
  const { sessionToken, deviceToken } = await clinic.signIn({ rememberDevice: 'Y' });
  const { username, password } = clinic.larkspur.staff[0] ?? {};
  const renew = () => clinic.api('POST', '/api/login/device', { userName: username, password, deviceToken });

  await clinic.control('POST', '/control/sessions/expire', { mode: 'session' });
  expect(await get('/api/staff', sessionToken)).toMatchObject({ status: 401, body: { errorCode: 'SESSION_EXPIRED' } });
  const renewed = (await renew()).body.sessionToken;
  expect((await get('/api/staff', renewed)).status).toBe(200);

  await clinic.control('POST', '/control/sessions/expire');
  expect((await get('/api/staff', renewed)).status).toBe(401);
  expect(await renew()).toMatchObject({ status: 401, body: { errorCode: 'DEVICE_UNKNOWN' } });
  expect((await clinic.control('POST', '/control/sessions/expire', { mode: 'x' })).status).toBe(400);
});

test('locks and unlocks a user name; deletes one of several faults', async () => {
  const { username, password } = clinic.larkspur.staff[1] ?? {};
  const login = async () => (await clinic.api('POST', '/api/login', { userName: username, password })).status;
  await clinic.control('POST', '/control/lockouts', { user_name: username });
  expect(await login()).toBe(423);
  expect((await clinic.control('GET', '/control/lockouts')).body).toMatchObject({
    lockouts: [{ user_name: username }],
  });
  await clinic.control('DELETE', `/control/lockouts/${username}`);
  expect(await login()).toBe(200);
  expect((await clinic.control('GET', '/control/lockouts')).body).toEqual({ lockouts: [] });

  const set = async (kind: string) =>
    (await clinic.control('POST', '/control/faults', { operation: '*', kind, times: 1 })).body as unknown as {
      fault_id: number;
    };
  const { fault_id } = await set('html');
  await set('empty');
  await clinic.control('DELETE', `/control/faults/${fault_id}`);
  expect((await clinic.control('GET', '/control/faults')).body.faults).toMatchObject([{ kind: 'empty' }]);
  expect((await clinic.control('DELETE', '/control/faults/x')).status).toBe(400);
});

test('the ledger lists every write received, oldest first: applied, refused and malformed', async () => {
  const { sessionToken } = await clinic.signIn();
  await clinic.api('POST', ENCOUNTERS, encounterBody('one'), sessionToken);
  await clinic.api('POST', ENCOUNTERS, encounterBody('two', { providerId: 'x' }), sessionToken);
  await clinic.api('POST', ENCOUNTERS, { externalRef: 'three' }, sessionToken);
  await clinic.api('POST', '/api/telephone-encounters/30001/actions', { externalRef: 'four', text: 'x' }, sessionToken);
  const at = clinic.clock.at.toISOString();
  const entry = (operation: string, marker: string, applied: boolean) => ({
    operation,
    marker,
    patient_mrn: 'LK100001',
    at,
    applied,
  });
  expect((await clinic.control('GET', '/control/ledger')).body).toEqual({
    entries: [
      entry('create_telephone_encounter', 'one', true),
      entry('create_telephone_encounter', 'two', false),
      entry('create_telephone_encounter', 'three', false),
      entry('add_telephone_action', 'four', true),
    ],
  });
});

test('creates, updates and deletes records with the fields of the lists', async () => {
  const { sessionToken } = await clinic.signIn();
  const added = await clinic.control('POST', '/control/providers', {
    lastName: 'Newcomer',
    displayName: 'N. Newcomer',
  });
  expect(added).toMatchObject({ status: 201, body: { providerId: '509', activeFlag: 'Y', weeklyHours: [] } });
  const changed = await clinic.control('PATCH', '/control/providers/501', { activeFlag: 'N', weeklyHours: [] });
  expect(changed).toMatchObject({ status: 200, body: { lastName: 'Samplewell', activeFlag: 'N' } });
  expect((await clinic.control('DELETE', '/control/providers/502')).status).toBe(200);
  const { rows } = (await get('/api/providers', sessionToken)).body;
  expect(rows.map((row) => row.providerId)).toEqual(['501', '503', '504', '505', '506', '507', '508', '509']);
  for (const [kind, id] of [
    ['staff', '711'],
    ['facilities', '13'],
    ['pharmacies', '9014'],
    ['patients', '10001'],
  ]) {
    expect((await clinic.control('POST', `/control/${kind}`, {})).status).toBe(201);
    expect((await clinic.control('DELETE', `/control/${kind}/${id}`)).status).toBe(200);
    expect((await clinic.control('DELETE', `/control/${kind}/${id}`)).status).toBe(404);
  }
});

test('updating a patient keeps address lines that were not sent and sets lastModified', async () => {
  const { sessionToken } = await clinic.signIn();
  const before = (await get('/api/patients?mrn=LK100001', sessionToken)).body.rows[0] as Row;
  clinic.clock.advance(1000);
  const sent = { email: 'new@example.org', birthDate: '01/31/1980', address: { line1: '9 New Road' } };
  const after = (await clinic.control('PATCH', '/control/patients/10001', sent)).body;
  expect(after).toEqual({
    ...before,
    ...sent,
    address: { ...before.address, line1: '9 New Road' },
    lastModified: clinic.clock.at.toISOString(),
  });
  expect((await clinic.control('PATCH', '/control/patients/10001', { mrn: 'LK100002' })).status).toBe(409);
  expect((await clinic.control('PATCH', '/control/patients/10001', { patientId: '1' })).status).toBe(400);
  expect((await clinic.control('PATCH', '/control/patients/10001', { birthDate: '1980-01-31' })).status).toBe(400);
});

test('a reset restores the seed, clears sessions, devices, faults, lockouts and the ledger, and keeps credentials', async () => {
  const { sessionToken, deviceToken } = await clinic.signIn({ rememberDevice: 'Y' });
  const seed = (await get('/api/patients', sessionToken)).body;
  await clinic.api('POST', ENCOUNTERS, encounterBody('gone'), sessionToken);
  await clinic.control('DELETE', '/control/patients/10005');
  await clinic.control('POST', '/control/patients', { lastName: 'Extra' });
  await clinic.control('POST', '/control/faults', { operation: '*', kind: 'reset', times: 9 });
  const { username, password } = clinic.larkspur.staff[0] ?? {};
  for (let n = 0; n < 5; n++) await clinic.api('POST', '/api/login', { userName: username, password: 'wrong' });

  expect((await clinic.control('POST', '/control/reset')).status).toBe(200);

  expect((await get('/api/patients', sessionToken)).status).toBe(401);
  const device = await clinic.api('POST', '/api/login/device', { userName: username, password, deviceToken });
  expect(device.body.errorCode).toBe('DEVICE_UNKNOWN');
  const again = await clinic.signIn();
  expect((await get('/api/patients', again.sessionToken)).body.rows.map(withoutDate)).toEqual(
    seed.rows.map(withoutDate),
  );
  expect((await clinic.control('GET', '/control/ledger')).body.entries).toEqual([]);
  expect((await clinic.control('GET', '/control/faults')).body.faults).toEqual([]);
  const { recordId } = (await clinic.api('POST', ENCOUNTERS, encounterBody('gone'), again.sessionToken)).body;
  expect(recordId).toBe('40000');
});

test('a reset restores claims, appointments and blocks', async () => {
  const paths = ['/api/claims?pageSize=3', '/api/appointments?pageSize=3', '/api/blocks?pageSize=3'];
  const read = async () => {
    const { sessionToken } = await clinic.signIn();
    return Promise.all(paths.map(async (path) => (await get(path, sessionToken)).body));
  };
  const seed = await read();
  await clinic.control('PATCH', '/control/claims/200001', { statusCode: 'DEN' });
  await clinic.control('DELETE', '/control/appointments/500002');
  await clinic.control('DELETE', '/control/blocks/65001');
  expect(await read()).not.toEqual(seed);
  await clinic.control('POST', '/control/reset');
  expect(await read()).toEqual(seed);
});

test('a reset during writes and reads fails none of them', async () => {
  const { sessionToken } = await clinic.signIn();
  const refs = Array.from({ length: 30 }, (_, n) => `busy${n}`);
  const [reset, ...responses] = await Promise.all([
    clinic.control('POST', '/control/reset'),
    ...refs.map((ref) => clinic.api('POST', ENCOUNTERS, encounterBody(ref), sessionToken)),
    ...refs.map(() => get('/api/telephone-encounters/30001', sessionToken)),
  ]);
  expect(reset.status).toBe(200);
  // Requests after the reset get 401 because it ended their session.
  expect(responses.filter((response) => ![200, 201, 401].includes(response.status))).toEqual([]);
});

function withoutDate(row: object): object {
  return { ...row, lastModified: undefined };
}

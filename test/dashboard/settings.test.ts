import { readFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { loadConfig } from '../../src/catalog/settings/config.ts';
import { startService } from '../../src/main.ts';
import { openSecretUses } from '../../src/product/clients/secrets.ts';
import { apiAs } from '../api/support.ts';
import { newOperator, signIn, signInOperator, type TestOperator } from '../harness/operator.ts';
import { startSandbox, type TestSandbox } from '../harness/sandbox.ts';

let fixture: TestSandbox;
let owner: TestOperator;
beforeAll(async () => {
  fixture = await startSandbox({ small: true });
  owner = await signInOperator(fixture);
});
afterAll(() => fixture?.close());

describe('clients', () => {
  test('creates a client and creates and revokes its secrets, with two active at a time', async () => {
    const created = await owner.post('clients', { name: 'Front desk', mode: 'test' });
    expect(created.status).toBe(200);
    const { client_id, client_secret } = created.body;
    const call = (secret: string) =>
      apiAs(fixture, { client_id, client_secret: secret }).call('GET', '/link/emrs', {
        headers: { access_token: null },
      });
    expect((await call(client_secret)).status).toBe(200);
    const second = (await owner.post(`clients/${client_id}/keys`)).body.client_secret;
    expect([(await call(client_secret)).status, (await call(second)).status]).toStrictEqual([200, 200]);
    const third = (await owner.post(`clients/${client_id}/keys`)).body.client_secret;
    const statuses = [await call(client_secret), await call(second), await call(third)].map((each) => each.status);
    expect(statuses).toStrictEqual([401, 200, 200]);
    const { keys } = (await owner.get(`clients/${client_id}`)).body.client;
    expect(keys).toHaveLength(2);
    expect((await owner.delete(`clients/${client_id}/keys/${keys[0].id}`)).status).toBe(200);
    expect([(await call(second)).status, (await call(third)).status]).toStrictEqual([401, 200]);
    expect((await owner.delete(`clients/${client_id}/keys/${keys[0].id}`)).status).toBe(404);
    expect(JSON.stringify((await owner.get(`clients/${client_id}`)).body)).not.toMatch(/cs_test_/);
  });

  test('lists a secret with its last four characters, label, creator and last use', async () => {
    const { client_id, client_secret } = (await owner.post('clients', { name: 'Kiosk', mode: 'test' })).body;
    const labeled = (await owner.post(`clients/${client_id}/keys`, { label: ' Build server ' })).body.client_secret;
    const list = async () => (await owner.get(`clients/${client_id}`)).body.client.keys;
    const created_by = fixture.sandbox.dashboard.email;
    const unused = { created_by, last_used_at: null };
    expect(await list()).toMatchObject([
      { ...unused, last_four: client_secret.slice(-4), label: null },
      { ...unused, last_four: labeled.slice(-4), label: 'Build server' },
    ]);
    const call = async (secret: string) => {
      const credentials = apiAs(fixture, { client_id, client_secret: secret });
      return (await credentials.call('GET', '/link/emrs', { headers: { access_token: null } })).status;
    };
    expect(await call(labeled)).toBe(200);
    await expect.poll(async () => (await list())[1].last_used_at).not.toBeNull();
    expect((await list())[0].last_used_at).toBeNull();
    // A wrong secret is not a use.
    expect(await call(`${client_secret}x`)).toBe(401);
    expect((await list())[0].last_used_at).toBeNull();
  });

  test('writes the last use of a secret at most once a minute, from any number of processes', async () => {
    const { client_id } = (await owner.post('clients', { name: 'Busy', mode: 'test' })).body;
    const [secret] = await fixture.owner<{ id: string; client_id: string }[]>`
      SELECT client_secrets.id, client_id FROM client_secrets JOIN clients ON clients.id = client_id
       WHERE public_id = ${client_id}`;
    if (!secret) throw new Error('The client has no secret.');
    let now_ms = 0;
    const uses = [openSecretUses(fixture.ctx, () => now_ms), openSecretUses(fixture.ctx, () => now_ms)];
    const use = async () => {
      for (const each of uses) {
        for (let n = 0; n < 3; n++) each.note({ client_id: secret.client_id, secret_id: secret.id });
        await each.close();
      }
      const [row] = await fixture.owner<{ last_used_at: string; version: string }[]>`
        SELECT iso(last_used_at) AS last_used_at, xmin::text AS version FROM client_secrets WHERE id = ${secret.id}`;
      return row;
    };
    const first = await use();
    now_ms += 59_999;
    await fixture.owner`UPDATE client_secrets SET last_used_at = now() - interval '1 hour' WHERE id = ${secret.id}`;
    const early = await use();
    expect(early?.last_used_at).not.toBe(first?.last_used_at);
    now_ms += 1;
    const second = await use();
    expect(Date.parse(second?.last_used_at ?? '')).toBeGreaterThan(Date.now() - 60_000);
    now_ms += 60_000;
    // The database knows that the minute is not over.
    expect(await use()).toStrictEqual(second);
  });

  test('updates Link settings and names the field of an invalid value', async () => {
    const { body } = await owner.patch('clients/{client}', {
      name: 'Renamed',
      callback_urls: ['https://app.example.org/back'],
      frame_origins: ['https://APP.example.org/'],
      colour: '#AABBCC',
      logo: 'data:image/png;base64,AAAA',
    });
    expect(body.client).toMatchObject({
      name: 'Renamed',
      frame_origins: ['https://app.example.org'],
      colour: '#aabbcc',
      logo: 'data:image/png;base64,AAAA',
    });
    const wrong = {
      callback_urls: ['javascript:alert(1)'],
      frame_origins: ['*'],
      colour: 'red',
      logo: 'data:text/html,x',
    };
    for (const [field, value] of Object.entries(wrong)) {
      const response = await owner.patch('clients/{client}', { [field]: value });
      expect(response, field).toMatchObject({ status: 400, body: { field } });
    }
    expect((await owner.get('clients/{client}')).body.client).toStrictEqual(body.client);
  });
});

describe('operators', () => {
  test('changes the role of an operator, disables, enables and resets it', async () => {
    const second = await newOperator(fixture, 'operator');
    const { id, email } = second;
    expect((await second.get('operators')).body).toMatchObject({
      code: 'operator_role_lacking',
      message: 'This requires the owner role.',
    });
    expect((await owner.patch(`operators/${id}`, { role: 'read_only' })).status).toBe(200);
    expect((await second.get('clients')).body.code).toBe('operator_session_over');
    expect((await owner.patch(`operators/${id}`, { disabled: true })).status).toBe(200);
    expect((await signIn(fixture, second)).status).toBe(401);
    expect((await owner.patch(`operators/${id}`, { disabled: false })).status).toBe(200);
    const { password } = (await owner.post(`operators/${id}/reset`)).body;
    expect((await signIn(fixture, second)).status).toBe(401);
    const again = await signIn(fixture, { email, password });
    expect(again).toMatchObject({ status: 200, body: { session: { pending_setup: 'password' } } });
  });

  test('the last owner cannot be demoted or disabled, even by two parallel requests', async () => {
    const { operators } = (await owner.get('operators')).body;
    const first = operators.find((each: { email: string }) => each.email === fixture.sandbox.dashboard.email);
    expect((await owner.patch(`operators/${first.id}`, { role: 'operator' })).body.code).toBe('owner_last');
    const co = await newOperator(fixture, 'owner');
    const other = (await co.get('session')).body.session.operator;
    const responses = await Promise.all([
      owner.patch(`operators/${other.id}`, { disabled: true }),
      co.patch(`operators/${first.id}`, { disabled: true }),
    ]);
    const owners = await fixture.owner`SELECT FROM operators WHERE role = 'owner' AND disabled_at IS NULL`;
    expect(owners.length, JSON.stringify(responses.map(({ body }) => body))).toBe(1);
    await fixture.owner`UPDATE operators SET disabled_at = NULL, role = 'owner' WHERE email = ${first.email}`;
    owner = await signInOperator(fixture);
  });
});

describe('encryption', () => {
  test('a new master key wraps everything, and the account can still sign in to its EMR', async () => {
    const before = (await owner.get('encryption')).body.encryption;
    const file = join(fixture.env.DATA_DIR ?? '', 'master.key');
    const old_text = await readFile(file, 'utf8');
    const rotated = await owner.post('encryption/rotate');
    expect(rotated.body.rewrapped).toBeGreaterThan(1);
    const after = (await owner.get('encryption')).body.encryption;
    expect(after.current).not.toBe(before.current);
    expect(after.wrapped.map((each: { id: string }) => each.id)).toStrictEqual([after.current]);
    expect(await readFile(file, 'utf8')).not.toBe(old_text);
    await fixture.api.sync();
    const created = await owner.post('clients/{client}/keys');
    expect(created.status).toBe(200);
  });

  test('unwrapped keys are listed by purpose and process, also those of a process that has stopped', async () => {
    await fixture.owner`INSERT INTO key_unwraps SELECT (now() AT TIME ZONE 'UTC')::date - days, 'web-1', 'worker', purpose, n
      FROM (VALUES (0, 'access_token', 3), (9, 'access_token', 2), (9, 'of_a_later_version', 1)) AS t (days, purpose, n)`;
    const stopped = await startService(loadConfig({ ...fixture.env, PORT: '0' }), { role: 'api', print: () => {} });
    const { values } = await stopped.ctx.metrics.key_unwraps.get();
    expect(values).toContainEqual({ labels: { purpose: 'start' }, value: 1 });
    await stopped.close();
    const { unwraps } = (await owner.get('encryption')).body.encryption;
    const worker = { host: 'web-1', role: 'worker' };
    expect(unwraps).toContainEqual({ ...worker, purpose: 'Access tokens', today: 3, last_30_days: 5 });
    expect(unwraps).toContainEqual({ ...worker, purpose: 'of_a_later_version', today: 0, last_30_days: 1 });
    const start = { host: hostname(), role: 'api', purpose: 'Start of a process or a command' };
    expect(unwraps).toContainEqual({ ...start, today: 1, last_30_days: 1 });
  });
});

test('retention periods are listed with their settings', async () => {
  const { retention } = (await owner.get('retention')).body;
  expect(retention).toContainEqual({ what: 'Request log', days: 7, setting: 'REQUESTS_DAYS' });
});

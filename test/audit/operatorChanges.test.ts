import { afterAll, beforeAll, expect, test } from 'vitest';
import { newOperator, openOperator } from '../harness/operator.ts';
import { startSandbox, type TestSandbox } from '../harness/sandbox.ts';

let world: TestSandbox;
beforeAll(async () => {
  world = await startSandbox({ small: true });
});
afterAll(() => world.close());

test('what an operator does that cannot be recorded is not done, and what is done is recorded', async () => {
  const operator = await openOperator(world);
  const other = await newOperator(world, 'operator');
  const [account] = await world.owner<{ id: string }[]>`SELECT id FROM accounts LIMIT 1`;
  const { body: settings } = await operator.get('clients/{client}');
  const [operators] = await world.owner<{ id: string }[]>`SELECT id FROM operators WHERE email = ${other.email}`;
  // Everything that these requests could change.
  const state = async () => {
    const [row] = await world.owner`SELECT
      (SELECT json_agg(clients ORDER BY id)::text FROM clients) AS clients,
      (SELECT json_agg(client_secrets ORDER BY id)::text FROM client_secrets) AS keys,
      (SELECT json_agg(operators ORDER BY id)::text FROM operators) AS operators,
      (SELECT json_agg(accounts ORDER BY id)::text FROM accounts) AS accounts,
      (SELECT count(*) FROM link_tokens) AS links, (SELECT count(*) FROM jobs) AS jobs`;
    return row;
  };
  const at = `clients/{client}/accounts/${account?.id}`;
  const asked = [
    () => operator.post(`${at}/sync`),
    () => operator.post(`${at}/relink`),
    () => operator.post('clients/{client}/links', { org_id: world.sandbox.org_id, user_id: 'unrecorded' }),
    () => operator.patch('clients/{client}', { name: 'Unrecorded' }),
    () => operator.delete(`clients/{client}/keys/${settings.client.keys[0].id}`),
    () => operator.post('clients/{client}/keys'),
    () => operator.post('clients', { name: 'Unrecorded', mode: 'test' }),
    () => operator.post('operators', { email: 'unrecorded@example.test', name: 'Nobody', role: 'operator' }),
    () => other.post('me/password', { password: other.password, new_password: 'another password' }),
    () => operator.patch(`operators/${operators?.id}`, { name: 'Renamed' }),
    () => operator.post(`operators/${operators?.id}/reset`),
    () => operator.post(`${at}/revoke`),
  ];
  const before = await state();
  await world.owner`REVOKE INSERT ON audit_records FROM chartwire_system, chartwire_service`;
  try {
    for (const ask of asked) {
      const { status, body } = await ask();
      expect([status, body.code], String(ask)).toStrictEqual([500, 'internal']);
    }
  } finally {
    await world.owner`GRANT INSERT ON audit_records TO chartwire_system, chartwire_service`;
  }
  expect(await state()).toStrictEqual(before);
  expect((await other.get('session')).body.session.operator.email).toBe(other.email);
  for (const ask of asked) {
    const answer = await ask();
    expect(answer.status, `${ask} ${JSON.stringify(answer.body)}`).toBe(200);
    const records = await world.owner`SELECT outcome FROM audit_records
        WHERE request_id = ${answer.headers.get('x-request-id')}`;
    expect([...records], String(ask)).toStrictEqual([{ outcome: '200' }]);
  }
});

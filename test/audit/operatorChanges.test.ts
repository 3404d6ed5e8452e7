import { afterAll, beforeAll, expect, test } from 'vitest';
import { newOperator, signInOperator } from '../harness/operator.ts';
import { startSandbox, type TestSandbox } from '../harness/sandbox.ts';

let fixture: TestSandbox;
beforeAll(async () => {
  fixture = await startSandbox({ small: true });
});
afterAll(() => fixture.close());

test('an operator action fails without effect if it cannot be recorded, and is recorded otherwise', async () => {
  const operator = await signInOperator(fixture);
  const other = await newOperator(fixture, 'operator');
  const [account] = await fixture.owner<{ id: string }[]>`SELECT id FROM accounts LIMIT 1`;
  const { body: settings } = await operator.get('clients/{client}');
  const [operators] = await fixture.owner<{ id: string }[]>`SELECT id FROM operators WHERE email = ${other.email}`;
  // Everything that these requests change.
  const state = async () => {
    const [row] = await fixture.owner`SELECT
      (SELECT json_agg(clients ORDER BY id)::text FROM clients) AS clients,
      (SELECT json_agg(client_secrets ORDER BY id)::text FROM client_secrets) AS keys,
      (SELECT json_agg(operators ORDER BY id)::text FROM operators) AS operators,
      (SELECT json_agg(accounts ORDER BY id)::text FROM accounts) AS accounts,
      (SELECT count(*) FROM operator_invitations) AS invitations,
      (SELECT count(*) FROM link_tokens) AS links, (SELECT count(*) FROM jobs) AS jobs`;
    return row;
  };
  const at = `clients/{client}/accounts/${account?.id}`;
  const actions = [
    () => operator.post(`${at}/sync`),
    () => operator.post(`${at}/relink`),
    () => operator.post('clients/{client}/links', { org_id: fixture.sandbox.org_id, user_id: 'unrecorded' }),
    () => operator.patch('clients/{client}', { name: 'Unrecorded' }),
    () => operator.delete(`clients/{client}/keys/${settings.client.keys[0].id}`),
    () => operator.post('clients/{client}/keys'),
    () => operator.post('clients', { name: 'Unrecorded', mode: 'test' }),
    () => operator.post('invitations', { email: 'unrecorded@example.test', role: 'operator' }),
    () => other.post('me/password', { new_password: 'another password' }),
    () => operator.patch(`operators/${operators?.id}`, { name: 'Renamed' }),
    () => operator.post(`operators/${operators?.id}/reset`),
    () => operator.post(`${at}/revoke`),
  ];
  const before = await state();
  await fixture.owner`REVOKE INSERT ON audit_records FROM chartwire_system, chartwire_service`;
  try {
    for (const act of actions) {
      const { status, body } = await act();
      expect([status, body.code], String(act)).toStrictEqual([500, 'internal']);
    }
  } finally {
    await fixture.owner`GRANT INSERT ON audit_records TO chartwire_system, chartwire_service`;
  }
  expect(await state()).toStrictEqual(before);
  expect((await other.get('session')).body.session.operator.email).toBe(other.email);
  for (const act of actions) {
    const response = await act();
    expect(response.status, `${act} ${JSON.stringify(response.body)}`).toBe(200);
    const records = await fixture.owner`SELECT outcome FROM audit_records
        WHERE request_id = ${response.headers.get('x-request-id')}`;
    expect([...records], String(act)).toStrictEqual([{ outcome: '200' }]);
  }
});

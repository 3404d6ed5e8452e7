import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startSandbox, type TestSandbox } from '../harness/sandbox.ts';

let world: TestSandbox;
let emr_appointment_id: string;
beforeAll(async () => {
  world = await startSandbox();
  const { body } = await world.api.callIn({ reason: 'Call' });
  emr_appointment_id = (await world.api.untilEvent(body.job_id)).data.emr_encounter_id;
});
afterAll(() => world.close());

const act = (body: Record<string, unknown>) => world.api.call('POST', '/v1/telephone-encounters/actions', { body });

describe('an action on a telephone encounter', () => {
  test('is appended to its log, signed with the EMR user’s name and the time in the practice’s zone', async () => {
    const { api, sandbox, ctx } = world;
    for (const text of ['Called back.', 'Left a message.']) {
      const { status, body } = await act({ emr_appointment_id, text, is_high_priority: 'true' });
      expect(status).toBe(200);
      expect(body).toStrictEqual({
        success: true,
        message: expect.stringContaining('webhook event'),
        action_id: expect.stringMatching(/^[0-9a-f]{32}$/),
        job_id: expect.any(Number),
      });
      const event = await api.untilEvent(body.job_id);
      expect(event.event_type).toBe('telephone_encounter_action.created');
      expect(event.data).toStrictEqual({ action_id: body.action_id, emr_appointment_id, text });
    }
    const larkspur = await world.owner<{ name: string }[]>`SELECT emr_user_name AS name FROM accounts`;
    const signature = `${larkspur[0]?.name} \\d\\d/\\d\\d/\\d{4} \\d\\d:\\d\\d [AP]M E[SD]T`;
    const log = await actionsOf(sandbox.larkspur.url, ctx);
    expect(log).toStrictEqual([
      expect.stringMatching(new RegExp(`^${signature}: Called back\\.$`)),
      expect.stringMatching(new RegExp(`^${signature}: Left a message\\.$`)),
    ]);
  });

  test('on an encounter that does not exist fails, and says so', async () => {
    const { body } = await act({ emr_appointment_id: '999999', text: 'Into the void' });
    const event = await world.api.untilEvent(body.job_id);
    expect(event.event_type).toBe('telephone_encounter_action.failed');
    expect(event.data).toStrictEqual({
      action_id: body.action_id,
      emr_appointment_id: '999999',
      failure_reason: expect.any(String),
      reasons: [{ code: 'not_found', description: event.data.failure_reason }],
    });
  });

  test('whose answer is lost stands in the log once', async () => {
    const { api } = world;
    await api.control('POST', '/control/faults', { operation: 'add_telephone_action', kind: 'lose_answer', times: 1 });
    const { body } = await act({ emr_appointment_id, text: 'Once only' });
    expect((await api.untilEvent(body.job_id)).event_type).toBe('telephone_encounter_action.created');
    const applied = (await api.ledger()).filter(({ marker, applied }) => applied && marker.startsWith(body.action_id));
    expect(applied).toHaveLength(1);
  });

  test.each([
    [{}, 'Missing required field: emr_appointment_id'],
    [{ emr_appointment_id: '1' }, 'Missing required field: text'],
    [{ emr_appointment_id: '1', text: 'x', is_high_priority: true }, 'is_high_priority must be one of: true, false'],
    [{ emr_appointment_id: '1', text: 'x', is_high_priority: 'yes' }, 'is_high_priority must be one of: true, false'],
    [{ emr_appointment_id: '1', text: 'x', more: 1 }, 'Unexpected fields in request body: more'],
  ])('is refused with %o', async (body, message) => {
    const answer = await act(body);
    expect(answer.status).toBe(400);
    expect(answer.body.message).toBe(message);
  });
});

/** The log as Larkspur holds it, read with the linked account’s own session. */
async function actionsOf(url: string, ctx: TestSandbox['ctx']): Promise<string[]> {
  const [account] = await ctx.db.system<{ id: string; client_id: string }[]>`SELECT id, client_id FROM accounts`;
  if (!account) throw new Error('There is no account.');
  const grant = await ctx.db.tenant(account.client_id, async (tx) => {
    const [row] = await tx<{ grant_sealed: Buffer }[]>`SELECT grant_sealed FROM accounts WHERE id = ${account.id}`;
    return JSON.parse(await ctx.vault.unseal(tx, row?.grant_sealed ?? Buffer.alloc(0), `grant:${account.id}`));
  });
  const answer = await fetch(`${url}/api/telephone-encounters/${emr_appointment_id}`, {
    headers: { authorization: `Bearer ${grant.session_token}` },
  });
  const encounter = (await answer.json()) as { actions: { text: string }[] };
  return encounter.actions.map((action) => action.text).filter((text) => !text.includes('Once only'));
}

import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { sealAudit } from '../../src/product/audit/seals.ts';
import { verifyAudit } from '../../src/product/audit/verification.ts';
import { startSandbox, type TestSandbox } from '../harness/sandbox.ts';
import { startReceiver } from '../harness/servers/receiver.ts';

let fixture: TestSandbox;
beforeAll(async () => {
  fixture = await startSandbox({ small: true });
});
afterAll(() => fixture.close());

/** Runs `work` while a trigger drops the audit records of an action. */
async function withDroppedRecords(action: string, work: () => Promise<void>): Promise<void> {
  await fixture.owner.unsafe(`
    CREATE FUNCTION drop_records() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN IF NEW.action = '${action}' THEN RETURN NULL; END IF; RETURN NEW; END $$;
    CREATE TRIGGER drop_records BEFORE INSERT ON audit_records FOR EACH ROW EXECUTE FUNCTION drop_records()`);
  try {
    await work();
  } finally {
    await fixture.owner.unsafe('DROP TRIGGER drop_records ON audit_records; DROP FUNCTION drop_records()');
  }
}

test.each([
  ['a read', 'patients.list', () => fixture.api.call('GET', '/v1/patients')],
  ['a write that queues a job', 'telephone-encounters.create', () => fixture.api.callIn()],
  [
    'a change of our own data',
    'webhook.create',
    () =>
      fixture.api.call('POST', '/v1/webhook', {
        body: { webhook_url: 'https://example.org/dropped' },
        headers: { access_token: null },
      }),
  ],
] as const)('%s fails without effect if a trigger drops its audit record', async (_case, action, act) => {
  const state = async () => {
    const [row] = await fixture.owner`SELECT (SELECT count(*) FROM operations) AS operations,
      (SELECT count(*) FROM jobs) AS jobs, (SELECT count(*) FROM webhook_endpoints) AS endpoints`;
    return row;
  };
  const before = await state();
  await withDroppedRecords(action, async () => {
    expect((await act()).body).toMatchObject({ success: false, code: 'internal' });
    expect(await state()).toStrictEqual(before);
  });
  expect((await act()).status).toBe(200);
});

test('the outcome of a delivery is not stored without its audit record', async () => {
  const receiver = await startReceiver();
  onTestFinished(receiver.close);
  const headers = { access_token: null };
  const hook = { body: { webhook_url: receiver.url }, headers };
  const { webhook_id } = (await fixture.api.call('POST', '/v1/webhook', hook)).body;
  await withDroppedRecords('webhook.deliver', async () => {
    const { job_id } = (await fixture.api.callIn()).body;
    await fixture.api.untilEvent(job_id);
    await expect.poll(() => receiver.received.length, { timeout: 20_000 }).toBeGreaterThan(0);
    const attempts = await fixture.owner`SELECT FROM delivery_attempts
      JOIN deliveries ON deliveries.id = delivery_id WHERE endpoint_id = ${webhook_id}`;
    expect(attempts).toHaveLength(0);
  });
  await fixture.api.call('DELETE', `/v1/webhook/${webhook_id}`, { headers });
});

test('the verification lists triggers and rules on the tables of the audit log', async () => {
  await fixture.owner.unsafe('CREATE RULE skip_head AS ON DELETE TO audit_head DO INSTEAD NOTHING');
  try {
    await withDroppedRecords('none', async () => {
      expect((await verifyAudit(fixture.ctx)).faults).toStrictEqual([
        { position: null, id: 'rule skip_head on audit_head', what: 'trigger' },
        { position: null, id: 'trigger drop_records on audit_records', what: 'trigger' },
      ]);
    });
  } finally {
    await fixture.owner.unsafe('DROP RULE skip_head ON audit_head');
  }
  expect(await verifyAudit(fixture.ctx)).toMatchObject({ ok: true });
});

test('the verification reports every missing record of a gap', async () => {
  await sealAudit(fixture.ctx);
  await fixture.owner.begin(async (tx) => {
    await tx`DELETE FROM audit_records WHERE position BETWEEN 2 AND 4`;
  });
  const { faults } = await verifyAudit(fixture.ctx);
  const missing = faults.filter(({ what }) => what === 'missing').map(({ position }) => position);
  expect(missing).toStrictEqual([2, 3, 4]);
});

import { afterAll, beforeAll, expect, test } from 'vitest';
import { sealAudit } from '../../src/audit/sealAudit.ts';
import { verifyAudit } from '../../src/audit/verifyAudit.ts';
import { startSandbox, type TestSandbox } from '../harness/sandbox.ts';

let world: TestSandbox;
beforeAll(async () => {
  world = await startSandbox({ small: true });
});
afterAll(() => world.close());

type Row = { action: string; outcome: string; actor_kind: string; actor: string; n: number; subject: string | null };
const recordsOf = (request_id: string) =>
  world.owner<Row[]>`SELECT action, outcome, actor_kind, actor, cardinality(patients) AS n, subject FROM audit_records
    WHERE request_id = ${request_id}`;

test('a list is recorded with every patient it shows, before it is answered', async () => {
  const answer = await world.api.call('GET', '/v1/patients?page_size=20');
  const [row, ...more] = await recordsOf(answer.headers.get('x-request-id') ?? '');
  expect(more).toHaveLength(0);
  expect(row).toMatchObject({ action: 'patients.list', outcome: '200', actor_kind: 'client', n: 20 });
  expect(row?.actor).toBe(world.sandbox.client_id);
});

test('a write', async () => {
  const answer = await world.api.callIn();
  await world.api.untilEvent(answer.body.job_id);
  console.log(await recordsOf(answer.headers.get('x-request-id') ?? ''));
  console.log(await world.owner`SELECT * FROM audit_records WHERE job_id = ${answer.body.job_id}`);
  console.log(await world.owner`SELECT * FROM requests`);
  await sealAudit(world.ctx);
  console.log(await verifyAudit(world.ctx));
});

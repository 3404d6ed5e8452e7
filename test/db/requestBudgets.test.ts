import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type Database, openDatabase } from '../../src/platform/db/database.ts';
import { parseDatabaseUrl } from '../../src/platform/db/openServer.ts';
import { roleAddresses } from '../../src/platform/db/roles.ts';
import { openRequestBudget } from '../../src/product/accounts/requestBudgets.ts';
import { startSandbox, type TestSandbox } from '../harness/sandbox.ts';

let fixture: TestSandbox;
let db: Database;
beforeAll(async () => {
  fixture = await startSandbox({ small: true });
  db = openDatabase(roleAddresses(parseDatabaseUrl('DATABASE_URL', fixture.env.DATABASE_URL ?? '')), 2);
});
afterAll(async () => {
  await db.close();
  await fixture.close();
});
beforeEach(async () => {
  // A test must not run over the end of a minute.
  await expect.poll(() => new Date().getSeconds()).toBeLessThan(55);
  await fixture.owner`DELETE FROM emr_request_budgets`;
});

const address = 'https://fhir.budget.example/r4';
const open = (signal = new AbortController().signal) => openRequestBudget({ db }, address, signal);

/** As if the minute of the last requests had ended. */
const endMinute = () => fixture.owner`UPDATE emr_request_budgets SET minute = minute - interval '1 minute'`;
const read = async () =>
  (await fixture.owner`SELECT per_minute, confirmations, blocked, requests FROM emr_request_budgets`)[0];

async function send(budget: Awaited<ReturnType<typeof open>>, requests: number): Promise<void> {
  for (let n = 0; n < requests; n++) await budget.take();
}

/** Whether a further request would wait for the next minute. */
async function waits(): Promise<boolean> {
  // Ends a wait at once.
  const budget = await open(AbortSignal.abort());
  return budget.take().then(
    () => false,
    () => true,
  );
}

test('nothing is stored for an EMR that takes all requests', async () => {
  await send(await open(), 30);
  expect(await read()).toBeUndefined();
});

test('after a rejection, every process waits for the next minute', async () => {
  const budget = await open();
  await send(budget, 31);
  await budget.exceeded();
  expect(await read()).toMatchObject({ per_minute: 30, confirmations: 1, blocked: true });
  expect(await waits()).toBe(true);
  await endMinute();
  expect(await waits()).toBe(false);
});

test('a limit counts once it was confirmed, and rises if it was too low', async () => {
  const budget = await open();
  await send(budget, 31);
  await budget.exceeded();
  await endMinute();
  // The first rejection was due to others: now more is taken.
  await send(budget, 51);
  await budget.exceeded();
  expect(await read()).toMatchObject({ per_minute: 50, confirmations: 1 });
  await endMinute();
  await send(budget, 51);
  await budget.exceeded();
  expect(await read()).toMatchObject({ per_minute: 50, confirmations: 2 });
  await endMinute();
  await send(budget, 50);
  expect(await waits()).toBe(true);
  await endMinute();
  await send(budget, 1);
  expect(await read()).toMatchObject({ per_minute: 52, requests: 1, blocked: false });
});

test('a rejection after few requests blocks the minute and changes no limit', async () => {
  const budget = await open();
  await send(budget, 31);
  await budget.exceeded();
  await endMinute();
  await send(budget, 5);
  await budget.exceeded();
  expect(await read()).toMatchObject({ per_minute: 30, confirmations: 1, blocked: true });
});

import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type Database, openDatabase } from '../../src/platform/db/database.ts';
import { parseDatabaseUrl } from '../../src/platform/db/openServer.ts';
import { roleAddresses } from '../../src/platform/db/roles.ts';
import {
  countedBy,
  openRequestBudget,
  type RequestBudget,
  readRequestLimit,
} from '../../src/product/accounts/requestBudgets.ts';
import { awaitFailure } from '../connectors/larkspur/fixture.ts';
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
const open = () => openRequestBudget({ db }, address, { urgent: false });

/** As if the minute of the last requests had ended. */
const endMinute = () => fixture.owner`UPDATE emr_request_budgets SET minute = minute - interval '1 minute'`;
const read = async () =>
  (await fixture.owner`SELECT per_minute, confirmations, blocked, requests FROM emr_request_budgets`)[0];

async function send(budget: RequestBudget, requests: number): Promise<void> {
  for (let n = 0; n < requests; n++) await budget.take();
}

/** Whether a further request would wait for the next minute. */
async function waits(budget = open()): Promise<boolean> {
  // Ends a wait at once.
  return budget.take(AbortSignal.abort()).then(
    () => false,
    () => true,
  );
}

test('nothing is stored for an EMR that takes all requests', async () => {
  await send(open(), 30);
  expect(await read()).toBeUndefined();
});

test('after a rejection, every process waits for the next minute', async () => {
  const budget = open();
  await send(budget, 31);
  await budget.exceeded();
  expect(await read()).toMatchObject({ per_minute: 30, confirmations: 1, blocked: true });
  expect(await waits()).toBe(true);
  await endMinute();
  expect(await waits()).toBe(false);
});

test('a limit counts once it was confirmed, and rises if it was too low', async () => {
  const budget = open();
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
  const budget = open();
  await send(budget, 31);
  await budget.exceeded();
  await endMinute();
  await send(budget, 5);
  await budget.exceeded();
  expect(await read()).toMatchObject({ per_minute: 30, confirmations: 1, blocked: true });
});

test('an urgent request does not wait, and counts', async () => {
  const budget = open();
  await send(budget, 31);
  await budget.exceeded();
  const urgent = openRequestBudget({ db }, address, { urgent: true });
  expect(await waits(urgent)).toBe(false);
  expect(await read()).toMatchObject({ requests: 31, blocked: true });
  expect(await waits()).toBe(true);
  await endMinute();
  expect(await waits(urgent)).toBe(false);
  expect(await read()).toMatchObject({ requests: 1, blocked: false });
});

test('a request that would have to wait for longer than its caller says when to try again', async () => {
  const budget = open();
  await send(budget, 31);
  await budget.exceeded();
  const failure = await awaitFailure(budget.take(AbortSignal.abort()));
  expect(failure.kind).toBe('unavailable');
  expect(failure.retry_after_ms).toBeGreaterThan(0);
  expect(failure.retry_after_ms).toBeLessThan(61_000);
});

test('a limit is shown once it is confirmed, and forgotten after a week without a rejection', async () => {
  const budget = open();
  for (let minute = 0; minute < 2; minute++) {
    expect(await readRequestLimit(db.system, address)).toBeUndefined();
    await send(budget, 31);
    await budget.exceeded();
    await endMinute();
  }
  expect(await readRequestLimit(db.system, address)).toBe(30);
  await fixture.owner`UPDATE emr_request_budgets SET limited_at = now() - interval '8 days', blocked = true, minute = date_trunc('minute', now())`;
  expect(await waits()).toBe(false);
  expect(await readRequestLimit(db.system, address)).toBeUndefined();
});

test('requests count for the address, or for the EMR app where the vendor counts so', () => {
  const app_id = '0192f0c0-0000-7000-8000-000000000001';
  const of = (at: string, requests_counted_per?: 'address' | 'app', emr_app_id: string | null = app_id) =>
    countedBy({ address: at, requests_counted_per }, emr_app_id);
  expect(of(address)).toBe(address);
  expect(of(`${address}/`, 'address')).toBe(address);
  expect(of(address, 'app')).toBe(`emr_app:${app_id}`);
  expect(of('https://other.budget.example/r4', 'app')).toBe(of(address, 'app'));
  expect(of(address, 'app', null)).toBe(address);
});

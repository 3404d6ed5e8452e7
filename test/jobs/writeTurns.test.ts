import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { newId } from '../../src/catalog/ids.ts';
import { EmrFailure } from '../../src/emr/emrFailure.ts';
import type { Operations } from '../../src/emr/operations/operations.ts';
import { claimTurn, endTurn, hashAddress, TurnTaken, takeTurns } from '../../src/product/jobs/writeTurns.ts';
import { deferred } from '../harness/deferred.ts';
import { type Fixture, openFixture } from './fixture.ts';

let fixture: Fixture;
const address = 'https://emr.example.org';
const { signal } = new AbortController();
beforeAll(async () => {
  fixture = await openFixture();
});
afterAll(() => fixture.close());
beforeEach(async () => {
  await fixture.owner`DELETE FROM write_turns`;
});

type Create = Operations['createReferringProvider'];
const nobody = null as unknown as Parameters<Create['send']>[0];

/** A write at this address that announces, and then waits for `sent`. */
function writeAt(at: string, sent: () => Promise<void> = async () => {}): Create {
  const write: Create = {
    announces: true,
    send: async (_input, _marker, sending) => {
      await sending?.();
      await sent();
      return { ehr_id: '1' };
    },
  };
  const { createReferringProvider } = takeTurns(fixture.db.system, at, { createReferringProvider: write }, signal);
  return createReferringProvider ?? write;
}

const turns = () => fixture.owner`SELECT FROM write_turns`;

test('a write waits for another one at the same address, and gives its turn back', async () => {
  const first = deferred<void>();
  const order: string[] = [];
  const started = deferred<void>();
  const holding = writeAt(address, async () => {
    order.push('first');
    started.resolve();
    await first.promise;
  }).send(nobody, 'a');
  await started.promise;
  const waiting = writeAt(`${address}/`, async () => void order.push('second')).send(nobody, 'b');
  await writeAt('https://other.example.org', async () => void order.push('elsewhere')).send(nobody, 'c');
  first.resolve();
  await Promise.all([holding, waiting]);
  expect(order).toStrictEqual(['first', 'elsewhere', 'second']);
  expect(await turns()).toHaveLength(0);
});

test('a write that waits too long has announced nothing, and its job returns to the queue', async () => {
  await claimTurn(fixture.db.system, hashAddress(address), newId(), 15_000);
  let announced = false;
  const sent = writeAt(address).send(nobody, 'a', async () => {
    announced = true;
  });
  await expect(sent).rejects.toThrow(TurnTaken);
  expect(announced).toBe(false);
});

test('the turn of a process that died, or of a clock that was ahead, passes to the next write', async () => {
  for (const lease of ['-1 second', '1 day']) {
    await fixture.owner`DELETE FROM write_turns`;
    await fixture.owner`INSERT INTO write_turns (address_hash, owner, locked_until)
      VALUES (${hashAddress(address)}, ${newId()}, now() + ${lease}::interval)`;
    expect(await writeAt(address).send(nobody, 'a')).toStrictEqual({ ehr_id: '1' });
  }
});

test('a failed write gives its turn back, and a later owner keeps its own', async () => {
  const refused = writeAt(address, async () => {
    throw new EmrFailure('refused', 'No.');
  });
  await expect(refused.send(nobody, 'a')).rejects.toThrow('No.');
  expect(await turns()).toHaveLength(0);
  const [late, owner] = [newId(), newId()];
  const hash = hashAddress(address);
  expect(await claimTurn(fixture.db.system, hash, owner, 15_000)).toBe(true);
  expect(await claimTurn(fixture.db.system, hash, late, 15_000)).toBe(false);
  await endTurn(fixture.db.system, hash, late);
  expect(await turns()).toHaveLength(1);
});

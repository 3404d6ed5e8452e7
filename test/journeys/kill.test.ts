import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import type { Api } from '../harness/api.ts';
import { answering, startReceiver } from '../harness/receiver.ts';
import { spawnSandbox, type TestProcess } from '../harness/sandbox.ts';
import {
  type Accepted,
  accept,
  expectNothingLocked,
  expectNothingLostOrDoubled,
  type Installation,
  install,
  lease,
  untilIntent,
} from './installation.ts';
import { appliedMarkers, createMarker, patient, setFault, until, untilFaultsMet } from './journey.ts';

const create = 'create_telephone_encounter';
describe('with an API, workers and an EMR as processes of their own', () => {
  let world: Installation;
  beforeAll(async () => {
    world = await install();
  });
  afterAll(() => world.close());

  test('a worker killed between intent and answer: another one finishes, one write, one event', async () => {
    const { api, owner } = world;
    await setFault(api, create, 'delay', { delay_ms: 5_000 });
    const killed = await world.startWorker();
    const accepted = await accept(world);
    await untilIntent(owner, accepted.job_id);
    await untilFaultsMet(api);
    await killed.kill('SIGKILL');
    await untilApplied(api, accepted);
    const heir = await world.startWorker();
    onTestFinished(() => heir.kill());
    await expectNothingLostOrDoubled(world, [accepted]);
    expect((await api.job(accepted.job_id)).attempts).toBe(2);
  });

  test('a worker killed while the EMR still holds its write: the late write and the new one are one', async () => {
    const { api, owner } = world;
    // Longer than the lease and the start of a process on a busy machine: the heir asks before the first write is applied,
    // is told no, and sends it again.
    await setFault(api, create, 'delay', { delay_ms: 25_000 });
    const killed = await world.startWorker();
    const accepted = await accept(world);
    await untilIntent(owner, accepted.job_id);
    await untilFaultsMet(api);
    await killed.kill('SIGKILL');
    const heir = await world.startWorker();
    onTestFinished(() => heir.kill());
    await expectNothingLostOrDoubled(world, [accepted]);
    const marker = createMarker(accepted.telephone_encounter_id);
    const both = () => api.ledger().then((entries) => entries.filter((entry) => entry.marker === marker));
    await expect.poll(async () => (await both()).length).toBe(2);
    expect((await both()).filter((entry) => entry.applied)).toHaveLength(1);
  });

  test('three workers killed during 60 mixed writes: 0 lost, 0 doubled, one event each, order kept', async () => {
    const { api } = world;
    await setFault(api, '*', 'delay', { times: 150, delay_ms: 60 });
    const workers: TestProcess[] = [await world.startWorker(), await world.startWorker()];
    const accepted: Accepted[] = [];
    for (let n = 0; n < 60; n++) {
      // The first patient's list has what is to be refilled.
      const fields = n % 6 === 0 ? { refill_medication_name: 'Lisinopril', pharmacy_ehr_id: '9005' } : {};
      accepted.push(await accept(world, 1 + (n % 6), fields));
      if (n % 20 !== 10) continue;
      await workers.shift()?.kill('SIGKILL');
      workers.push(await world.startWorker());
    }
    await expectNothingLostOrDoubled(world, accepted);
    await api.control('DELETE', '/control/faults');
    const end = await Promise.all(workers.map((worker) => worker.kill()));
    expect(end).toHaveLength(2);
    await expectNothingLocked(world);
  });

  test('a worker killed in mid delivery: another one delivers, with the same webhook-id', async () => {
    const { api, owner } = world;
    const receiver = await startReceiver(() => {});
    onTestFinished(receiver.close);
    const { body } = await api.call('POST', '/v1/webhook', { body: { webhook_url: receiver.url } });
    const killed = await world.startWorker();
    const accepted = await accept(world);
    await expect.poll(() => receiver.received.length).toBe(1);
    await killed.kill('SIGKILL');
    receiver.answer = answering(200);
    const heir = await world.startWorker();
    onTestFinished(() => heir.kill());
    await expect.poll(() => receiver.received.length).toBe(2);
    const event = await api.untilEvent(accepted.job_id);
    expect(receiver.received.map(({ headers }) => headers['webhook-id'])).toStrictEqual([event.id, event.id]);
    await until(
      'the delivery to be done',
      async () => (await api.untilEvent(accepted.job_id)).delivery_status === 'success',
    );
    await api.call('DELETE', `/v1/webhook/${body.webhook_id}`);
    await expectNothingLostOrDoubled({ api, owner }, [accepted]);
  });

  test('a worker frozen past its lease and continued: its late result is dropped, no second event', async () => {
    const { api, owner } = world;
    await setFault(api, create, 'delay', { delay_ms: 5_000 });
    const frozen = await world.startWorker({ LOG_LEVEL: 'warn' });
    const accepted = await accept(world);
    await untilIntent(owner, accepted.job_id);
    await untilFaultsMet(api);
    frozen.child.kill('SIGSTOP');
    await untilApplied(api, accepted);
    // A second write of the same lane keeps the heir at work in it when the frozen one comes back.
    await setFault(api, create, 'delay', { delay_ms: 8_000 });
    const next = await accept(world);
    const heir = await world.startWorker();
    onTestFinished(async () => {
      await heir.kill();
      await frozen.kill('SIGKILL');
    });
    await untilIntent(owner, next.job_id);
    const before = await api.job(accepted.job_id);
    expect(before.status).toBe('succeeded');
    frozen.child.kill('SIGCONT');
    await expect.poll(frozen.output).toContain('lease lost before the job finished');
    await expectNothingLostOrDoubled(world, [accepted, next]);
    expect(await api.job(accepted.job_id)).toStrictEqual(before);
  });
});

/** Waits until the write of a worker that no longer hears of it stands in the chart. */
async function untilApplied(api: Api, { telephone_encounter_id }: Accepted): Promise<void> {
  const marker = createMarker(telephone_encounter_id);
  await until('the write to be applied', async () => (await appliedMarkers(api)).includes(marker));
}

describe('the whole product in one process', () => {
  test('killed while it takes requests and started again: all that was answered 200 exists and finishes', async () => {
    const spawned = await spawnSandbox({ env: lease });
    onTestFinished(spawned.close);
    const { owner } = spawned;
    const product = await spawned.start();
    const { api } = await spawned.read();
    await setFault(api, '*', 'delay', { times: 200, delay_ms: 50 });
    const accepted: Accepted[] = [];
    const clients = [1, 2, 3, 4].map(async (n) => {
      for (;;) {
        // The connection breaks off when the process dies; what was not answered was not promised.
        const answer = await api.callIn({ patient_mrn: patient(n).mrn }).catch(() => undefined);
        if (answer?.status !== 200) return;
        accepted.push({ ...answer.body, mrn: patient(n).mrn });
        if (accepted.length === 40) await product.kill('SIGKILL');
      }
    });
    await Promise.all(clients);
    expect(accepted.length).toBeGreaterThanOrEqual(40);
    await spawned.start();
    await api.control('DELETE', '/control/faults');
    const rows = await owner`SELECT FROM jobs WHERE id = ANY (${accepted.map(({ job_id }) => job_id)})`;
    expect(rows).toHaveLength(accepted.length);
    await expectNothingLostOrDoubled({ api, owner }, accepted);
  });

  test('the EMR gone and back: what was accepted meanwhile is written when it is back', async () => {
    const spawned = await spawnSandbox({ env: lease });
    onTestFinished(spawned.close);
    const { owner } = spawned;
    const product = await spawned.start();
    const { api } = await spawned.read();
    // Larkspur dies with the process that it shares; the API and a worker of the same installation stay.
    await product.kill('SIGKILL');
    await spawned.start('api');
    const worker = await spawned.start('worker');
    const accepted = await accept({ api });
    await expect.poll(async () => (await api.job(accepted.job_id)).error?.code).toBe('unavailable');
    await spawned.start('all', { PORT: '0' });
    await expectNothingLostOrDoubled({ api, owner }, [accepted]);
    const job = await api.job(accepted.job_id);
    expect(job.attempts).toBeGreaterThan(1);
    expect(job.timeline.map(({ step }: { step: string }) => step)).toContain('retry');
    await worker.kill();
  });
});

import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import type { Api } from '../harness/api.ts';
import { figure, timeoutFor } from '../harness/figure.ts';
import { spawnSandbox, type TestProcess } from '../harness/sandbox.ts';
import { respondWith, startReceiver } from '../harness/servers/receiver.ts';
import { withGate } from './gate.ts';
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
import { appliedMarkers, createMarker, patient, setFault, until, untilFaultsApplied } from './support.ts';

const create = 'create_telephone_encounter';
const freezes = figure('FREEZES', 1);
const frozen_at_once = 6;
const product_kills = figure('PRODUCT_KILLS', 1);

describe('with separate API, worker and EMR processes', () => {
  let fixture: Installation;
  beforeAll(async () => {
    fixture = await install();
  });
  afterAll(() => fixture.close());

  let replacement: TestProcess | undefined;
  /** The worker that replaced the last one, or a new one: starting a process takes two seconds of a core. */
  async function runningWorker(): Promise<TestProcess> {
    const running = replacement ?? (await startWorker());
    replacement = undefined;
    return running;
  }
  const startWorker = () => fixture.startWorker({ LOG_LEVEL: 'warn' });

  test('if a worker is killed before the EMR applies its write, the late write and the repeated one are applied once', async () => {
    const { api, emr_owner } = fixture;
    const killed = await runningWorker();
    await emr_owner`CREATE SEQUENCE writes_begun`;
    // The EMR applies the first write late: the replacement looks it up, finds nothing, and its own is applied.
    const first = { statement: 'INSERT ON receipts', when: `nextval('writes_begun') = 1` };
    const accepted = await withGate(emr_owner, first, async ({ untilWaiting }) => {
      const accepted = await accept(fixture);
      await untilWaiting();
      await killed.stop('SIGKILL');
      replacement = await startWorker();
      await expectNothingLostOrDoubled(fixture, [accepted]);
      return accepted;
    });
    const marker = createMarker(accepted.telephone_encounter_id);
    const both = () => api.ledger().then((entries) => entries.filter((entry) => entry.marker === marker));
    await expect.poll(async () => (await both()).length).toBe(2);
    expect((await both()).filter((entry) => entry.applied)).toHaveLength(1);
  });

  test('if three workers are killed during 30 mixed writes, none is lost or repeated and the order is kept', async () => {
    const { api } = fixture;
    await setFault(api, '*', 'delay', { times: 150, delay_ms: 60 });
    const workers: TestProcess[] = [await runningWorker(), await startWorker()];
    const accepted: Accepted[] = [];
    for (let n = 0; n < 30; n++) {
      // Only the first patient has the medication.
      const fields = n % 6 === 0 ? { refill_medication_name: 'Lisinopril', pharmacy_ehr_id: '9005' } : {};
      accepted.push(await accept(fixture, 1 + (n % 6), fields));
      if (n % 10 !== 5) continue;
      await workers.shift()?.stop('SIGKILL');
      workers.push(await startWorker());
    }
    await expectNothingLostOrDoubled(fixture, accepted);
    await api.control('DELETE', '/control/faults');
    const exits = await Promise.all(workers.map((worker) => worker.stop()));
    expect(exits).toHaveLength(2);
    await expectNothingLocked(fixture);
  });

  test('if a worker is killed during a delivery, another one delivers with the same webhook-id', async () => {
    const { api, owner } = fixture;
    const receiver = await startReceiver(() => {});
    onTestFinished(receiver.close);
    const { body } = await api.call('POST', '/v1/webhook', { body: { webhook_url: receiver.url } });
    const killed = await runningWorker();
    const accepted = await accept(fixture);
    await expect.poll(() => receiver.received.length).toBe(1);
    await killed.stop('SIGKILL');
    receiver.respond = respondWith(200);
    replacement = await startWorker();
    await expect.poll(() => receiver.received.length).toBe(2);
    const event = await api.untilEvent(accepted.job_id);
    expect(receiver.received.map(({ headers }) => headers['webhook-id'])).toStrictEqual([event.id, event.id]);
    await until(
      'the delivery to succeed',
      async () => (await api.untilEvent(accepted.job_id)).delivery_status === 'success',
    );
    await api.call('DELETE', `/v1/webhook/${body.webhook_id}`);
    await expectNothingLostOrDoubled({ api, owner }, [accepted]);
  });

  test('the late result of a worker that was frozen past its lease is discarded, without a second event', {
    timeout: timeoutFor(freezes, 60_000),
  }, async () => {
    const { api, owner } = fixture;
    // A client gets half of a worker's slots, so each of these runs one job at a time.
    const startFrozen = () => fixture.startWorker({ LOG_LEVEL: 'warn', WORKER_JOBS: '2' });
    await owner`INSERT INTO write_limits (account_id, client_id, parallel, creates, reason)
      SELECT id, client_id, ${frozen_at_once}::integer, 0, 'setting' FROM accounts ON CONFLICT DO NOTHING`;
    await replacement?.stop();
    const frozen: TestProcess[] = [];
    onTestFinished(async () => {
      await Promise.all(frozen.map((worker) => worker.stop('SIGKILL')));
    });
    for (let left = freezes; left > 0; left -= frozen_at_once) {
      const count = Math.min(left, frozen_at_once);
      while (frozen.length < count) frozen.push(await startFrozen());
      await Promise.all(frozen.splice(count).map((worker) => worker.stop()));
      await setFault(api, create, 'delay', { times: count, delay_ms: 5_000 });
      const accepted = await acceptForPatients(count);
      await untilFaultsApplied(api);
      for (const { child } of frozen) child.kill('SIGSTOP');
      for (const each of accepted) await untilApplied(api, each);
      // A second write in the same lane keeps the replacement busy there when the frozen worker continues.
      await setFault(api, create, 'delay', { times: count, delay_ms: 8_000 });
      const next = await acceptForPatients(count);
      replacement = await startWorker();
      for (const { job_id } of next) await untilIntent(owner, job_id);
      const jobs = () => Promise.all(accepted.map(({ job_id }) => api.job(job_id)));
      const before = await jobs();
      expect(before.map(({ status }) => status)).toStrictEqual(accepted.map(() => 'succeeded'));
      const discarded = frozen.map(countDiscarded);
      for (const { child } of frozen) child.kill('SIGCONT');
      await expect.poll(() => frozen.map(countDiscarded)).toStrictEqual(discarded.map((n) => n + 1));
      await expectNothingLostOrDoubled(fixture, [...accepted, ...next]);
      expect(await jobs()).toStrictEqual(before);
      await replacement.stop();
      replacement = undefined;
    }
  });

  async function acceptForPatients(count: number): Promise<Accepted[]> {
    const accepted: Accepted[] = [];
    for (let n = 1; n <= count; n++) accepted.push(await accept(fixture, n));
    return accepted;
  }
});

function countDiscarded(worker: TestProcess): number {
  return worker.output().split('lease lost before the job finished').length - 1;
}

/** Waits until the EMR has applied a write whose worker is gone. */
async function untilApplied(api: Api, { telephone_encounter_id }: Accepted): Promise<void> {
  const marker = createMarker(telephone_encounter_id);
  await until('the write to be applied', async () => (await appliedMarkers(api)).includes(marker));
}

describe('the whole product in one process', () => {
  let spawned: Awaited<ReturnType<typeof spawnSandbox>>;
  let product: TestProcess;
  beforeAll(async () => {
    spawned = await spawnSandbox({ small: true, env: lease });
    product = await spawned.start();
  });
  afterAll(() => spawned.close());

  test('runs every write that it accepted with 200 after it was killed and started again', {
    timeout: timeoutFor(product_kills, 60_000),
  }, async () => {
    const { owner } = spawned;
    const { api } = await spawned.read();
    for (let round = 0; round < product_kills; round++) {
      await setFault(api, '*', 'delay', { times: 200, delay_ms: 50 });
      const accepted: Accepted[] = [];
      const clients = [1, 2, 3, 4].map(async (n) => {
        for (;;) {
          // The connection breaks when the process dies; a request without a response may be lost.
          const response = await api.callIn({ patient_mrn: patient(n).mrn }).catch(() => undefined);
          if (response?.status !== 200) return;
          accepted.push({ ...response.body, mrn: patient(n).mrn });
          if (accepted.length === 40) await product.stop('SIGKILL');
        }
      });
      await Promise.all(clients);
      expect(accepted.length).toBeGreaterThanOrEqual(40);
      product = await spawned.start();
      await api.control('DELETE', '/control/faults');
      const rows = await owner`SELECT FROM jobs WHERE id = ANY (${accepted.map(({ job_id }) => job_id)})`;
      expect(rows).toHaveLength(accepted.length);
      await expectNothingLostOrDoubled({ api, owner }, accepted);
    }
  });

  test('applies writes that were accepted while the EMR was down once it is back', async () => {
    const { owner } = spawned;
    const { api } = await spawned.read();
    // Larkspur runs in this process; a separate API and worker continue without it.
    await product.stop('SIGKILL');
    await spawned.start('api');
    const worker = await spawned.start('worker');
    const accepted = await accept({ api });
    await expect.poll(async () => (await api.job(accepted.job_id)).error?.code).toBe('unavailable');
    await spawned.start('all', { PORT: '0' });
    await expectNothingLostOrDoubled({ api, owner }, [accepted]);
    const job = await api.job(accepted.job_id);
    expect(job.attempts).toBeGreaterThan(1);
    expect(job.timeline.map(({ step }: { step: string }) => step)).toContain('retry');
    await worker.stop();
  });
});

import { setTimeout as pause } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { freePort } from '../../scripts/freePort.ts';
import { createApi } from '../harness/api.ts';
import { figure, timeoutFor } from '../harness/figure.ts';
import { spawnSandbox } from '../harness/sandbox.ts';
import { startReadinessProxy } from './readinessProxy.ts';

const rounds = figure('ROLLING_ROUNDS', 1);
const writers = 3;
const writes_between = 10;
const poll = { timeout: 60_000, interval: 20 };

test(
  'two API processes and two workers restart one after the other without a failed request',
  async () => {
    const installation = await spawnSandbox({ small: true });
    onTestFinished(installation.close);
    // Runs Larkspur; no request of this test reaches it.
    await installation.start('all');
    const { sandbox } = await installation.read();
    const ports = [`${await freePort()}`, `${await freePort()}`];
    // The proxy checks ten times a second; the rest is for a busy machine.
    const startApi = (PORT: string) => installation.start('api', { PORT, DRAIN_SECONDS: '3' });
    const processes = [
      ...(await Promise.all(ports.map(async (port) => ({ port, process: await startApi(port) })))),
      ...(await Promise.all(
        [1, 2].map(async () => ({ port: undefined, process: await installation.start('worker') })),
      )),
    ];
    const backends = ports.map((port) => `http://127.0.0.1:${port}`);
    const proxy = await startReadinessProxy(backends);
    onTestFinished(proxy.close);
    const isUsed = (port: string) => proxy.uses(`http://127.0.0.1:${port}`);
    await expect.poll(() => ports.every(isUsed), poll).toBe(true);

    const api = createApi({ ...sandbox, base_url: proxy.url });
    const accepted: number[] = [];
    const statuses: number[] = [];
    let stopped = false;
    const write = async (patient: number) => {
      for (let n = 0; !stopped; n++) {
        const { status, body } = await api.callIn({ patient_mrn: `LK10001${patient}`, reason: `call ${patient}-${n}` });
        statuses.push(status);
        if (status === 200) accepted.push(body.job_id);
        await pause(150);
      }
    };
    const running = Array.from({ length: writers }, (_, patient) => write(patient));
    const more = async () => {
      const before = statuses.length;
      await expect.poll(() => statuses.length, poll).toBeGreaterThan(before + writes_between);
    };
    for (const each of Array.from({ length: rounds }, () => processes).flat()) {
      const { port, process } = each;
      await more();
      await process.stop('SIGTERM');
      expect(process.child.exitCode).toBe(0);
      await more();
      each.process = port === undefined ? await installation.start('worker') : await startApi(port);
      if (port !== undefined) await expect.poll(() => isUsed(port), poll).toBe(true);
    }
    stopped = true;
    await Promise.all(running);
    expect(new Set(statuses)).toStrictEqual(new Set([200]));
    for (const job_id of accepted) await api.untilEvent(job_id, 60_000);
    const applied = (await api.ledger()).filter((entry) => entry.applied).map((entry) => entry.marker);
    expect(new Set(applied).size).toBe(applied.length);
    expect(applied.length).toBe(accepted.length);
  },
  timeoutFor(rounds, 300_000),
);

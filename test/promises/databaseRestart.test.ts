import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { freePort } from '../../scripts/freePort.ts';
import type { Sandbox } from '../../src/surfaces/sandbox/seedSandbox.ts';
import { createApi } from '../harness/api.ts';
import { figure, timeoutFor } from '../harness/figure.ts';
import { startProcess } from '../harness/sandbox.ts';

const restarts = figure('RESTARTS', 2);
const writers = 6;
const timeout_ms = 60_000;

test(
  'every write accepted while the embedded database restarts, cleanly or not, is applied once in the EMR',
  async () => {
    const data_dir = await mkdtemp(join(process.env.CHARTWIRE_TEST_ROOT ?? tmpdir(), 'restart-'));
    const ports = { PORT: `${await freePort()}`, LARKSPUR_PORT: `${await freePort()}` };
    const settings = { DATA_DIR: data_dir, LEASE_SECONDS: '3', RATE_LIMIT: '10000', RATE_BURST: '10000' };
    const service = await startProcess('all', { ...ports, ...settings, LOG_LEVEL: 'silent' });
    const sandbox: Sandbox = JSON.parse(await readFile(join(data_dir, 'sandbox.json'), 'utf8'));
    const api = createApi(sandbox);
    const accepted: number[] = [];
    const statuses = new Set<number>();
    let stop = false;
    const write = async (patient: number) => {
      for (let n = 0; !stop; n++) {
        const { status, body } = await api.callIn({ patient_mrn: `LK10001${patient}`, reason: `call ${n}` });
        statuses.add(status);
        if (status === 200) accepted.push(body.job_id);
        await pause(20);
      }
    };
    try {
      const running = Array.from({ length: writers }, (_, patient) => write(patient));
      for (let round = 0; round < restarts; round++) {
        const before = accepted.length;
        await until(() => accepted.length >= before + 20);
        const pid = Number((await readFile(join(data_dir, 'postgres/postmaster.pid'), 'utf8')).split('\n')[0]);
        process.kill(pid, round % 2 === 0 ? 'SIGINT' : 'SIGQUIT');
        const accepted_before = accepted.length;
        await until(() => accepted.length > accepted_before + 20);
      }
      stop = true;
      await Promise.all(running);
      // One after the other: a hundred parallel polls would slow down the jobs themselves.
      const event_types = new Set<string>();
      for (const job_id of accepted) event_types.add((await api.untilEvent(job_id, timeout_ms)).event_type);
      expect(event_types).toStrictEqual(new Set(['telephone_encounter.created']));
      const applied = (await api.ledger()).filter((entry) => entry.applied).map((entry) => entry.marker);
      expect(new Set(applied).size).toBe(applied.length);
      expect(applied.length).toBeGreaterThanOrEqual(accepted.length);
      expect([...statuses].filter((status) => status !== 200 && status !== 503)).toStrictEqual([]);
      expect(service.child.exitCode).toBeNull();
    } finally {
      stop = true;
      await service.stop('SIGTERM');
      await rm(data_dir, { recursive: true, force: true });
    }
  },
  timeoutFor(restarts, 150_000),
);

/** Recovery takes two or three seconds; the timeout allows for a busy machine. */
async function until(condition: () => boolean): Promise<void> {
  const deadline = Date.now() + timeout_ms;
  while (!condition()) {
    if (Date.now() > deadline) throw new Error('Timed out.');
    await pause(20);
  }
}

import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { createApi } from '../harness/api.ts';
import { figure, timeoutFor } from '../harness/figure.ts';
import { spawnSandbox } from '../harness/sandbox.ts';

const keys = figure('IDEMPOTENCY_KEYS', 100);
const clients = 10;
const kills = 3;

test(
  'one Idempotency-Key is one job, also if the API is killed while clients repeat their requests',
  async () => {
    const installation = await spawnSandbox({ small: true });
    onTestFinished(installation.close);
    const { owner, env } = installation;
    let api_process = await installation.start('api');
    // The sandbox was seeded with another port.
    const { sandbox } = await installation.read();
    const api = createApi({ ...sandbox, base_url: `http://127.0.0.1:${env.PORT}` });
    const job_ids: number[] = [];

    const send = async (n: number) => {
      const headers = { 'idempotency-key': randomUUID() };
      const fields = { patient_mrn: `LK1000${10 + (n % clients)}`, reason: `key ${n}` };
      for (;;) {
        // Sent twice at once, as an impatient client does; both may fail while the API is down.
        const sent = [api.callIn(fields, headers), api.callIn(fields, headers)];
        const responses = await Promise.all(sent.map((each) => each.catch(() => undefined)));
        const accepted = responses.flatMap((response) => (response?.status === 200 ? [response.body.job_id] : []));
        if (accepted.length > 0) return job_ids.push(...accepted);
        await pause(50);
      }
    };
    const client = async (first: number) => {
      for (let n = first; n < keys; n += clients) await send(n);
    };
    const running = Array.from({ length: clients }, (_, first) => client(first));
    for (let kill = 1; kill <= kills; kill++) {
      const sent = (keys * kill) / (kills + 1);
      await expect.poll(() => job_ids.length, { timeout: timeoutFor(keys, 500), interval: 20 }).toBeGreaterThan(sent);
      await api_process.stop('SIGKILL');
      api_process = await installation.start('api');
    }
    await Promise.all(running);

    const rows = await owner<{ reason: string; id: number }[]>`
    SELECT input ->> 'reason' AS reason, jobs.id FROM operations JOIN jobs ON operation_id = operations.id
     WHERE input ->> 'reason' LIKE 'key %'`;
    expect(rows).toHaveLength(keys);
    expect(new Set(rows.map(({ reason }) => reason)).size).toBe(keys);
    expect(new Set(job_ids)).toStrictEqual(new Set(rows.map(({ id }) => id)));
  },
  timeoutFor(keys, 500),
);

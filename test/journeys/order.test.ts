import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createClient } from '../../src/clients/clients.ts';
import { openApi } from '../harness/api.ts';
import { startSandbox, type TestSandbox } from '../harness/sandbox.ts';
import { appliedMarkers, createMarker, endPauses, patient, setFault, until, untilEnded } from './journey.ts';

let world: TestSandbox;
beforeAll(async () => {
  // As many slots as one account may use at once, so that a busy one could keep them all.
  world = await startSandbox({ env: { WORKER_JOBS: '4' } });
});
afterAll(() => world.close());

describe('order', () => {
  test('100 writes over 5 patients, accepted in parallel: 0 inversions per patient', async () => {
    const { api, owner } = world;
    // Some are tried again, which must not let a later one pass.
    await setFault(api, 'create_telephone_encounter', 'error_429', { times: 2 });
    await setFault(api, 'create_telephone_encounter', 'lose_answer', { times: 2 });
    const per_patient = await Promise.all(
      [1, 2, 3, 4, 5].map(async (n) => {
        const accepted: { job_id: number; marker: string }[] = [];
        for (let call = 0; call < 20; call++) {
          const { body } = await api.callIn({ patient_mrn: patient(n).mrn, reason: `call ${call}` });
          accepted.push({ job_id: body.job_id, marker: createMarker(body.telephone_encounter_id) });
        }
        return accepted;
      }),
    );
    await untilEnded(
      owner,
      per_patient.flat().map(({ job_id }) => job_id),
    );
    const markers = await appliedMarkers(api);
    expect(markers).toHaveLength(100);
    for (const accepted of per_patient) {
      const own = accepted.map(({ marker }) => marker);
      expect(markers.filter((marker) => own.includes(marker))).toStrictEqual(own);
    }
  });
});

describe('order for a patient whom a sync brings in between', () => {
  test('holds: a write accepted before the sync is not passed by one accepted after it', async () => {
    const { api, owner } = world;
    const added = await api.control('POST', '/control/patients', { firstName: 'Nova', lastName: 'Newcomer' });
    const patient_mrn: string = added.body.mrn;
    await setFault(api, 'create_telephone_encounter', 'error_429', { times: 50 });
    const early = (await api.callIn({ patient_mrn })).body;
    await until('the first write to be held back', async () => {
      const [held] = await owner`UPDATE lanes SET ready_at = now() + interval '1 minute' WHERE locked_until IS NULL
         AND key = (SELECT lane FROM jobs WHERE id = ${early.job_id} AND error IS NOT NULL) RETURNING id`;
      return held;
    });
    const { job_id } = (await api.call('POST', '/v1/sync')).body;
    expect((await api.untilEvent(job_id)).event_type).toBe('sync.completed');

    const late = (await api.callIn({ patient_mrn })).body;
    await api.control('DELETE', '/control/faults');
    await endPauses(owner);
    await untilEnded(owner, [early.job_id, late.job_id]);
    const wanted = [early, late].map((one) => createMarker(one.telephone_encounter_id));
    const markers = await appliedMarkers(api);
    expect(markers.filter((marker) => wanted.includes(marker))).toStrictEqual(wanted);
  });
});

describe('fairness', () => {
  test('while one account has 300 jobs waiting, another client’s single job starts within 2 s', async () => {
    const { api, owner, sandbox, ctx } = world;
    const other = await createClient(ctx.db, { name: 'Another clinic', mode: 'test' });
    const { client_id, client_secret } = other;
    const stranger = openApi({ ...sandbox, client_id, client_secret, user_id: 'u-1', org_id: 'another-clinic' });
    const access_token = await stranger.link({ staff: 2 });
    await until('the other clinic to be synced', async () => {
      const { body } = await stranger.call('GET', '/v1/patients', { headers: { access_token } });
      return body.patients?.length > 0;
    });

    await setFault(api, 'create_telephone_encounter', 'delay', { times: 1_000, delay_ms: 100 });
    const queued = await Promise.all(
      Array.from({ length: 300 }, (_, n) => api.callIn({ patient_mrn: patient(1 + (n % 150)).mrn })),
    );
    expect(queued.every((answer) => answer.status === 200)).toBe(true);
    const single = await stranger.callIn({}, { access_token });
    await untilEnded(owner, [single.body.job_id]);
    const [job] = await owner<{ state: string; wait_s: number }[]>`
      SELECT state, extract(epoch FROM started_at - created_at)::float8 AS wait_s FROM jobs WHERE id = ${single.body.job_id}`;
    expect(job?.state).toBe('succeeded');
    expect(job?.wait_s).toBeLessThan(2);
    const [waiting] = await owner<{ n: number }[]>`SELECT count(*) AS n FROM jobs WHERE state = 'queued'`;
    expect(waiting?.n, 'the busy account must still be busy for this to say anything').toBeGreaterThan(100);
  });
});

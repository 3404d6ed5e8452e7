import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createClient } from '../../src/product/clients/clients.ts';
import { createApi } from '../harness/api.ts';
import { figure, timeoutFor } from '../harness/figure.ts';
import { startSandbox, type TestSandbox } from '../harness/sandbox.ts';
import { withJobsPaused } from '../spec/support/pauseJobs.ts';
import {
  appliedMarkers,
  createMarker,
  endPauses,
  patient,
  pauseAfterFailure,
  setFault,
  until,
  untilFinished,
} from './support.ts';

const worker_jobs = 8;
let fixture: TestSandbox;
beforeAll(async () => {
  // As many slots as one account may use, so that a busy account could take them all.
  fixture = await startSandbox({ env: { WORKER_JOBS: `${worker_jobs}` } });
});
afterAll(() => fixture.close());

describe('order', () => {
  const writes = figure('ORDER_WRITES', 100);
  const timeout_ms = timeoutFor(writes, 500);

  test(`the order of ${writes} writes for 5 patients, accepted in parallel, is kept per patient`, {
    timeout: timeout_ms,
  }, async () => {
    const { api, owner } = fixture;
    // Some are retried; later ones must not overtake them.
    await setFault(api, 'create_telephone_encounter', 'error_429', { times: 2 });
    await setFault(api, 'create_telephone_encounter', 'lose_answer', { times: 2 });
    const per_patient = await Promise.all(
      [1, 2, 3, 4, 5].map(async (n) => {
        const accepted: { job_id: number; marker: string }[] = [];
        for (let call = 0; call < writes / 5; call++) {
          const { body } = await api.callIn({ patient_mrn: patient(n).mrn, reason: `call ${call}` });
          accepted.push({ job_id: body.job_id, marker: createMarker(body.telephone_encounter_id) });
        }
        return accepted;
      }),
    );
    await untilFinished(
      owner,
      per_patient.flat().map(({ job_id }) => job_id),
      timeout_ms,
    );
    const markers = await appliedMarkers(api);
    expect(markers).toHaveLength(writes);
    for (const accepted of per_patient) {
      const own = accepted.map(({ marker }) => marker);
      expect(markers.filter((marker) => own.includes(marker))).toStrictEqual(own);
    }
  });
});

describe('order for a patient that a sync adds in between', () => {
  test('is kept: a write accepted after the sync does not overtake one accepted before it', async () => {
    const { api, owner } = fixture;
    const added = await api.control('POST', '/control/patients', { firstName: 'Nova', lastName: 'Newcomer' });
    const patient_mrn: string = added.body.mrn;
    await setFault(api, 'create_telephone_encounter', 'error_429', { times: 50 });
    const early = (await api.callIn({ patient_mrn })).body;
    await pauseAfterFailure(owner, early.job_id);
    const { job_id } = (await api.call('POST', '/v1/sync')).body;
    expect((await api.untilEvent(job_id)).event_type).toBe('sync.completed');

    const late = (await api.callIn({ patient_mrn })).body;
    await api.control('DELETE', '/control/faults');
    await endPauses(owner);
    await untilFinished(owner, [early.job_id, late.job_id]);
    const expected = [early, late].map((one) => createMarker(one.telephone_encounter_id));
    const markers = await appliedMarkers(api);
    expect(markers.filter((marker) => expected.includes(marker))).toStrictEqual(expected);
  });
});

describe('fairness', () => {
  const jobs_short = 300;
  const jobs = figure('FAIRNESS_JOBS', jobs_short);

  test(`a single job of another client starts before most of the ${jobs} queued jobs of one account`, {
    timeout: timeoutFor(jobs, 200),
  }, async () => {
    const { api, owner, sandbox, ctx } = fixture;
    const other = await createClient(ctx.db, { name: 'Another clinic', mode: 'test' });
    const { client_id, client_secret } = other;
    const other_api = createApi({ ...sandbox, client_id, client_secret, user_id: 'u-1', org_id: 'another-clinic' });
    const access_token = await other_api.link({ staff: 2 });
    await until('the other clinic to be synced', async () => {
      const { body } = await other_api.call('GET', '/v1/patients', { headers: { access_token } });
      return body.patients?.length > 0;
    });

    await setFault(api, 'create_telephone_encounter', 'delay', { times: 4 * jobs, delay_ms: 100 });
    const queueBatch = async () => {
      // Ten at a time: a busy machine may not serve hundreds of connections before they time out.
      const sender = async (first: number) => {
        for (let n = first; n < jobs_short; n += 10) {
          expect((await api.callIn({ patient_mrn: patient(1 + (n % 150)).mrn })).status).toBe(200);
        }
      };
      await Promise.all(Array.from({ length: 10 }, (_, first) => sender(first)));
    };
    for (let n = jobs_short; n < jobs; n += jobs_short) await queueBatch();
    // A worker would finish many of the last ones while a busy machine accepts them.
    const single = await withJobsPaused(fixture, async () => {
      await queueBatch();
      return other_api.callIn({}, { access_token });
    });
    await untilFinished(owner, [single.body.job_id]);
    const [job] = await owner<{ state: string; wait_s: number; overtaken_by: number }[]>`
      SELECT state, extract(epoch FROM started_at - created_at)::float8 AS wait_s,
             (SELECT count(*) FROM jobs WHERE client_id <> single.client_id
                        AND started_at BETWEEN single.created_at AND single.started_at) AS overtaken_by
        FROM jobs AS single WHERE id = ${single.body.job_id}`;
    expect(job?.state).toBe('succeeded');
    // By order, because seconds depend on the machine: a slot that becomes free is given to the client without a job.
    expect(job?.overtaken_by).toBeLessThanOrEqual(4 * worker_jobs);
    // `npm run soak` measures the promised two seconds, on a machine that does nothing else.
    if (jobs > jobs_short) expect(job?.wait_s).toBeLessThan(2);
    const [waiting] = await owner<{ n: number }[]>`SELECT count(*) AS n FROM jobs WHERE state = 'queued'`;
    expect(waiting?.n, 'the busy account must still have queued jobs').toBeGreaterThan(100);
  });
});

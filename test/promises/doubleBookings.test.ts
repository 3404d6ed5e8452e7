import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Api, ApiResponse } from '../harness/api.ts';
import { figure, timeoutFor } from '../harness/figure.ts';
import type { TestProcess } from '../harness/sandbox.ts';
import { type Installation, install } from '../journeys/installation.ts';
import { endPauses, patient, setFault, until } from '../journeys/support.ts';

const slots = figure('DOUBLE_BOOKINGS', 12);
const rivals = 6;
/** A worker is killed after every so many slots. */
const kill_every = 4;

let fixture: Installation;
let apis: Api[];
beforeAll(async () => {
  fixture = await install();
  // The bookings refer to synced providers and locations.
  const worker = await fixture.startWorker();
  await fixture.api.sync();
  await worker.stop();
  apis = [fixture.api, await fixture.startApi(), await fixture.startApi()];
});
afterAll(() => fixture.close());

/** In July, New York is four hours behind UTC. Nothing is seeded three years ahead. */
const year = new Date().getUTCFullYear() + 3;
const hour = (n: number) => String(8 + (n % 8)).padStart(2, '0');
const date = (n: number) => String(1 + Math.floor(n / 8)).padStart(2, '0');

type Booking = { slot: number; job_id: number };

/** Books the slot for several patients at once, through all API processes; every other one starts 10 minutes later. */
async function compete(slot: number): Promise<Booking[]> {
  const responses = await Promise.all(
    Array.from({ length: rivals }, (_, n) => {
      const datetime = `${year}-07-${date(slot)}T${hour(slot)}:${n % 2 ? '10' : '00'}:00-04:00`;
      const visit = { location: '11', provider: '501', type: 'OV', duration: '30', prevent_double_booking: true };
      return apis[n % apis.length]?.call('POST', '/v1/appointments', {
        body: { mrn: patient(1 + n).mrn, datetime, ...visit },
      });
    }),
  );
  return responses.map((response) => {
    expect(response?.status, JSON.stringify(response?.body)).toBe(200);
    return { slot, job_id: response?.body.job_id };
  });
}

test('exactly one of the bookings for a time that several processes accept is made, after lost responses and killed workers', {
  timeout: timeoutFor(slots * rivals, 5_000),
}, async () => {
  const { api, owner } = fixture;
  await setFault(api, 'create_appointment', 'lose_answer', { times: Math.ceil(slots / 4) });
  await setFault(api, 'create_appointment', 'delay', { times: slots, delay_ms: 40 });
  const workers: TestProcess[] = [await fixture.startWorker(), await fixture.startWorker()];
  const bookings: Booking[] = [];
  for (let slot = 0; slot < slots; slot++) {
    bookings.push(...(await compete(slot)));
    if (slot % kill_every !== kill_every - 1) continue;
    await workers.shift()?.stop('SIGKILL');
    workers.push(await fixture.startWorker());
  }
  await until('all bookings to finish', async () => {
    await endPauses(owner);
    const open = await owner`SELECT FROM jobs WHERE type = 'appointment.create' AND finished_at IS NULL LIMIT 1`;
    return open.length === 0;
  });
  const events = await owner<{ job_id: number; type: string; data: ApiResponse['body'] }[]>`
    SELECT job_id::int, type, body::json -> 'data' AS data FROM events WHERE job_id = ANY (${bookings.map(({ job_id }) => job_id)})`;
  expect(events).toHaveLength(bookings.length);
  const in_emr = (await api.control('GET', '/control/appointments?providerId=501')).body.rows;
  for (let slot = 0; slot < slots; slot++) {
    const own = new Set(bookings.filter((each) => each.slot === slot).map(({ job_id }) => job_id));
    const ended = events.filter(({ job_id }) => own.has(job_id));
    const [made, ...more] = ended.filter(({ type }) => type === 'appointment.created');
    expect([made?.type, more], `slot ${slot}`).toStrictEqual(['appointment.created', []]);
    const others = ended.filter(({ type }) => type !== 'appointment.created');
    for (const { type, data } of others) {
      expect([type, data.reasons[0].code], `slot ${slot}`).toStrictEqual(['appointment.failed', 'slot_taken']);
    }
    const starts = `07/${date(slot)}/${year} ${hour(slot)}:`;
    const booked = in_emr.filter(({ startsAt }: { startsAt: string }) => startsAt.startsWith(starts));
    expect(booked.map(({ appointmentId }: { appointmentId: string }) => appointmentId)).toStrictEqual([
      made?.data.ehr_appointment_id,
    ]);
  }
  await api.control('DELETE', '/control/faults');
  await Promise.all(workers.map((worker) => worker.stop()));
});

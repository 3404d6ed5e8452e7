import { randomInt } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ApiResponse } from '../harness/api.ts';
import { figure, timeoutFor } from '../harness/figure.ts';
import type { TestProcess } from '../harness/sandbox.ts';
import { type Installation, install } from '../journeys/installation.ts';
import { endPauses, patient, setFault, until } from '../journeys/support.ts';

const count = figure('PAYMENTS', 40);
const patients = 5;
const prefix = 'Story-';
/** A worker is killed after every so many payments. */
const kill_every = 12;
/** One claim is sent with every so many payments. */
const claim_every = 5;

let fixture: Installation;
beforeAll(async () => {
  fixture = await install();
});
afterAll(() => fixture.close());

test('the ledger has exactly what payment.posted says, to the cent, and each visit one claim, after lost responses, reset connections and killed workers', {
  timeout: timeoutFor(count, 5_000),
}, async () => {
  const { api, owner } = fixture;
  const workers: TestProcess[] = [await fixture.startWorker(), await fixture.startWorker()];
  const visits = await bookVisits(Math.ceil(count / claim_every));
  const before = await readBalances();
  for (const kind of ['lose_answer', 'reset', 'truncate', 'error_500']) {
    await setFault(api, 'post_payment', kind, { times: Math.ceil(count / 10) });
    await setFault(api, 'create_claim', kind, { times: Math.ceil(visits.length / 8) });
  }
  await setFault(api, 'post_payment', 'delay', { times: count, delay_ms: 40 });
  const sent = new Map<string, number>();
  const claimed = new Map<string, string>();
  for (let n = 0; n < count; n++) {
    const cents = randomInt(1, 100_000);
    const { status, body } = await api.call('POST', '/v1/payments', {
      body: {
        ...{ patient_mrn: patient(1 + (n % patients)).mrn, payment_method: 'Check', location: '11' },
        ...{ reference_number: `${prefix}${n}`, amount: cents / 100 },
      },
    });
    expect(status, JSON.stringify(body)).toBe(200);
    sent.set(body.payment_id, cents);
    const visit = n % claim_every === 0 && visits[n / claim_every];
    if (visit) {
      const claim = await api.call('POST', '/v1/claims', { body: { appointment_id: visit.appointment_id } });
      expect(claim.status, JSON.stringify(claim.body)).toBe(202);
      claimed.set(claim.body.claim_id, visit.ehr_appointment_id);
    }
    if (n % kill_every !== kill_every - 1) continue;
    await workers.shift()?.stop('SIGKILL');
    workers.push(await fixture.startWorker());
  }
  await untilAllFinished();

  const events = await owner<{ type: string; data: ApiResponse['body'] }[]>`
    SELECT type, body::json -> 'data' AS data FROM events WHERE type LIKE 'payment.%'`;
  expect(events.filter(({ type }) => type !== 'payment.posted')).toStrictEqual([]);
  expect(events).toHaveLength(count);
  const posted = new Map(events.map(({ data }) => [data.payment_id, toCents(data.amount)]));
  expect(posted).toEqual(sent);
  const ledger = (await api.control('GET', '/control/payments')).body.rows.filter(
    ({ referenceNumber }: { referenceNumber: string }) => referenceNumber.startsWith(prefix),
  );
  const ids = (rows: string[]) => rows.sort();
  expect(ids(ledger.map(({ paymentId }: { paymentId: string }) => paymentId))).toStrictEqual(
    ids(events.map(({ data }) => data.emr_payment_id)),
  );
  const total = sum([...sent.values()]);
  expect(sum(ledger.map(({ amount }: { amount: string }) => toCents(amount)))).toBe(total);
  expect(sum(before) - sum(await readBalances())).toBe(total);

  const claims = await owner<{ type: string; data: ApiResponse['body'] }[]>`
    SELECT type, body::json -> 'data' AS data FROM events WHERE type LIKE 'claim.%'`;
  expect(claims.map(({ type }) => type)).toStrictEqual(visits.map(() => 'claim.created'));
  const created = new Map(claims.map(({ data }) => [data.claim_id, data.emr_claim_id]));
  const stored = (await api.control('GET', '/control/claims')).body.rows.filter(
    ({ appointmentId }: { appointmentId: string }) => [...claimed.values()].includes(appointmentId),
  );
  expect(
    new Map(stored.map((row: { claimId: string; appointmentId: string }) => [row.claimId, row.appointmentId])),
  ).toEqual(new Map([...claimed].map(([claim_id, visit]) => [created.get(claim_id), visit])));
  expect(stored).toHaveLength(visits.length);
  await api.control('DELETE', '/control/faults');
  await Promise.all(workers.map((worker) => worker.stop()));
});

/** Visits at times of their own, which are in the EMR. */
async function bookVisits(visits: number): Promise<{ appointment_id: string; ehr_appointment_id: string }[]> {
  for (let n = 0; n < visits; n++) {
    const [day, hour] = [10 + Math.floor(n / 8), 9 + (n % 8)].map((part) => String(part).padStart(2, '0'));
    const { status, body } = await fixture.api.call('POST', '/v1/appointments', {
      body: {
        ...{ mrn: patient(1 + (n % patients)).mrn, location: '11', provider: '501', type: 'OV' },
        datetime: `2031-03-${day}T${hour}:00:00-05:00`,
      },
    });
    expect(status, JSON.stringify(body)).toBe(200);
  }
  await untilAllFinished();
  const events = await fixture.owner<{ data: ApiResponse['body'] }[]>`
    SELECT body::json -> 'data' AS data FROM events WHERE type = 'appointment.created'`;
  expect(events).toHaveLength(visits);
  return events.map(({ data }) => data);
}

async function untilAllFinished(): Promise<void> {
  await until('all jobs to finish', async () => {
    await endPauses(fixture.owner);
    const rows = await fixture.owner`SELECT FROM jobs WHERE finished_at IS NULL LIMIT 1`;
    return rows.length === 0;
  });
}

/** What each of the patients owes, in cents. */
async function readBalances(): Promise<number[]> {
  const balances: number[] = [];
  for (let n = 1; n <= patients; n++) {
    const { body } = await fixture.api.control('GET', `/control/balances?patientId=${patient(n).ehr_id}`);
    balances.push(toCents(body.rows[0].patientBalance));
  }
  return balances;
}

function toCents(dollars: number | string): number {
  return Math.round(Number(dollars) * 100);
}

function sum(cents: number[]): number {
  return cents.reduce((total, each) => total + each, 0);
}

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Order } from '../../src/model/records/orders.ts';
import { startSandbox, type TestSandbox } from '../harness/sandbox.ts';
import { apiOf, expectRefusal, expectSchema } from './support.ts';

type Listed = { order_id: string; order_date: string; patient_mrn: string; lab_results: object | null };

let world: TestSandbox;
/** A patient with several orders on different days. */
let mrn: string;
beforeAll(async () => {
  world = await startSandbox();
  const [row] = await world.owner<{ patient_mrn: string }[]>`
    SELECT patient_mrn FROM orders GROUP BY 1 ORDER BY count(DISTINCT order_date) DESC, 1 LIMIT 1`;
  mrn = row?.patient_mrn ?? '';
});
afterAll(() => world.close());

const get = (query: string) => world.api.call('GET', `/v1/orders?${query}`);

async function orders(query: string): Promise<Listed[]> {
  const response = await get(query);
  expectSchema('orders.list', response);
  expect(Object.keys(response.body)).toStrictEqual(['success', 'orders']);
  return response.body.orders;
}

describe('orders', () => {
  test('of a patient are all listed, with every field, newest first', async () => {
    const counts = await world.owner<{ patient_mrn: string; n: number }[]>`
      SELECT patient_mrn, count(*) AS n FROM orders GROUP BY 1`;
    expect(counts.length).toBeGreaterThan(1);
    const all: Listed[] = [];
    for (const { patient_mrn, n } of counts) {
      const found = await orders(`patient_mrn=${patient_mrn}`);
      expect(found).toHaveLength(n);
      const days = found.map(({ order_date }) => order_date);
      expect(days).toStrictEqual([...days].sort().reverse());
      for (const order of found) {
        expect(order.patient_mrn).toBe(patient_mrn);
        expect(Object.keys(order).sort()).toStrictEqual(Object.keys(Order.properties).sort());
      }
      all.push(...found);
    }
    expect(all.some(({ lab_results }) => lab_results === null)).toBe(true);
    expect(all.some(({ lab_results }) => lab_results !== null)).toBe(true);
  });

  test('are filtered by order date, both days inclusive', async () => {
    const all = await orders(`patient_mrn=${mrn}`);
    const days = [...new Set(all.map(({ order_date }) => order_date))].sort();
    expect(days.length).toBeGreaterThan(1);
    const [first = '', second = ''] = days;
    const between = (from: string, to: string) =>
      all.filter(({ order_date }) => order_date >= from && order_date <= to);
    expect(await orders(`patient_mrn=${mrn}&start_date=${second}`)).toStrictEqual(between(second, '9999'));
    expect(await orders(`patient_mrn=${mrn}&end_date=${first}`)).toStrictEqual(between('0', first));
    expect(await orders(`patient_mrn=${mrn}&start_date=${first}&end_date=${first}`)).toStrictEqual(
      between(first, first),
    );
    expect(await orders(`patient_mrn=${mrn}&start_date=2999-01-01`)).toStrictEqual([]);
  });

  test('of an unknown patient are an empty list', async () => {
    expect(await orders('patient_mrn=nobody')).toStrictEqual([]);
    expect(await orders(`patient_mrn=${mrn.slice(0, -1)}`)).toStrictEqual([]);
  });

  test('require patient_mrn', async () => {
    expectRefusal(await get(''), 400, 'Missing required field: patient_mrn', 'patient_mrn');
    expectRefusal(await get('patient_mrn='), 400, 'Missing required field: patient_mrn', 'patient_mrn');
    expectRefusal(await get('start_date=2026-01-01'), 400, 'Missing required field: patient_mrn', 'patient_mrn');
  });

  test.each(['2026-02-30', '01/02/2026', 'today'])('rejects %s, which is not a date', async (day) => {
    const rule = 'must be a date that exists, in the form YYYY-MM-DD';
    for (const field of ['start_date', 'end_date']) {
      const query = `patient_mrn=${mrn}&${field}=${encodeURIComponent(day)}`;
      expectRefusal(await get(query), 400, `${field} ${rule}`, field);
    }
  });

  test('rejects a range that ends before it starts', async () => {
    const response = await get(`patient_mrn=${mrn}&start_date=2026-02-02&end_date=2026-02-01`);
    expectRefusal(response, 400, 'end_date must not be before start_date', 'end_date');
  });

  test('rejects an unknown parameter', async () => {
    const response = await get(`patient_mrn=${mrn}&status=done`);
    expectRefusal(response, 400, 'Unexpected query parameters: status', 'status');
  });

  test('are updated by a sync, and only in their organization', async () => {
    const [before] = await orders(`patient_mrn=${mrn}`);
    await world.api.control('PATCH', `/control/orders/${before?.order_id}`, { name: 'Renamed order' });
    const { job_id } = (await world.api.call('POST', '/v1/sync')).body;
    await world.api.untilEvent(job_id);
    expect((await orders(`patient_mrn=${mrn}`))[0]).toStrictEqual({ ...before, order_name: 'Renamed order' });

    const access_token = await world.api.link({ user_id: 'elsewhere', org_id: 'elsewhere', staff: 1 });
    await world.owner`UPDATE jobs SET parked = true WHERE state IN ('queued', 'running')`;
    await world.owner`DELETE FROM orders WHERE organization_id <> (
      SELECT id FROM organizations WHERE org_id = ${world.sandbox.org_id})`;
    const elsewhere = apiOf(world, { ...world.sandbox, access_token });
    const theirs = await elsewhere.call('GET', `/v1/orders?patient_mrn=${mrn}`);
    expect(theirs.body).toStrictEqual({ success: true, orders: [] });
  });
});

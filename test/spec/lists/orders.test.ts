import { beforeAll, expect, test } from 'vitest';
import { Order } from '../../../src/model/records/orders.ts';
import { expectApiError, expectSchema } from '../../api/support.ts';
import type { ApiResponse } from '../../harness/api.ts';
import { row } from '../../harness/row.ts';
import type { TestSandbox } from '../../harness/sandbox.ts';
import { sharedSandbox } from '../../harness/sharedSandbox.ts';
import { addClinicRow, clinicRows, isoDay, type Row } from '../support/emrRecords.ts';
import { pauseSyncs } from '../support/pauseSyncs.ts';

let fixture: TestSandbox;
let mrn: string;
let response: ApiResponse;
let orders: Row[];
/** The orders of the patient in Larkspur, by id, and the patient. */
let ordered: Map<string, Row>;
let patient: Row;
/** An order with every field, and one with the required fields only. */
let full: Row;
let bare: Row;
/** The staff member whom the full order is assigned to. */
let nurse: Row;
beforeAll(async () => {
  fixture = await sharedSandbox();
  mrn = fixture.sandbox.example.patient_mrn;
  [patient] = await clinicRows(fixture, 'patients', { mrn });
  [nurse] = await clinicRows(fixture, 'staff', { staffId: '704' });
  const { patientId } = patient;
  const required = { patientId, providerId: '502', name: 'Lipid panel' };
  const [complete, half] = await Promise.all([
    addClinicRow(fixture, 'orders', {
      ...required,
      orderDate: '03/15/2031',
      appointmentId: '400007',
      priority: 'STAT',
      assignedTo: nurse.staffId,
      labResults: {
        status: 'Final',
        collectedOn: '03/16/2031',
        resultedOn: '03/17/2031',
        laboratory: 'Exampleton Reference Laboratory',
        results: [{ test: 'LDL cholesterol', value: '131', unit: 'mg/dL', range: '50-130', abnormalFlag: 'H' }],
      },
    }),
    addClinicRow(fixture, 'orders', { ...required, orderDate: '03/18/2031' }),
  ]);
  await fixture.api.sync();
  ordered = new Map((await clinicRows(fixture, 'orders', { patientId })).map((row) => [row.orderId, row]));
  response = await get({ patient_mrn: mrn });
  orders = response.body.orders;
  full = orders.find(({ order_id }) => order_id === complete.orderId);
  bare = orders.find(({ order_id }) => order_id === half.orderId);
});

const get = (query: Record<string, string>) => fixture.api.call('GET', `/v1/orders?${new URLSearchParams(query)}`);

async function findIds(query: Record<string, string>): Promise<string[]> {
  const { status, body } = await get({ patient_mrn: mrn, ...query });
  expect(status, JSON.stringify(body)).toBe(200);
  return body.orders.map(({ order_id }: Row) => order_id).sort();
}

/** The ids of the orders on matching days. Must be some but not all, or the filter would prove nothing. */
function orderedOn(holds: (day: string) => boolean): string[] {
  const ids = [...ordered.values()].filter((row) => holds(isoDay(row.orderDate))).map(({ orderId }) => orderId);
  expect(ids.length).toBeGreaterThan(0);
  expect(ids.length).toBeLessThan(ordered.size);
  return ids.sort();
}

test(row('ORD-01'), () => {
  expect(full.order_name).toBe('Lipid panel');
  for (const { order_id, order_name } of orders) expect(order_name).toBe(ordered.get(order_id).name);
  expect(orders.map(({ order_id }) => order_id).sort()).toStrictEqual([...ordered.keys()].sort());
});

test(row('ORD-02'), () => {
  expect(full.order_date).toBe('2031-03-15');
  for (const { order_id, order_date } of orders) expect(order_date).toBe(isoDay(ordered.get(order_id).orderDate));
});

test(row('ORD-03'), () => {
  expect(full).toMatchObject({ provider_id: '502', appointment_id: '400007' });
  for (const { order_id, provider_id, appointment_id } of orders) {
    const row = ordered.get(order_id);
    expect([provider_id, appointment_id]).toStrictEqual([row.providerId, row.appointmentId]);
  }
});

test(row('ORD-04'), () => {
  for (const { patient_mrn, patient_name } of orders) {
    expect(patient_mrn).toBe(mrn);
    expect(patient_name).toBe(`${patient.lastName}, ${patient.firstName}`);
  }
});

test(row('ORD-05'), () => {
  for (const { patient_dob } of orders) expect(patient_dob).toBe(isoDay(patient.birthDate));
});

test(row('ORD-06'), () => {
  expect(full).toMatchObject({
    priority: 'STAT',
    assigned_to_name: nurse.displayName,
    emr_assigned_to_id: nurse.staffId,
  });
  expect(bare).toMatchObject({ priority: null, assigned_to_name: null, emr_assigned_to_id: null });
});

test(row('ORD-07'), () => {
  expect(full.lab_results).toStrictEqual({
    status: 'Final',
    collected_on: '2031-03-16',
    resulted_on: '2031-03-17',
    laboratory: 'Exampleton Reference Laboratory',
    results: [{ test: 'LDL cholesterol', value: '131', unit: 'mg/dL', range: '50-130', abnormal_flag: 'H' }],
  });
  expect(bare.lab_results).toBeNull();
});

test(row('ORD-08'), async () => {
  expect((await get({ patient_mrn: mrn })).status).toBe(200);
  const without: Record<string, string>[] = [{}, { patient_mrn: '' }, { start_date: '2026-01-01' }];
  for (const query of without) {
    expectApiError(await get(query), 400, 'Missing required field: patient_mrn', 'patient_mrn');
  }
});

test(row('ORD-09'), async () => {
  expect(await findIds({ start_date: '2031-03-15' })).toStrictEqual(orderedOn((day) => day >= '2031-03-15'));
  expect(await findIds({ start_date: '2031-03-15' })).toContain(full.order_id);
  expect(await findIds({ start_date: '2031-03-16' })).toStrictEqual([bare.order_id]);
  const response = await get({ patient_mrn: mrn, start_date: '03/15/2031' });
  expectApiError(response, 400, /^start_date must be a date/, 'start_date');
});

test(row('ORD-10'), async () => {
  expect(await findIds({ end_date: '2031-03-15' })).toStrictEqual(orderedOn((day) => day <= '2031-03-15'));
  expect(await findIds({ end_date: '2031-03-15' })).toContain(full.order_id);
  expect(await findIds({ end_date: '2031-03-14' })).toStrictEqual(orderedOn((day) => day < '2031-03-15'));
  const response = await get({ patient_mrn: mrn, end_date: '03/15/2031' });
  expectApiError(response, 400, /^end_date must be a date/, 'end_date');
});

test(row('ORD-11'), () => {
  expect(response.status).toBe(200);
  expect(response.body).toStrictEqual({ success: true, orders: expect.any(Array) });
  const fields = ['order_id', 'order_name', 'order_date', 'provider_id', 'patient_mrn', 'patient_name', 'patient_dob'];
  const more = ['appointment_id', 'priority', 'assigned_to_name', 'emr_assigned_to_id', 'lab_results'];
  for (const order of orders) expect(Object.keys(order).sort()).toStrictEqual([...fields, ...more].sort());
});

test(row('DEC-267'), async () => {
  expect(await findIds({ start_date: '2031-03-15', end_date: '2031-03-18' })).toStrictEqual(
    [full.order_id, bare.order_id].sort(),
  );
  expect(await findIds({ start_date: '2031-03-15', end_date: '2031-03-15' })).toStrictEqual([full.order_id]);
  expect(await findIds({ start_date: '2031-03-16', end_date: '2031-03-17' })).toStrictEqual([]);
});

test(row('DEC-269'), async () => {
  const { status, body } = await get({ patient_mrn: 'LK999999' });
  expect(status).toBe(200);
  expect(body).toStrictEqual({ success: true, orders: [] });
});

test('lists the orders of every patient with every field, newest first', async () => {
  const counts = await fixture.owner<{ patient_mrn: string; n: number }[]>`
    SELECT patient_mrn, count(*) AS n FROM orders WHERE organization_id = (
      SELECT id FROM organizations WHERE org_id = ${fixture.sandbox.org_id}) GROUP BY 1`;
  expect(counts.length).toBeGreaterThan(1);
  const all: Row[] = [];
  for (const { patient_mrn, n } of counts) {
    const response = await get({ patient_mrn });
    expectSchema('orders.list', response);
    expect(Object.keys(response.body)).toStrictEqual(['success', 'orders']);
    expect(response.body.orders).toHaveLength(n);
    const days = response.body.orders.map(({ order_date }: Row) => order_date);
    expect(days).toStrictEqual([...days].sort().reverse());
    for (const order of response.body.orders) {
      expect(order.patient_mrn).toBe(patient_mrn);
      expect(Object.keys(order).sort()).toStrictEqual(Object.keys(Order.properties).sort());
    }
    all.push(...response.body.orders);
  }
  expect(all.some(({ lab_results }) => lab_results === null)).toBe(true);
  expect(all.some(({ lab_results }) => lab_results !== null)).toBe(true);
});

test.each(['2026-02-30', '01/02/2026', 'today'])('rejects the date %s', async (day) => {
  for (const field of ['start_date', 'end_date']) {
    const message = `${field} must be a date that exists, in the form YYYY-MM-DD`;
    expectApiError(await get({ patient_mrn: mrn, [field]: day }), 400, message, field);
  }
});

test('rejects a range that ends before it starts, and unknown parameters', async () => {
  const range = { patient_mrn: mrn, start_date: '2026-02-02', end_date: '2026-02-01' };
  expectApiError(await get(range), 400, 'end_date must not be before start_date', 'end_date');
  const response = await get({ patient_mrn: mrn, status: 'done' });
  expectApiError(response, 400, 'Unexpected query parameters: status', 'status');
});

test('returns no orders for a part of an MRN', async () => {
  expect((await get({ patient_mrn: mrn.slice(0, -1) })).body).toStrictEqual({ success: true, orders: [] });
});

test('updates an order at a sync, and does not list orders of another organization', async () => {
  const [before] = (await get({ patient_mrn: mrn })).body.orders;
  await fixture.api.control('PATCH', `/control/orders/${before.order_id}`, { name: 'Renamed order' });
  await fixture.api.sync();
  const [after] = (await get({ patient_mrn: mrn })).body.orders;
  expect(after).toStrictEqual({ ...before, order_name: 'Renamed order' });
  await pauseSyncs(fixture, 'list_orders');
  const access_token = await fixture.api.link({ user_id: 'elsewhere', org_id: 'elsewhere', staff: 1 });
  const theirs = await fixture.api.call('GET', `/v1/orders?patient_mrn=${mrn}`, { headers: { access_token } });
  expect(theirs.body).toStrictEqual({ success: true, orders: [], sync: { state: 'pending' } });
});

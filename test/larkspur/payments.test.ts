import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Clinic, openClinic } from './fixture.ts';

let clinic: Clinic;
let token: string;

beforeAll(async () => {
  clinic = await openClinic();
  token = (await clinic.signIn()).sessionToken;
});
afterAll(() => clinic.close());

let count = 0;
const pay = (fields: object = {}, patientId = '10007') =>
  clinic.api(
    'POST',
    `/api/patients/${patientId}/payments`,
    {
      ...{ externalRef: `p${++count}`, amount: '10.01', methodCode: 'CC', referenceNumber: 'R-1', facilityId: '11' },
      ...fields,
    },
    token,
  );
const ledger = async (patientId = '10007') =>
  (await clinic.api('GET', `/api/patients/${patientId}/payments`, undefined, token)).body.rows;
const balance = async (patientId = '10007') => {
  const { body } = await clinic.api('GET', `/api/patients/${patientId}/balances`, undefined, token);
  return body as unknown as { patientBalance: string; accountBalance: string };
};

test('a payment is in the ledger with the balance after it, and reduces both balances', async () => {
  const before = await balance();
  const { status, body } = await pay({ notes: '<i>desk</i>', depositDate: '03/09/2026' });
  expect(status).toBe(201);
  const after = await balance();
  const cents = (text: string) => Math.round(Number(text) * 100);
  expect(cents(before.patientBalance) - cents(after.patientBalance)).toBe(1001);
  expect(cents(before.accountBalance) - cents(after.accountBalance)).toBe(1001);
  expect((await ledger()).at(-1)).toMatchObject({
    ...{ paymentId: body.recordId, amount: '10.01', methodName: 'Credit card', depositDate: '03/09/2026' },
    ...{ balanceAfter: after.patientBalance, notes: '<i>desk</i>' },
  });
  expect(body.changes).toContainEqual(
    expect.objectContaining({ record: 'balance', field: 'patientBalance', after: after.patientBalance }),
  );
});

test('concurrent payments of a patient without a balance are posted one after the other', async () => {
  const { body: person } = await clinic.control('POST', '/control/patients', { firstName: 'Nil', lastName: 'Owing' });
  const responses = await Promise.all(
    Array.from({ length: 8 }, () => pay({ amount: '0.10', referenceNumber: 'same' }, person.patientId)),
  );
  expect(responses.map(({ status }) => status)).toStrictEqual(Array(8).fill(201));
  const rows = (await ledger(person.patientId)) as unknown as { balanceAfter: string }[];
  expect(rows.map(({ balanceAfter }) => balanceAfter)).toStrictEqual(
    Array.from({ length: 8 }, (_, n) => `-${(0.1 * (n + 1)).toFixed(2)}`),
  );
});

test('an unknown method, an amount that is not above 0, a missing chart and an unknown location are refused', async () => {
  const before = await ledger();
  for (const [fields, status, errorCode] of [
    [{ methodCode: 'X' }, 422, 'UNKNOWN_VALUE'],
    [{ amount: '0.00' }, 422, 'RULE_BROKEN'],
    [{ amount: '-1.00' }, 422, 'RULE_BROKEN'],
    [{ amount: '1.001' }, 400, 'BAD_REQUEST'],
    [{ amount: 5 }, 400, 'BAD_REQUEST'],
    [{ facilityId: '99' }, 404, 'NOT_FOUND'],
    [{ depositDate: '2026-03-09' }, 400, 'BAD_REQUEST'],
  ] as const) {
    const response = await pay(fields);
    expect([response.status, response.body.errorCode], JSON.stringify(fields)).toStrictEqual([status, errorCode]);
  }
  expect((await pay({}, '99999')).status).toBe(404);
  expect(await ledger()).toStrictEqual(before);
});

test('the practice can change its payment methods', async () => {
  await clinic.control('POST', '/control/codes', {
    codeId: 'm1',
    list: 'payment_method',
    code: 'GC',
    name: 'Gift card',
  });
  expect((await pay({ methodCode: 'GC' })).status).toBe(201);
  await clinic.control('DELETE', '/control/codes/m1');
  const refused = await pay({ methodCode: 'GC' });
  expect(refused.body.errorText).toContain('Accepted: Bank transfer, Cash, Check, Credit card, Debit card.');
  // The ledger keeps the name that the method had.
  expect((await ledger()).at(-1)).toMatchObject({ methodName: 'Gift card' });
});

test('a reset restores the seeded ledger', async () => {
  const seeded = (await clinic.control('GET', '/control/payments')).body.rows.filter(
    ({ patientId }) => patientId === '10001',
  );
  expect(seeded).toMatchObject([{ balanceAfter: '42.50' }]);
  await pay({}, '10001');
  await clinic.control('POST', '/control/reset');
  token = (await clinic.signIn({ staff: 2 })).sessionToken;
  expect(await ledger('10001')).toHaveLength(1);
});

import { afterAll, beforeAll, expect, test } from 'vitest';
import { startSandbox, type TestSandbox } from '../harness/sandbox.ts';
import { clinicRows, isoDay, type Row } from './emrRecords.ts';
import { fileWholeClaim, wholeClaim } from './wholeClaim.ts';

let world: TestSandbox;
let started: number;
/** The claim of which the clinic knows everything, and a thousand as they come. */
let whole: Awaited<ReturnType<typeof fileWholeClaim>>;
/** What the clinic has, by its id. */
let filed: Map<string, Row>;
beforeAll(async () => {
  started = Date.now();
  world = await startSandbox();
  whole = await fileWholeClaim(world);
  filed = new Map((await clinicRows(world, 'claims')).map((row) => [row.claimId, row]));
});
afterAll(() => world.close());

const date = /^\d{4}-\d{2}-\d{2}$/;

/** Every claim with what the clinic has of it. */
function pairs(): [claim: Row, filed: Row][] {
  expect(whole.claims).toHaveLength(1000);
  return whole.claims.map((claim) => [claim, filed.get(claim.emr_claim_id)]);
}

test('CLM-01 `id` is a string.', () => {
  for (const { id } of whole.claims) expect(id).toMatch(/^[0-9a-f]{32}$/);
  expect(new Set(whole.claims.map(({ id }) => id)).size).toBe(whole.claims.length);
});

test('CLM-02 `emr_claim_id` is a string.', () => {
  expect(whole.claim.emr_claim_id).toBe(whole.emr_claim_id);
  for (const { emr_claim_id } of whole.claims) expect(filed.has(emr_claim_id), emr_claim_id).toBe(true);
});

test('CLM-03 `emr_appointment_id` is a string.', () => {
  expect(whole.claim.emr_appointment_id).toBe('400001');
  for (const [claim, row] of pairs()) expect(claim.emr_appointment_id).toBe(row.appointmentId);
});

test('CLM-04 `service_date` is a date `YYYY-MM-DD`.', () => {
  expect(whole.claim.service_date).toBe('2031-01-31');
  for (const [{ service_date }, row] of pairs()) {
    expect(service_date).toMatch(date);
    expect(service_date).toBe(isoDay(row.serviceDate));
  }
});

test('CLM-05 `claim_date` is a date `YYYY-MM-DD`.', () => {
  expect(whole.claim.claim_date).toBe('2031-02-01');
  for (const [{ claim_date }, row] of pairs()) {
    expect(claim_date).toMatch(date);
    expect(claim_date).toBe(isoDay(row.claimDate));
  }
});

test('CLM-06 `claim_status` is a string holding an EMR status code.', () => {
  for (const [{ claim_status }, row] of pairs()) {
    expect(claim_status).toBeTypeOf('string');
    expect(claim_status).toBe(row.statusCode);
  }
});

test('CLM-07 `claim_status_description` and `claim_type` are strings.', () => {
  expect(whole.claim).toMatchObject({ claim_status_description: 'Partly paid', claim_type: 'Institutional' });
  for (const [{ claim_status_description, claim_type }, row] of pairs()) {
    expect(claim_status_description).toBe(row.statusDescription);
    expect(claim_type).toBe(row.claimType);
  }
});

test('CLM-08 `void_flag` is a boolean.', () => {
  expect(whole.claim.void_flag).toBe(true);
  for (const [{ void_flag }, row] of pairs()) expect(void_flag).toBe(row.voidFlag === 'Y');
  expect(new Set(whole.claims.map(({ void_flag }) => void_flag))).toStrictEqual(new Set([true, false]));
});

test('CLM-09 `emr_patient_id` and `patient_name` are strings.', () => {
  expect(whole.claim).toMatchObject({ emr_patient_id: '10001', patient_name: 'Wholely, Wanda' });
  for (const [{ emr_patient_id, patient_name }, row] of pairs()) {
    expect([emr_patient_id, patient_name]).toStrictEqual([row.patientId, row.patientName]);
  }
});

test('CLM-10 `emr_provider_id` and `provider_name` are strings.', () => {
  expect(whole.claim).toMatchObject({ emr_provider_id: '502', provider_name: 'Indigo Mockridge, MD' });
  for (const [{ emr_provider_id, provider_name }, row] of pairs()) {
    expect([emr_provider_id, provider_name]).toStrictEqual([row.providerId, row.providerName]);
  }
});

test('CLM-11 `total_charge`, `total_payment`, `net_payment` are JSON numbers.', () => {
  expect(whole.claim).toMatchObject({ total_charge: 1234.56, total_payment: 1000.1, net_payment: 990.05 });
  for (const [{ total_charge, total_payment, net_payment }, row] of pairs()) {
    const amounts = [row.totalCharge, row.totalPayment, row.netPayment].map(Number);
    expect([total_charge, total_payment, net_payment]).toStrictEqual(amounts);
  }
});

test('CLM-12 `balance`, `net_adjustment`, `patient_responsibility` are JSON numbers.', () => {
  expect(whole.claim).toMatchObject({ balance: 234.46, net_adjustment: -10.05, patient_responsibility: 34 });
  for (const [{ balance, net_adjustment, patient_responsibility }, row] of pairs()) {
    const amounts = [row.balance, row.netAdjustment, row.patientResponsibility].map(Number);
    expect([balance, net_adjustment, patient_responsibility]).toStrictEqual(amounts);
  }
});

test('CLM-13 `icd_codes` is an array of strings.', () => {
  expect(whole.claim.icd_codes).toStrictEqual(['I10', 'E11.9']);
  for (const [{ icd_codes }, row] of pairs()) expect(icd_codes).toStrictEqual(row.icdCodes);
});

test('CLM-14 `billing_notes` is a string.', () => {
  expect(whole.claim.billing_notes).toBe('Resubmitted by hand.');
  for (const [claim, row] of pairs()) expect(claim.billing_notes).toBe(row.billingNotes);
});

test('CLM-15 `synced_at`, `created_at`, `updated_at` are date-times.', () => {
  for (const claim of whole.claims) {
    for (const name of ['synced_at', 'created_at', 'updated_at']) {
      expect(claim[name]).toMatch(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})$/);
      expect(Date.parse(claim[name])).toBeLessThanOrEqual(Date.now());
    }
    expect(Date.parse(claim.created_at)).toBeLessThanOrEqual(Date.parse(claim.updated_at));
  }
  // Filed a moment ago, it was first seen, and last brought, after this file began.
  for (const name of ['synced_at', 'created_at', 'updated_at']) {
    expect(Date.parse(whole.claim[name])).toBeGreaterThanOrEqual(started);
  }
});

test('CLM-45 `GET /v1/claims` answers `{ success, claims: [Claim], pagination }`.', async () => {
  const { status, body } = await world.api.call('GET', '/v1/claims');
  expect(status).toBe(200);
  expect(body).toStrictEqual({ success: true, claims: expect.any(Array), pagination: expect.any(Object) });
  expect(body.claims[0]).toStrictEqual(whole.claim);
});

test('DEC-266 Claim money is a JSON number at the top level and a decimal string inside `balances`.', () => {
  const top = ['total_charge', 'total_payment', 'net_payment', 'balance', 'net_adjustment', 'patient_responsibility'];
  for (const claim of whole.claims) {
    for (const name of top) expect(claim[name], name).toBeTypeOf('number');
    const { on_plan: _flag, ...amounts } = claim.balances;
    expect(Object.keys(amounts)).toHaveLength(7);
    for (const amount of Object.values(amounts)) expect(amount).toMatch(/^-?\d+\.\d{2}$/);
    expect(Number(amounts.total_payment)).toBe(claim.total_payment);
  }
  expect(whole.claim.balances.balance).toBe(wholeClaim.balances.balance);
});

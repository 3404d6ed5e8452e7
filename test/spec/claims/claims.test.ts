import { afterAll, beforeAll, expect, test } from 'vitest';
import { row } from '../../harness/row.ts';
import { startSandbox, type TestSandbox } from '../../harness/sandbox.ts';
import { clinicRows, isoDay, type Row } from '../support/emrRecords.ts';
import { addCompleteClaim, completeClaim } from './completeClaim.ts';

let fixture: TestSandbox;
let started: number;
/** The complete claim and the seeded ones, as the service lists them. */
let added: Awaited<ReturnType<typeof addCompleteClaim>>;
/** The claims in Larkspur, by id. */
let filed: Map<string, Row>;
beforeAll(async () => {
  started = Date.now();
  fixture = await startSandbox({ small: true });
  added = await addCompleteClaim(fixture);
  filed = new Map((await clinicRows(fixture, 'claims')).map((row) => [row.claimId, row]));
});
afterAll(() => fixture.close());

const date = /^\d{4}-\d{2}-\d{2}$/;

/** Every claim with Larkspur's record of it. */
function pairs(): [claim: Row, filed: Row][] {
  expect(added.claims.length).toBeGreaterThanOrEqual(60);
  return added.claims.map((claim) => [claim, filed.get(claim.emr_claim_id)]);
}

test(row('CLM-01'), () => {
  for (const { id } of added.claims) expect(id).toMatch(/^[0-9a-f]{32}$/);
  expect(new Set(added.claims.map(({ id }) => id)).size).toBe(added.claims.length);
});

test(row('CLM-02'), () => {
  expect(added.claim.emr_claim_id).toBe(added.emr_claim_id);
  for (const { emr_claim_id } of added.claims) expect(filed.has(emr_claim_id), emr_claim_id).toBe(true);
});

test(row('CLM-03'), () => {
  expect(added.claim.emr_appointment_id).toBe('400001');
  for (const [claim, row] of pairs()) expect(claim.emr_appointment_id).toBe(row.appointmentId);
});

test(row('CLM-04'), () => {
  expect(added.claim.service_date).toBe('2031-01-31');
  for (const [{ service_date }, row] of pairs()) {
    expect(service_date).toMatch(date);
    expect(service_date).toBe(isoDay(row.serviceDate));
  }
});

test(row('CLM-05'), () => {
  expect(added.claim.claim_date).toBe('2031-02-01');
  for (const [{ claim_date }, row] of pairs()) {
    expect(claim_date).toMatch(date);
    expect(claim_date).toBe(isoDay(row.claimDate));
  }
});

test(row('CLM-06'), () => {
  for (const [{ claim_status }, row] of pairs()) {
    expect(claim_status).toBeTypeOf('string');
    expect(claim_status).toBe(row.statusCode);
  }
});

test(row('CLM-07'), () => {
  expect(added.claim).toMatchObject({ claim_status_description: 'Partly paid', claim_type: 'Institutional' });
  for (const [{ claim_status_description, claim_type }, row] of pairs()) {
    expect(claim_status_description).toBe(row.statusDescription);
    expect(claim_type).toBe(row.claimType);
  }
});

test(row('CLM-08'), () => {
  expect(added.claim.void_flag).toBe(true);
  for (const [{ void_flag }, row] of pairs()) expect(void_flag).toBe(row.voidFlag === 'Y');
  expect(new Set(added.claims.map(({ void_flag }) => void_flag))).toStrictEqual(new Set([true, false]));
});

test(row('CLM-09'), () => {
  expect(added.claim).toMatchObject({ emr_patient_id: '10001', patient_name: 'Wholely, Wanda' });
  for (const [{ emr_patient_id, patient_name }, row] of pairs()) {
    expect([emr_patient_id, patient_name]).toStrictEqual([row.patientId, row.patientName]);
  }
});

test(row('CLM-10'), () => {
  expect(added.claim).toMatchObject({ emr_provider_id: '502', provider_name: 'Indigo Mockridge, MD' });
  for (const [{ emr_provider_id, provider_name }, row] of pairs()) {
    expect([emr_provider_id, provider_name]).toStrictEqual([row.providerId, row.providerName]);
  }
});

test(row('CLM-11'), () => {
  expect(added.claim).toMatchObject({ total_charge: 1234.56, total_payment: 1000.1, net_payment: 990.05 });
  for (const [{ total_charge, total_payment, net_payment }, row] of pairs()) {
    const amounts = [row.totalCharge, row.totalPayment, row.netPayment].map(Number);
    expect([total_charge, total_payment, net_payment]).toStrictEqual(amounts);
  }
});

test(row('CLM-12'), () => {
  expect(added.claim).toMatchObject({ balance: 234.46, net_adjustment: -10.05, patient_responsibility: 34 });
  for (const [{ balance, net_adjustment, patient_responsibility }, row] of pairs()) {
    const amounts = [row.balance, row.netAdjustment, row.patientResponsibility].map(Number);
    expect([balance, net_adjustment, patient_responsibility]).toStrictEqual(amounts);
  }
});

test(row('CLM-13'), () => {
  expect(added.claim.icd_codes).toStrictEqual(['I10', 'E11.9']);
  for (const [{ icd_codes }, row] of pairs()) expect(icd_codes).toStrictEqual(row.icdCodes);
});

test(row('CLM-14'), () => {
  expect(added.claim.billing_notes).toBe('Resubmitted by hand.');
  for (const [claim, row] of pairs()) expect(claim.billing_notes).toBe(row.billingNotes);
});

test(row('CLM-15'), () => {
  for (const claim of added.claims) {
    for (const name of ['synced_at', 'created_at', 'updated_at']) {
      expect(claim[name]).toMatch(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})$/);
      expect(Date.parse(claim[name])).toBeLessThanOrEqual(Date.now());
    }
    expect(Date.parse(claim.created_at)).toBeLessThanOrEqual(Date.parse(claim.updated_at));
  }
  // The complete claim was added after this file started.
  for (const name of ['synced_at', 'created_at', 'updated_at']) {
    expect(Date.parse(added.claim[name])).toBeGreaterThanOrEqual(started);
  }
});

test(row('CLM-45'), async () => {
  const { status, body } = await fixture.api.call('GET', '/v1/claims');
  expect(status).toBe(200);
  expect(body).toStrictEqual({ success: true, claims: expect.any(Array), pagination: expect.any(Object) });
  expect(body.claims[0]).toStrictEqual(added.claim);
});

test(row('DEC-266'), () => {
  const top = ['total_charge', 'total_payment', 'net_payment', 'balance', 'net_adjustment', 'patient_responsibility'];
  for (const claim of added.claims) {
    for (const name of top) expect(claim[name], name).toBeTypeOf('number');
    const { on_plan: _flag, ...amounts } = claim.balances;
    expect(Object.keys(amounts)).toHaveLength(7);
    for (const amount of Object.values(amounts)) expect(amount).toMatch(/^-?\d+\.\d{2}$/);
    expect(Number(amounts.total_payment)).toBe(claim.total_payment);
  }
  expect(added.claim.balances.balance).toBe(completeClaim.balances.balance);
});

import { afterAll, beforeAll, expect, test } from 'vitest';
import { row } from '../../harness/row.ts';
import { startSandbox, type TestSandbox } from '../../harness/sandbox.ts';
import { expectTexts, type Row } from '../support/emrRecords.ts';
import { addCompleteClaim } from './completeClaim.ts';

let fixture: TestSandbox;
/** The complete claim and its parts. */
let insurance: Row;
let line: Row;
let payment: Row;
let claim: Row;
/** All claims, the complete one included, and their parts. */
let claims: Row[];
let insurances: Row[];
let lines: Row[];
let payments: Row[];
beforeAll(async () => {
  fixture = await startSandbox({ small: true });
  ({ claim, claims } = await addCompleteClaim(fixture));
  [[insurance], [line], [payment]] = [claim.insurances, claim.line_items, claim.payments];
  insurances = claims.flatMap((each) => each.insurances);
  lines = claims.flatMap((each) => each.line_items);
  payments = claims.flatMap((each) => each.payments);
});
afterAll(() => fixture.close());

const date = /^\d{4}-\d{2}-\d{2}$/;

/** Checks that these fields are numbers, or null where the clinic has no value. */
function expectNumbers(records: Row[], ...names: string[]): void {
  expect(records.length).toBeGreaterThan(0);
  for (const record of records) {
    for (const name of names) {
      expect(record, name).toHaveProperty(name);
      if (record[name] !== null) expect(record[name], name).toBeTypeOf('number');
    }
  }
}

function expectDates(records: Row[], ...names: string[]): void {
  expect(records.length).toBeGreaterThan(0);
  for (const record of records) for (const name of names) expect(record[name], name).toMatch(date);
}

test(row('CLM-16'), () => {
  for (const each of claims) expect(each.insurances).toBeInstanceOf(Array);
  const expected = {
    insurance_id: 'INS-1',
    insurance_name: 'Example Health',
    insurance_type: 'Commercial',
    claim_indicator: 'P',
    claim_indicator_description: 'Primary',
    sequence_number: '1',
  };
  expect(insurance).toMatchObject(expected);
  expectTexts(insurances, ...Object.keys(expected));
});

test(row('CLM-17'), () => {
  const expected = {
    subscriber_name: 'Wholely, Walter',
    subscriber_number: 'SUB-77',
    subscriber_relation: '02',
    group_name: 'Example Employers',
    group_number: 'GRP-9',
  };
  expect(insurance).toMatchObject(expected);
  expectTexts(insurances, ...Object.keys(expected));
});

test(row('CLM-18'), () => {
  expect(insurance.subscriber_dob).toBe('1950-03-04');
  expectDates(insurances, 'subscriber_dob');
});

test(row('CLM-19'), () => {
  const expected = { provider_number: 'PROV-3', payment_source: 'F', assign_benefits: 'Y', medicaid_id: 'MD-5' };
  expect(insurance).toMatchObject(expected);
  expectTexts(insurances, ...Object.keys(expected));
});

test(row('CLM-20'), () => {
  const expected = {
    insurance_address_1: '1 Payer Plaza',
    insurance_address_2: 'Floor 2',
    insurance_city: 'Exampleton',
    insurance_state: 'NY',
    insurance_zip: '10001',
  };
  expect(insurance).toMatchObject(expected);
  expectTexts(insurances, ...Object.keys(expected));
});

test(row('CLM-21'), () => {
  expect(claim.balances).toStrictEqual({
    invoice_amount: '1234.56',
    total_payment: '1000.10',
    net_payment: '990.05',
    balance: '234.46',
    patient_balance: '24.00',
    patient_payment: '10.00',
    patient_responsibility: '34.00',
    on_plan: 'Y',
  });
  const names = Object.keys(claim.balances);
  for (const { balances } of claims) {
    expect(Object.keys(balances)).toStrictEqual(names);
    for (const value of Object.values(balances)) expect(value).toBeTypeOf('string');
  }
});

test(row('CLM-22'), () => {
  expect(claim.void_claim).toStrictEqual({
    void_to_claim_id: 'V1',
    void_from_claim_id: 'V2',
    copy_to_claim_id: 'C1',
    copy_from_claim_id: 'C2',
  });
  expectTexts(
    claims.map(({ void_claim }) => void_claim),
    ...Object.keys(claim.void_claim),
  );
});

test(row('CLM-23'), () => {
  expect(claim.submission_history).toStrictEqual({
    created_by: 'Finley Ledgerton',
    entries: [{ date: '2031-02-01', method: 'Electronic', payer: 'Example Health', result: 'Accepted' }],
    auto_claim_data: { auto_created: true, batch_number: 'B1' },
  });
  for (const { submission_history } of claims) {
    expect(submission_history).toStrictEqual({
      created_by: expect.any(String),
      entries: expect.any(Array),
      auto_claim_data: expect.any(Object),
    });
  }
});

test(row('CLM-24'), () => {
  const expected = {
    date: '2031-02-02',
    action: 'Created',
    category: 'Claim',
    notes: 'By the batch.',
    user_name: 'Gray Coinsby',
  };
  expect(claim.billing_activity_log).toStrictEqual([expected]);
  for (const { billing_activity_log } of claims) expect(billing_activity_log).toBeInstanceOf(Array);
  expectTexts(
    claims.flatMap(({ billing_activity_log }) => billing_activity_log),
    ...Object.keys(expected),
  );
});

test(row('CLM-25'), () => {
  expect(line).toMatchObject({ id: 'LINE-1', line_number: 1 });
  for (const { id, line_number } of lines) {
    expect(id).toBeTypeOf('string');
    expect(line_number).toSatisfy(Number.isInteger);
  }
});

test(row('CLM-26'), () => {
  expect(line).toMatchObject({ cpt_code: '99213', description: 'Office visit' });
  for (const each of lines) expect([typeof each.cpt_code, typeof each.description]).toStrictEqual(['string', 'string']);
});

test(row('CLM-27'), () => {
  expect(line).toMatchObject({ modifiers: ['25', '59'], icd_pointers: ['I10', 'E11.9'] });
  for (const { modifiers, icd_pointers } of lines) {
    expect([modifiers, icd_pointers].every(Array.isArray)).toBe(true);
    for (const each of [...modifiers, ...icd_pointers]) expect(each).toBeTypeOf('string');
  }
});

test(row('CLM-28'), () => {
  const expected = { units: 2, billed_amount: 600.5, allowed_amount: 420.25, billed_unit_fee: 300.25 };
  expect(line).toMatchObject(expected);
  expectNumbers(lines, ...Object.keys(expected));
});

test(row('CLM-29'), () => {
  expect(line).toMatchObject({ place_of_service: '11', type_of_service: '1' });
  for (const { place_of_service } of lines) expect(place_of_service).toBeTypeOf('string');
  expectTexts(lines, 'type_of_service');
  expect(lines.map(({ type_of_service }) => type_of_service)).toContain(null);
});

test(row('CLM-30'), () => {
  expect(line).toMatchObject({ service_date_start: '2031-01-30', service_date_end: '2031-01-31' });
  expectDates(lines, 'service_date_start', 'service_date_end');
});

test(row('CLM-31'), () => {
  const expected = {
    rendering_provider_npi: '1999910001',
    ordering_provider_npi: '1999910002',
    referring_provider_npi: '1999910003',
  };
  expect(line).toMatchObject(expected);
  expectTexts(lines, ...Object.keys(expected));
  expect(lines.map(({ ordering_provider_npi }) => ordering_provider_npi)).toContain(null);
  expect(lines.map(({ referring_provider_npi }) => referring_provider_npi)).toContain(null);
});

test(row('CLM-32'), () => {
  expect(payment).toMatchObject({ id: expect.any(String), emr_payment_id: 'PAY-1', check_number: 'CHK-1' });
  for (const { id, emr_payment_id } of payments) {
    expect([typeof id, typeof emr_payment_id]).toStrictEqual(['string', 'string']);
  }
  expectTexts(payments, 'check_number');
});

test(row('CLM-33'), () => {
  expect(payment.payment_date).toBe('2031-02-20');
  expectDates(payments, 'payment_date');
});

test(row('CLM-34'), () => {
  expect(payment.amount).toBe(990.1);
  for (const { amount } of payments) expect(amount).toBeTypeOf('number');
});

test(row('CLM-35'), () => {
  const expected = { payment_type: 'EFT', payer_name: 'Example Health', payer_type: 'Insurance' };
  expect(payment).toMatchObject(expected);
  expectTexts(payments, ...Object.keys(expected));
});

test(row('CLM-36'), () => {
  const expected = {
    adjustment: -10.05,
    deductible: 20.01,
    coinsurance: 13.99,
    allowed: 420.25,
    member_balance: 34.02,
    withheld: 1.03,
  };
  expect(payment).toMatchObject(expected);
  expectNumbers(payments, ...Object.keys(expected));
});

test(row('CLM-37'), () => {
  const expected = {
    era_claim_status: 'Processed as primary',
    era_claim_status_code: '1',
    era_payer_name: 'Example Health',
  };
  expect(payment).toMatchObject(expected);
  expectTexts(payments, ...Object.keys(expected));
});

test(row('CLM-38'), () => {
  expect(payment.era_check_amount).toBe(2970.3);
  expectNumbers(payments, 'era_check_amount');
});

test(row('CLM-39'), () => {
  expect(payment.era_adjustment_codes).toStrictEqual({ 'CO-45': 10.05, 'PR-1': 20.01 });
  const codes = payments.map(({ era_adjustment_codes }) => era_adjustment_codes);
  for (const each of codes) expect(each === null || (typeof each === 'object' && !Array.isArray(each))).toBe(true);
  expect(codes).toContain(null);
});

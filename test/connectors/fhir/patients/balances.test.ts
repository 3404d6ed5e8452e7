import type * as fhir from 'fhir/r4.js';
import { expect, test } from 'vitest';
import { accountBalances } from '../../../../src/emr/fhir/coverage/accounts.ts';
import { sharedFhirServer } from '../../../harness/fhir/sharedFhirServer.ts';
import { createEndpoint } from '../../larkspur/fixture.ts';
import { linkCharts } from '../chart/charts.ts';
import { bySecret, signedIn } from '../fixture.ts';

const server = sharedFhirServer({ data: 'small' });

const money = (value: number, currency: 'USD' | 'EUR' = 'USD'): fhir.Money => ({ value, currency });
const balance = (code: string, amount: fhir.Money): fhir.Extension => ({
  url: 'http://hl7.org/fhir/5.0/StructureDefinition/extension-Account.balance',
  extension: [
    { url: 'aggregate', valueCodeableConcept: { coding: [{ system: 'http://hl7.org/fhir/account-aggregate', code }] } },
    { url: 'amount', valueMoney: amount },
  ],
});
const account = (extension: fhir.Extension[]): fhir.Account => ({
  resourceType: 'Account',
  status: 'active',
  subject: [{ reference: 'Patient/pat-4' }],
  extension,
});

test('the balances are those of the open invoices, the insurance’s share only in the account’s', async () => {
  const { emr } = await linkCharts(server);
  expect(await emr.getBalances('pat-1')).toStrictEqual({ patient_balance: 40.1, account_balance: 120.3 });
  expect(await emr.getBalances('pat-2')).toStrictEqual({ patient_balance: 0, account_balance: 0 });
});

test('an open invoice without an amount, or in another currency, makes the balance unknown', async () => {
  const { emr } = await linkCharts(server);
  const invoice = { resourceType: 'Invoice' as const, status: 'issued' as const };
  await server.storeUnchecked({ ...invoice, subject: { reference: 'Patient/pat-2' } });
  expect(await emr.getBalances('pat-2')).toStrictEqual({ patient_balance: null, account_balance: null });
  await server.storeUnchecked({ ...invoice, subject: { reference: 'Patient/pat-3' }, totalGross: money(5, 'EUR') });
  expect(await emr.getBalances('pat-3')).toStrictEqual({ patient_balance: null, account_balance: null });
});

test('the balances of accounts come first', async () => {
  await server.storeUnchecked(account([balance('patient', money(12.5)), balance('total', money(99.99))]));
  const { emr } = await linkCharts(server);
  expect(await emr.getBalances('pat-4')).toStrictEqual({ patient_balance: 12.5, account_balance: 99.99 });
  expect(accountBalances(account([balance('total', money(3))]))).toStrictEqual({
    patient_balance: null,
    account_balance: 3,
  });
});

test('a server with accounts only says nothing if they have no balance; one with neither does not offer balances', async () => {
  const offered = async () => (await signedIn(createEndpoint(server.url), bySecret(server))).capabilities;
  server.faults.withheld = { Invoice: 'all' };
  expect(await offered()).toContain('getBalances');
  const { emr } = await linkCharts(server);
  expect(await emr.getBalances('pat-1')).toStrictEqual({ patient_balance: null, account_balance: null });
  server.faults.withheld = { Invoice: 'all', Account: 'all' };
  expect(await offered()).not.toContain('getBalances');
});

test('on a server without prescriptions, the medications are those that the patient takes', async () => {
  const subject = { reference: 'Patient/pat-1' };
  const statement = (id: string, status: fhir.MedicationStatement['status']): fhir.MedicationStatement => ({
    resourceType: 'MedicationStatement',
    id,
    status,
    subject,
    medicationCodeableConcept: { text: `drug ${id}` },
    effectivePeriod: { start: '2026-01-05' },
    dosage: [{ text: 'One tablet once a day' }],
  });
  for (const each of [statement('a', 'active'), statement('b', 'completed'), statement('c', 'not-taken')]) {
    await server.storeUnchecked(each);
  }
  server.faults.withheld = { MedicationRequest: 'all' };
  const { emr } = await linkCharts(server);
  const medications = await emr.listMedications('pat-1');
  expect(medications.map(({ ehr_id, active }) => [ehr_id, active]).sort()).toStrictEqual([
    ['MedicationStatement/a', true],
    ['MedicationStatement/b', false],
  ]);
  expect(medications.find(({ active }) => active)).toMatchObject({
    name: 'drug a',
    frequency: 'One tablet once a day',
    start_date: '2026-01-05',
    refills: null,
  });
});

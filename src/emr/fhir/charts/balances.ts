import type * as fhir from 'fhir/r4.js';
import type { Operations } from '../../connector.ts';
import { canSearch, type Emr, findReferencing, onlyOf, refId } from '../references.ts';
import { hasCode, list, number, text } from '../values.ts';
import { patientAccounts } from './guarantors.ts';

type Balances = Awaited<ReturnType<Operations['getBalances']>>;

const unknown: Balances = { patient_balance: null, account_balance: null };

/**
 * What is owed: the balances of the patient's accounts if the server states them, else the sum of the open invoices.
 * Invoices to an organization are the insurance's share. null: the server does not say.
 */
export async function getBalances(emr: Emr, patient_ehr_id: string): Promise<Balances> {
  const accounts = await patientAccounts(emr, patient_ehr_id);
  const stated = accounts.map(accountBalances).filter((each) => each !== undefined);
  if (stated.length > 0) {
    return {
      patient_balance: total(stated.map((each) => each.patient_balance)),
      account_balance: total(stated.map((each) => each.account_balance)),
    };
  }
  if (!invoice_params.some((param) => canSearch(emr.client, 'Invoice', [param]))) return unknown;
  const reference = `Patient/${patient_ehr_id}`;
  const found = await findReferencing<fhir.Invoice>(emr.client, 'Invoice', invoice_params, [reference]);
  const open = onlyOf(patient_ehr_id, found, ({ subject }) => [subject]).filter(({ status }) => status === 'issued');
  const to_people = open.filter(({ recipient }) => refId(recipient, 'Organization') === null);
  return { patient_balance: total(to_people.map(amountDue)), account_balance: total(open.map(amountDue)) };
}

const invoice_params = ['patient', 'subject'];

/** R4 has no balance in an Account, R5 has. Servers of R4 use HL7's extension for the elements of R5. */
const balance_extension = 'http://hl7.org/fhir/5.0/StructureDefinition/extension-Account.balance';
const aggregates = 'http://hl7.org/fhir/account-aggregate';

export function accountBalances({ extension }: fhir.Account): Balances | undefined {
  const balances = list(extension).filter(({ url }) => url === balance_extension);
  if (balances.length === 0) return undefined;
  const amountOf = (aggregate: string) => {
    const parts = balances
      .map(({ extension: inner }) => list(inner))
      .find((each) =>
        each.some(
          ({ url, valueCodeableConcept }) =>
            url === 'aggregate' && hasCode(valueCodeableConcept, aggregates, [aggregate]),
        ),
      );
    return dollars(parts?.find(({ url }) => url === 'amount')?.valueMoney);
  };
  return { patient_balance: amountOf('PATIENT'), account_balance: amountOf('TOTAL') };
}

/** The amount including taxes and discounts. */
function amountDue({ totalGross, totalNet }: fhir.Invoice): number | null {
  return dollars(totalGross) ?? dollars(totalNet);
}

function dollars(money: fhir.Money | undefined): number | null {
  return (text(money?.currency) ?? 'USD') === 'USD' ? number(money?.value) : null;
}

/** One unknown amount makes the sum unknown. Summed in cents, because binary fractions are not exact. */
function total(amounts: readonly (number | null)[]): number | null {
  const cents = amounts.map((each) => (each === null ? Number.NaN : Math.round(each * 100)));
  const sum = cents.reduce((a, b) => a + b, 0);
  return Number.isNaN(sum) ? null : sum / 100;
}

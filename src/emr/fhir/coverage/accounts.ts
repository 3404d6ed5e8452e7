import type * as fhir from 'fhir/r4.js';
import { todayIn } from '../../../platform/time/zones.ts';
import { EmrFailure } from '../../emrFailure.ts';
import type { Operations } from '../../operations/operations.ts';
import { type FhirOperation, reading } from '../operation.ts';
import { canSearch, chart_params, type Emr, findInChart, refId } from '../references.ts';
import { can, meetsAll, type Requirement, searches } from '../transport/capabilities.ts';
import { code_systems, hasCode, list, number, text, toDay } from '../values.ts';
import { findOrCreate, requireId } from '../writeSteps.ts';

/**
 * What is owed: the balances of the patient's accounts if the server states them, else the sum of the open invoices.
 * Invoices to an organization are the insurance's share. Null if the server does not say.
 */
export async function getBalances(emr: Emr, patient_ehr_id: string): Promise<Balances> {
  const accounts = await loadAccounts(emr, patient_ehr_id);
  const stated = accounts.map(accountBalances).filter((each) => each !== undefined);
  if (stated.length > 0) {
    return {
      patient_balance: sumIfKnown(stated.map((each) => each.patient_balance)),
      account_balance: sumIfKnown(stated.map((each) => each.account_balance)),
    };
  }
  if (!chart_params.some((param) => canSearch(emr.client, 'Invoice', [param]))) return unknown_balances;
  const invoices = await findInChart<fhir.Invoice>(emr.client, 'Invoice', patient_ehr_id, ({ subject }) => [subject]);
  const open = invoices.filter(({ status }) => status === 'issued');
  const to_people = open.filter(({ recipient }) => refId(recipient, 'Organization') === null);
  return { patient_balance: sumIfKnown(to_people.map(amountDue)), account_balance: sumIfKnown(open.map(amountDue)) };
}

type Balances = Awaited<ReturnType<Operations['getBalances']>>;

const unknown_balances: Balances = { patient_balance: null, account_balance: null };

/** R4 has no balance in an Account, R5 has. Servers of R4 use HL7's extension for the elements of R5. */
const balance_extension = 'http://hl7.org/fhir/5.0/StructureDefinition/extension-Account.balance';
const aggregates = 'http://hl7.org/fhir/account-aggregate';

export function accountBalances({ extension }: fhir.Account): Balances | undefined {
  const balances = list(extension).filter(({ url }) => url === balance_extension);
  if (balances.length === 0) return undefined;
  const readAmount = (aggregate: string) => {
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
  return { patient_balance: readAmount('PATIENT'), account_balance: readAmount('TOTAL') };
}

/** The amount including taxes and discounts. */
function amountDue({ totalGross, totalNet }: fhir.Invoice): number | null {
  return dollars(totalGross) ?? dollars(totalNet);
}

function dollars(money: fhir.Money | undefined): number | null {
  return (text(money?.currency) ?? 'USD') === 'USD' ? number(money?.value) : null;
}

/** One unknown amount makes the sum unknown. Summed in cents, because binary fractions are not exact. */
function sumIfKnown(amounts: readonly (number | null)[]): number | null {
  const cents = amounts.map((each) => (each === null ? Number.NaN : Math.round(each * 100)));
  const sum = cents.reduce((a, b) => a + b, 0);
  return Number.isNaN(sum) ? null : sum / 100;
}

/** The active accounts of a patient, those for billing first. Empty if the server has no accounts. */
export async function loadAccounts({ client }: Emr, patient_ehr_id: string): Promise<fhir.Account[]> {
  const accounts = await findInChart<fhir.Account>(client, 'Account', patient_ehr_id, ({ subject }) => list(subject));
  const active = accounts.filter(({ status }) => (status ?? 'active') === 'active');
  const rank = ({ type }: fhir.Account) => (hasCode(type, code_systems.act, [billing_account]) ? 0 : 1);
  return active.sort((a, b) => rank(a) - rank(b) || (a.id ?? '').localeCompare(b.id ?? ''));
}

/** The guarantors whose responsibility has not ended. */
export function currentGuarantors({ guarantor }: fhir.Account, timezone: string): fhir.AccountGuarantor[] {
  return list(guarantor).filter(({ period }) => {
    const ends = toDay(period?.end, timezone);
    return ends === null || ends > todayIn(timezone);
  });
}

export const account_requires: readonly Requirement[] = [
  can('Account', 'create', 'read', 'update'),
  searches('Account', 'patient|subject'),
];

/**
 * Names the only guarantor in the patient's account, which is created if there is none. Returns false if the server
 * accepts no accounts.
 */
export async function nameInAccount(
  emr: Emr,
  patient_ehr_id: string,
  guarantor_ehr_id: string | null,
  marker: string,
): Promise<boolean> {
  const { client, timezone } = emr;
  if (!meetsAll(client.capabilities, account_requires)) return false;
  const reference = guarantor_ehr_id === null ? `Patient/${patient_ehr_id}` : `RelatedPerson/${guarantor_ehr_id}`;
  const [present] = await loadAccounts(emr, patient_ehr_id);
  const own_marker = `${marker}-account`;
  try {
    if (!present)
      await findOrCreate(client, withGuarantor(emptyAccount(patient_ehr_id), reference, timezone), own_marker);
    else if (!namesOnly(present, reference, timezone)) {
      const change = (now: fhir.Account) => withGuarantor(now, reference, timezone);
      await client.update<fhir.Account>('Account', requireId(present), change, own_marker);
    }
    return true;
  } catch (error) {
    // The server refuses accounts as a whole, which the client remembers. The role of the person remains.
    if (error instanceof EmrFailure && error.not_offered) return false;
    throw error;
  }
}

/** Whether this is the only guarantor of the account. */
export function namesOnly(account: fhir.Account, reference: string, timezone: string): boolean {
  const [only, ...others] = currentGuarantors(account, timezone);
  return text(only?.party?.reference) === reference && others.length === 0;
}

/** Earlier guarantors stay in the account, with the day on which their responsibility ended. */
function withGuarantor(account: fhir.Account, reference: string, timezone: string): fhir.Account {
  const today = todayIn(timezone);
  const current = currentGuarantors(account, timezone);
  const earlier = list(account.guarantor).map((each) =>
    current.includes(each) ? { ...each, period: { ...each.period, end: today } } : each,
  );
  return { ...account, guarantor: [{ party: { reference }, period: { start: today } }, ...earlier] };
}

function emptyAccount(patient_ehr_id: string): fhir.Account {
  return {
    resourceType: 'Account',
    status: 'active',
    type: { coding: [{ system: code_systems.act, code: billing_account, display: 'patient billing account' }] },
    subject: [{ reference: `Patient/${patient_ehr_id}` }],
  };
}

const billing_account = 'PBILLACCT';

export const account_operations: readonly FhirOperation[] = [
  {
    operation: 'getBalances',
    requires: [{ ...searches('Invoice', 'patient|subject'), or: searches('Account', 'patient|subject') }],
    open: reading(getBalances),
  },
];

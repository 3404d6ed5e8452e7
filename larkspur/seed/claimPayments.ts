import { usDay } from './days.ts';
import type { Chance } from './random.ts';

export interface BilledClaim {
  now: Date;
  /** Days since the service. */
  age: number;
  /** In cents. */
  charge: number;
  claimId: string;
  payer: string | undefined;
  void: boolean;
}

/** Generates a claim's status and payments, with consistent amounts: charge = paid + adjusted + balance. */
export function adjudicate(chance: Chance, billed: BilledClaim) {
  const status = pickStatus(chance, billed);
  const { payments, adjusted, responsibility } = generatePayments(chance, billed, status);
  const paid = payments.reduce((sum, payment) => sum + payment.cents, 0);
  const fromPatient = payments
    .filter((payment) => payment.row.payerType === 'Patient')
    .reduce((sum, payment) => sum + payment.cents, 0);
  const balance = billed.charge - adjusted - paid;
  const owed = status === 'PAI' ? 0 : Math.max(0, responsibility - fromPatient);
  const last = payments.at(-1);
  return {
    columns: {
      statusCode: status,
      statusDescription: statuses[status],
      voidFlag: status === 'VOI' ? 'Y' : 'N',
      totalCharge: money(billed.charge),
      totalPayment: money(paid),
      netPayment: money(paid),
      balance: money(balance),
      netAdjustment: money(adjusted),
      patientResponsibility: money(responsibility),
      balances: {
        invoiceAmount: money(billed.charge),
        totalPayment: money(paid),
        netPayment: money(paid),
        balance: money(balance),
        patientBalance: money(owed),
        patientPayment: money(fromPatient),
        patientResponsibility: money(responsibility),
        onPlan: 'N',
      },
    },
    submitted: status !== 'NEW' && billed.payer !== undefined,
    payments: payments.map((payment) => payment.row),
    log: payments.map(({ row }) => ({
      date: row.paymentDate,
      action: 'Payment posted',
      category: 'Payment',
      notes: `${row.payerName}: ${row.amount}`,
      userName: 'Gray Coinsby',
    })),
    last_day: last?.day,
  };
}

export function money(cents: number): string {
  return (cents / 100).toFixed(2);
}

const statuses = {
  NEW: 'Not yet submitted',
  SUB: 'Submitted to payer',
  ACC: 'Accepted by payer',
  PPD: 'Partly paid',
  PAI: 'Paid in full',
  PAT: 'Patient balance due',
  DEN: 'Denied by payer',
  VOI: 'Void',
};

type Status = keyof typeof statuses;

function pickStatus(chance: Chance, { age, payer, void: voided }: BilledClaim): Status {
  if (voided) return 'VOI';
  if (payer === undefined) return age < 30 ? 'PAT' : 'PAI';
  if (age < 5) return 'NEW';
  if (age < 20) return chance.pick(['SUB', 'ACC']);
  if (chance.happens(0.06)) return 'DEN';
  return age < 60 ? chance.pick(['ACC', 'PPD', 'PAT', 'PAI']) : chance.pick(['PAI', 'PAI', 'PAI', 'PAI', 'PAT', 'PPD']);
}

function generatePayments(chance: Chance, billed: BilledClaim, status: Status) {
  const { charge, payer, claimId, age } = billed;
  const lag = (days: number) => Math.min(-age + days + chance.below(10), 0);
  if (status === 'VOI') return { payments: [], adjusted: charge, responsibility: 0 };
  if (payer === undefined) {
    const full = status === 'PAI' ? [patientPayment(billed, `${claimId}-P1`, lag(3), charge)] : [];
    return { payments: full, adjusted: 0, responsibility: charge };
  }
  if (status === 'DEN') {
    return {
      payments: [
        insurerPayment(billed, {
          id: `${claimId}-P1`,
          day: lag(14),
          denied: true,
          deductible: 0,
          coinsurance: 0,
          allowed: 0,
        }),
      ],
      adjusted: 0,
      responsibility: 0,
    };
  }
  if (!['PPD', 'PAI', 'PAT'].includes(status)) return { payments: [], adjusted: 0, responsibility: 0 };
  const allowed = Math.round(charge * 0.7);
  const deductible = chance.happens(0.3) ? 2000 : 0;
  const coinsurance = chance.happens(0.5) ? Math.round(allowed * 0.1) : 0;
  const responsibility = Math.min(allowed, deductible + coinsurance);
  const posted = insurerPayment(billed, {
    id: `${claimId}-P1`,
    day: lag(14),
    denied: false,
    deductible,
    coinsurance: responsibility - deductible,
    allowed,
  });
  const payments = [chance.happens(0.15) ? asPaperCheck(posted) : posted];
  const due = status === 'PAI' ? responsibility : status === 'PPD' ? Math.floor(responsibility / 2) : 0;
  if (due > 0) payments.push(patientPayment(billed, `${claimId}-P2`, Math.min(posted.day + 10, 0), due));
  return { payments, adjusted: charge - allowed, responsibility };
}

type Payment = ReturnType<typeof insurerPayment>;

interface Remittance {
  id: string;
  day: number;
  denied: boolean;
  deductible: number;
  coinsurance: number;
  allowed: number;
}

function insurerPayment({ now, charge, payer = '' }: BilledClaim, era: Remittance) {
  const { deductible, coinsurance, allowed, denied } = era;
  const cents = denied ? 0 : allowed - deductible - coinsurance;
  const adjustment = denied ? 0 : charge - allowed;
  return {
    cents,
    day: era.day,
    row: {
      paymentId: era.id,
      checkNumber: `EFT${era.id.slice(0, 6)}` as string | null,
      paymentDate: usDay(now, era.day),
      amount: money(cents),
      paymentType: 'EFT',
      payerName: payer,
      payerType: 'Insurance',
      adjustment: money(adjustment),
      deductible: money(deductible),
      coinsurance: money(coinsurance),
      allowed: money(allowed),
      memberBalance: money(deductible + coinsurance),
      withheld: '0.00',
      eraClaimStatus: (denied ? 'Denied' : 'Processed as primary') as string | null,
      eraClaimStatusCode: (denied ? '4' : '1') as string | null,
      eraPayerName: payer as string | null,
      eraCheckAmount: money(cents * 3) as string | null,
      eraAdjustmentCodes: (denied
        ? { 'CO-16': money(charge) }
        : { 'CO-45': money(adjustment), 'PR-1': money(deductible), 'PR-2': money(coinsurance) }) as Record<
        string,
        string
      > | null,
    },
  };
}

/** A payment by paper check, which has no electronic remittance. */
function asPaperCheck(posted: Payment): Payment {
  const noRemittance = {
    eraClaimStatus: null,
    eraClaimStatusCode: null,
    eraPayerName: null,
    eraCheckAmount: null,
    eraAdjustmentCodes: null,
  };
  return { ...posted, row: { ...posted.row, ...noRemittance, paymentType: 'Check' } };
}

function patientPayment(billed: BilledClaim, id: string, day: number, cents: number): Payment {
  const zero = { id, day, denied: false, deductible: 0, coinsurance: 0, allowed: 0 };
  const { row } = asPaperCheck(insurerPayment(billed, zero));
  const amounts = { amount: money(cents), adjustment: '0.00', memberBalance: '0.00' };
  return {
    cents,
    day,
    row: { ...row, ...amounts, checkNumber: null, paymentType: 'Card', payerName: 'Patient', payerType: 'Patient' },
  };
}

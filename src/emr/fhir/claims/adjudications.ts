import type * as fhir from 'fhir/r4.js';
import type { ClaimSource } from '../../../model/records/claims.ts';
import { refId } from '../references.ts';
import { groupBy, list, number, readCode, text, toDay } from '../values.ts';

/** An insurer's response to a claim, sent to the practice or to the patient. */
export type Adjudication = fhir.ClaimResponse | fhir.ExplanationOfBenefit;

/** Skips an explanation of benefits that repeats a claim response. */
export function groupAdjudications(
  responses: readonly fhir.ClaimResponse[],
  benefits: readonly fhir.ExplanationOfBenefit[],
): Map<string, Adjudication[]> {
  const response_ids = new Set(responses.map(({ id }) => id));
  const unmatched = benefits.filter(
    ({ claimResponse }) => !response_ids.has(refId(claimResponse, 'ClaimResponse') ?? undefined),
  );
  const valid = [...responses, ...unmatched].filter(({ status }) => status === 'active');
  return groupBy(valid, (adjudication) => readClaimId(adjudication) ?? '');
}

function readClaimId(adjudication: Adjudication): string | null {
  return refId(adjudication.resourceType === 'ClaimResponse' ? adjudication.request : adjudication.claim, 'Claim');
}

/** Unknown amounts stay null. Without an adjudication, only the charge is known. */
export function toAmounts(claim: fhir.Claim, adjudications: readonly Adjudication[]) {
  const charge = number(claim.total?.value) ?? sumAmounts(list(claim.item).map(({ net }) => number(net?.value)));
  const paid = sumAmounts(adjudications.map(({ payment }) => number(payment?.amount?.value)));
  const adjusted = sumAmounts(adjudications.map(({ payment }) => number(payment?.adjustment?.value)));
  const patient_owes =
    totalFor(adjudications, ['memberliability', 'patientpay']) ??
    totalFor(adjudications, ['deductible', 'copay', 'coinsurance']);
  const balance =
    charge === null || paid === null ? null : sumAmounts([charge, -paid, adjusted === null ? 0 : -adjusted]);
  const formatAmount = (amount: number | null) => amount?.toFixed(2) ?? null;
  return {
    total_charge: charge,
    total_payment: paid,
    net_payment: paid,
    balance,
    net_adjustment: adjusted,
    patient_responsibility: patient_owes,
    balances: {
      invoice_amount: formatAmount(charge),
      total_payment: formatAmount(paid),
      net_payment: formatAmount(paid),
      balance: formatAmount(balance),
      patient_balance: null,
      patient_payment: null,
      patient_responsibility: formatAmount(patient_owes),
      on_plan: null,
    },
  };
}

export function toPayment(
  adjudication: Adjudication,
  companies: ReadonlyMap<string, fhir.Organization>,
  timezone: string,
): ClaimSource['payments'] {
  const { payment, insurer } = adjudication;
  const amount = number(payment?.amount?.value);
  if (payment === undefined || amount === null) return [];
  const id = adjudication.id ?? '';
  const payer_name = text(insurer?.display) ?? text(companies.get(refId(insurer, 'Organization') ?? '')?.name);
  const adjustment = number(payment.adjustment?.value);
  const reason = readCode(payment.adjustmentReason);
  return [
    {
      id,
      emr_payment_id: id,
      check_number: text(payment.identifier?.value),
      payment_date: toDay(payment.date, timezone) ?? toDay(adjudication.created, timezone),
      amount,
      payment_type: readCode(payment.type),
      payer_name,
      // Adjudications come from insurers. FHIR stores patients' payments elsewhere.
      payer_type: 'insurance',
      adjustment,
      deductible: totalFor([adjudication], ['deductible']),
      coinsurance: totalFor([adjudication], ['coinsurance']),
      allowed: totalFor([adjudication], ['eligible']),
      member_balance: totalFor([adjudication], ['memberliability', 'patientpay']),
      withheld: null,
      era_claim_status: text(adjudication.disposition),
      era_claim_status_code: text(adjudication.outcome),
      era_payer_name: payer_name,
      era_check_amount: null,
      era_adjustment_codes: reason === null || adjustment === null ? null : { [reason]: adjustment },
    },
  ];
}

/** The total of an amount over the claim, or the sum over its lines if the adjudications have no totals. */
function totalFor(adjudications: readonly Adjudication[], categories: readonly string[]): number | null {
  return sumAmounts(
    adjudications.flatMap((adjudication) => {
      const totals: Amount[] = list<Amount>(adjudication.total).filter(inCategories(categories));
      const lines: Amount[] = list<Line>(adjudication.item).flatMap((item) => list(item.adjudication));
      return (totals.length > 0 ? totals : lines.filter(inCategories(categories))).map(({ amount }) =>
        number(amount?.value),
      );
    }),
  );
}

export function allowedFor(line_number: number, adjudications: readonly Adjudication[]): number | null {
  const lines = adjudications.flatMap((adjudication): Line[] => {
    if (adjudication.resourceType === 'ClaimResponse') {
      return list(adjudication.item).filter(({ itemSequence }) => itemSequence === line_number);
    }
    return list(adjudication.item).filter(({ sequence }) => sequence === line_number);
  });
  const amounts = lines.flatMap(({ adjudication }) => list<Amount>(adjudication).filter(inCategories(['eligible'])));
  return number(amounts.at(-1)?.amount?.value);
}

/** Adds in whole cents to avoid rounding errors. Returns null if all amounts are unknown. */
function sumAmounts(amounts: readonly (number | null)[]): number | null {
  const known_amounts = amounts.filter((amount) => amount !== null);
  if (known_amounts.length === 0) return null;
  return known_amounts.reduce((sum, amount) => sum + Math.round(amount * 100), 0) / 100;
}

type Line = { adjudication?: Amount[] | undefined };
type Amount = { category: fhir.CodeableConcept; amount?: fhir.Money | undefined };

function inCategories(categories: readonly string[]) {
  return ({ category }: Amount) => categories.includes(readCode(category)?.toLowerCase() ?? '');
}

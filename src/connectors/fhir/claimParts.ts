import type * as fhir from 'fhir/r4.js';
import type { ClaimSource } from '../../model/records/claims.ts';
import { dayOf } from './clock.ts';
import { groupOf, type Insured, memberIdOf, relationshipOf } from './coverage.ts';
import { idIn } from './references.ts';
import { addressOf, addressParts, codeOf, first, list, npiOf, number, text, wordsOf } from './values.ts';

/** What an insurer says of a claim: to the practice, or to the patient. */
export type ClaimAnswer = fhir.ClaimResponse | fhir.ExplanationOfBenefit;

/** What a claim takes from those it names, and the insurers' answers to it. */
export type Surroundings = {
  patients: ReadonlyMap<string, fhir.Patient>;
  practitioners: ReadonlyMap<string, fhir.Practitioner>;
  roles: ReadonlyMap<string, fhir.PractitionerRole>;
  encounters: ReadonlyMap<string, fhir.Encounter>;
  coverages: ReadonlyMap<string, Insured>;
  companies: ReadonlyMap<string, fhir.Organization>;
  answers: ReadonlyMap<string, ClaimAnswer[]>;
};

export function insurancesOf({ insurance }: fhir.Claim, around: Surroundings): ClaimSource['insurances'] {
  const { coverages, companies } = around;
  return list(insurance).map(({ sequence, coverage: reference }) => {
    const insured = coverages.get(idIn(reference, 'Coverage') ?? '');
    const coverage = insured?.coverage;
    const company = companies.get(idIn(list(coverage?.payor)[0], 'Organization') ?? '');
    const address = addressParts(addressOf(company?.address));
    return {
      insurance_id: idIn(reference, 'Coverage'),
      insurance_name: insured?.payer_name ?? text(reference?.display),
      insurance_type: codeOf(coverage?.type),
      claim_indicator: null,
      claim_indicator_description: null,
      sequence_number: number(sequence) === null ? null : String(sequence),
      subscriber_name: text(coverage?.subscriber?.display),
      subscriber_number: coverage ? memberIdOf(coverage) : null,
      subscriber_dob: null,
      subscriber_relation: relationshipOf(coverage?.relationship),
      group_name: coverage ? first(list(coverage.class), ({ name }) => text(name)) : null,
      group_number: coverage ? groupOf(coverage) : null,
      provider_number: null,
      payment_source: null,
      assign_benefits: null,
      insurance_address_1: address.line1,
      insurance_address_2: address.line2,
      insurance_city: address.city,
      insurance_state: address.state,
      insurance_zip: address.zip,
      medicaid_id: null,
    };
  });
}

export function lineItemsOf(
  claim: fhir.Claim,
  answers: readonly ClaimAnswer[],
  around: Surroundings,
  timezone: string,
): ClaimSource['line_items'] {
  return list(claim.item).map((item, n) => {
    const line_number = number(item.sequence) ?? n + 1;
    const npi = (roles: readonly string[]) => npiIn(claim, item, roles, around);
    const start = dayOf(item.servicedDate, timezone) ?? dayOf(item.servicedPeriod?.start, timezone);
    return {
      id: `${claim.id ?? ''}-${line_number}`,
      line_number,
      cpt_code: codeOf(item.productOrService),
      description: wordsOf(item.productOrService),
      modifiers: list(item.modifier)
        .map((each) => codeOf(each))
        .filter((code) => code !== null),
      units: number(item.quantity?.value),
      billed_amount: number(item.net?.value),
      allowed_amount: allowedFor(line_number, answers),
      billed_unit_fee: number(item.unitPrice?.value),
      icd_pointers: list(item.diagnosisSequence).map(String),
      place_of_service: codeOf(item.locationCodeableConcept),
      type_of_service: codeOf(item.category),
      service_date_start: start,
      service_date_end: dayOf(item.servicedPeriod?.end, timezone) ?? dayOf(item.servicedDate, timezone),
      rendering_provider_npi: npi(['primary', 'performing', 'rendering']),
      ordering_provider_npi: npi(['ordering', 'prescribing']),
      referring_provider_npi: npi(['referring']),
    };
  });
}

export function paymentOf(answer: ClaimAnswer, { companies }: Surroundings, timezone: string): ClaimSource['payments'] {
  const { payment, insurer } = answer;
  const amount = number(payment?.amount?.value);
  if (payment === undefined || amount === null) return [];
  const id = answer.id ?? '';
  const payer_name = text(insurer?.display) ?? text(companies.get(idIn(insurer, 'Organization') ?? '')?.name);
  const adjustment = number(payment.adjustment?.value);
  const reason = codeOf(payment.adjustmentReason);
  return [
    {
      id,
      emr_payment_id: id,
      check_number: text(payment.identifier?.value),
      payment_date: dayOf(payment.date, timezone) ?? dayOf(answer.created, timezone),
      amount,
      payment_type: codeOf(payment.type),
      payer_name,
      // Answers to claims come from insurers; what patients pay FHIR keeps elsewhere.
      payer_type: 'insurance',
      adjustment,
      deductible: totalOf([answer], ['deductible']),
      coinsurance: totalOf([answer], ['coinsurance']),
      allowed: totalOf([answer], ['eligible']),
      member_balance: totalOf([answer], ['memberliability', 'patientpay']),
      withheld: null,
      era_claim_status: text(answer.disposition),
      era_claim_status_code: text(answer.outcome),
      era_payer_name: payer_name,
      era_check_amount: null,
      era_adjustment_codes: reason === null || adjustment === null ? null : { [reason]: adjustment },
    },
  ];
}

/** What the answers say of an amount over the whole claim; where they give no totals, over its lines. */
export function totalOf(answers: readonly ClaimAnswer[], categories: readonly string[]): number | null {
  return sumOf(
    answers.flatMap((answer) => {
      const totals: Amount[] = list<Amount>(answer.total).filter(isOf(categories));
      const lines: Amount[] = list<Line>(answer.item).flatMap((item) => list(item.adjudication));
      return (totals.length > 0 ? totals : lines.filter(isOf(categories))).map(({ amount }) => number(amount?.value));
    }),
  );
}

/** In whole cents, so that a tenth of a dollar stays one; null when none of them is known. */
export function sumOf(amounts: readonly (number | null)[]): number | null {
  const known = amounts.filter((amount) => amount !== null);
  if (known.length === 0) return null;
  return known.reduce((sum, amount) => sum + Math.round(amount * 100), 0) / 100;
}

type Line = { adjudication?: Amount[] | undefined };
type Amount = { category: fhir.CodeableConcept; amount?: fhir.Money | undefined };

function isOf(categories: readonly string[]) {
  return ({ category }: Amount) => categories.includes(codeOf(category)?.toLowerCase() ?? '');
}

function allowedFor(line_number: number, answers: readonly ClaimAnswer[]): number | null {
  const lines = answers.flatMap((answer): Line[] => {
    if (answer.resourceType === 'ClaimResponse') {
      return list(answer.item).filter(({ itemSequence }) => itemSequence === line_number);
    }
    return list(answer.item).filter(({ sequence }) => sequence === line_number);
  });
  const amounts = lines.flatMap(({ adjudication }) => list<Amount>(adjudication).filter(isOf(['eligible'])));
  return number(amounts.at(-1)?.amount?.value);
}

/** The NPI of whoever had such a part in a line; one who had none named is the claim's own provider. */
function npiIn(
  claim: fhir.Claim,
  { careTeamSequence }: fhir.ClaimItem,
  roles: readonly string[],
  { practitioners, roles: held }: Surroundings,
): string | null {
  const sequences = list(careTeamSequence);
  const member = list(claim.careTeam).find(
    ({ sequence, role }) =>
      roles.includes(codeOf(role)?.toLowerCase() ?? '') && (sequences.length === 0 || sequences.includes(sequence)),
  );
  const reference = member?.provider ?? (roles.includes('rendering') ? claim.provider : undefined);
  const role = held.get(idIn(reference, 'PractitionerRole') ?? '');
  const id = idIn(reference, 'Practitioner') ?? idIn(role?.practitioner, 'Practitioner');
  return npiOf(practitioners.get(id ?? '')?.identifier) ?? npiOf(reference?.identifier ? [reference.identifier] : []);
}

import type * as fhir from 'fhir/r4.js';
import type { ClaimSource } from '../../../model/records/claims.ts';
import type { MrnRule } from '../../connector.ts';
import { groupOf, memberIdOf, type NamedCoverage, relationshipOf } from '../charts/coverage.ts';
import { dayOf } from '../clock.ts';
import { refId } from '../references.ts';
import { addressParts, codeOf, currentAddress, first, labelOf, list, npiOf, number, text } from '../values.ts';

/** An insurer's response to a claim, sent to the practice or to the patient. */
export type Adjudication = fhir.ClaimResponse | fhir.ExplanationOfBenefit;

/** Records that a claim refers to, and the adjudications of the claim. */
export type RelatedRecords = {
  mrn_rule: MrnRule | undefined;
  patients: ReadonlyMap<string, fhir.Patient>;
  practitioners: ReadonlyMap<string, fhir.Practitioner>;
  roles: ReadonlyMap<string, fhir.PractitionerRole>;
  encounters: ReadonlyMap<string, fhir.Encounter>;
  coverages: ReadonlyMap<string, NamedCoverage>;
  companies: ReadonlyMap<string, fhir.Organization>;
  conditions: ReadonlyMap<string, fhir.Condition>;
  adjudications: ReadonlyMap<string, Adjudication[]>;
};

export function toInsurances({ insurance }: fhir.Claim, related: RelatedRecords): ClaimSource['insurances'] {
  const { coverages, companies } = related;
  return list(insurance).map(({ sequence, coverage: reference }) => {
    const named_coverage = coverages.get(refId(reference, 'Coverage') ?? '');
    const coverage = named_coverage?.coverage;
    const company = companies.get(refId(list(coverage?.payor)[0], 'Organization') ?? '');
    const address = addressParts(currentAddress(company?.address));
    return {
      insurance_id: refId(reference, 'Coverage'),
      insurance_name: named_coverage?.payer_name ?? text(reference?.display),
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

/** A diagnosis by its ICD code or, without one, by whatever the claim says about it. */
export type Diagnosis = { sequence: number | null } & (
  | { icd_code: string }
  | NonNullable<ClaimSource['other_diagnoses']>[number]
);

/** The diagnoses in their order, with the codes that the claim contains or that conditions of the chart have. */
export function toDiagnoses({ diagnosis }: fhir.Claim, conditions: RelatedRecords['conditions']): Diagnosis[] {
  return list(diagnosis)
    .flatMap(({ sequence, diagnosisCodeableConcept, diagnosisReference }): Diagnosis[] => {
      const concept = diagnosisCodeableConcept ?? conditions.get(refId(diagnosisReference, 'Condition') ?? '')?.code;
      const icd_code = icdCodeOf(concept);
      if (icd_code !== null) return [{ sequence: number(sequence), icd_code }];
      const other = list(concept?.coding).find(({ code }) => text(code) !== null);
      const description = labelOf(concept) ?? text(diagnosisReference?.display);
      if (!other && description === null) return [];
      const [other_code, other_code_system] = [text(other?.code), text(other?.system)];
      return [{ sequence: number(sequence), other_code, other_code_system, description }];
    })
    .toSorted((a, b) => (a.sequence ?? 0) - (b.sequence ?? 0));
}

export function icdCodesOf(diagnoses: readonly Diagnosis[]): string[] {
  return diagnoses.flatMap((each) => ('icd_code' in each ? [each.icd_code] : []));
}

/** Those without an ICD code. Absent if there are none. */
export function otherDiagnoses(diagnoses: readonly Diagnosis[]): Pick<ClaimSource, 'other_diagnoses'> {
  const others = diagnoses.flatMap((each) => {
    if ('icd_code' in each) return [];
    const { sequence: _, ...other } = each;
    return [other];
  });
  return others.length > 0 ? { other_diagnoses: others } : {};
}

/** A condition may have codes of several systems. Without a system, the form of the code tells. */
function icdCodeOf(concept: fhir.CodeableConcept | undefined): string | null {
  const codings = list(concept?.coding);
  const named = first(codings, ({ system, code }) => (isIcd(system) ? text(code) : null));
  const unnamed = first(codings, ({ system, code }) =>
    system === undefined && /^[A-Z]\d[0-9A-Z](\.[0-9A-Z]{1,4})?$/.test(code ?? '') ? text(code) : null,
  );
  return named ?? unnamed;
}

/** ICD-10-CM, ICD-10 and ICD-9-CM, by name or by OID. */
function isIcd(system: string | undefined): boolean {
  return /\bicd-?(9|10)/i.test(system ?? '') || icd_oids.includes(system ?? '');
}

const icd_oids = ['6.90', '6.3', '6.103'].map((oid) => `urn:oid:2.16.840.1.113883.${oid}`);

export function toLineItems(
  claim: fhir.Claim,
  adjudications: readonly Adjudication[],
  related: RelatedRecords,
  timezone: string,
): ClaimSource['line_items'] {
  const diagnoses = toDiagnoses(claim, related.conditions);
  return list(claim.item).map((item, n) => {
    const line_number = number(item.sequence) ?? n + 1;
    const npi = (roles: readonly string[]) => npiForRole(claim, item, roles, related);
    const start = dayOf(item.servicedDate, timezone) ?? dayOf(item.servicedPeriod?.start, timezone);
    return {
      id: `${claim.id ?? ''}-${line_number}`,
      line_number,
      ...procedureCodes(item.productOrService),
      description: labelOf(item.productOrService),
      modifiers: list(item.modifier)
        .map((each) => codeOf(each))
        .filter((code) => code !== null),
      units: number(item.quantity?.value),
      billed_amount: number(item.net?.value),
      allowed_amount: allowedFor(line_number, adjudications),
      billed_unit_fee: number(item.unitPrice?.value),
      icd_pointers: list(item.diagnosisSequence).flatMap((pointed) =>
        icdCodesOf(diagnoses.filter(({ sequence }) => sequence === pointed)),
      ),
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

/** CPT and HCPCS codes. Others (SNOMED CT, CVX, a practice's own) are no procedure codes for billing. */
function procedureCodes(
  concept: fhir.CodeableConcept | undefined,
): Pick<ClaimSource['line_items'][number], 'cpt_code' | 'other_code' | 'other_code_system'> {
  const codings = list(concept?.coding).filter(({ code }) => text(code) !== null);
  const billing = codings.find(({ system }) => billing_systems.includes(system ?? ''));
  // Without a system, the form of the code tells: five characters, the last four or first four of them digits.
  const unnamed = codings.find(
    ({ system, code }) => system === undefined && /^([0-9A-V]\d{4}|\d{4}[A-Z])$/.test(code ?? ''),
  );
  const cpt_code = text((billing ?? unnamed)?.code);
  const other = cpt_code === null ? codings[0] : undefined;
  return other ? { cpt_code, other_code: text(other.code), other_code_system: text(other.system) } : { cpt_code };
}

/** CPT, and the two names of HCPCS level II. */
const billing_systems = [
  'http://www.ama-assn.org/go/cpt',
  'urn:oid:2.16.840.1.113883.6.12',
  'https://www.cms.gov/Medicare/Coding/HCPCSReleaseCodeSets',
  'http://www.cms.gov/Medicare/Coding/HCPCSReleaseCodeSets',
  'urn:oid:2.16.840.1.113883.6.285',
  'http://terminology.hl7.org/CodeSystem/ex-USCLS',
];

export function toPayment(
  adjudication: Adjudication,
  { companies }: RelatedRecords,
  timezone: string,
): ClaimSource['payments'] {
  const { payment, insurer } = adjudication;
  const amount = number(payment?.amount?.value);
  if (payment === undefined || amount === null) return [];
  const id = adjudication.id ?? '';
  const payer_name = text(insurer?.display) ?? text(companies.get(refId(insurer, 'Organization') ?? '')?.name);
  const adjustment = number(payment.adjustment?.value);
  const reason = codeOf(payment.adjustmentReason);
  return [
    {
      id,
      emr_payment_id: id,
      check_number: text(payment.identifier?.value),
      payment_date: dayOf(payment.date, timezone) ?? dayOf(adjudication.created, timezone),
      amount,
      payment_type: codeOf(payment.type),
      payer_name,
      // Adjudications come from insurers. FHIR stores patients' payments elsewhere.
      payer_type: 'insurance',
      adjustment,
      deductible: totalOf([adjudication], ['deductible']),
      coinsurance: totalOf([adjudication], ['coinsurance']),
      allowed: totalOf([adjudication], ['eligible']),
      member_balance: totalOf([adjudication], ['memberliability', 'patientpay']),
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
export function totalOf(adjudications: readonly Adjudication[], categories: readonly string[]): number | null {
  return sumOf(
    adjudications.flatMap((adjudication) => {
      const totals: Amount[] = list<Amount>(adjudication.total).filter(inCategories(categories));
      const lines: Amount[] = list<Line>(adjudication.item).flatMap((item) => list(item.adjudication));
      return (totals.length > 0 ? totals : lines.filter(inCategories(categories))).map(({ amount }) =>
        number(amount?.value),
      );
    }),
  );
}

/** Adds in whole cents to avoid rounding errors. Returns null if all amounts are unknown. */
export function sumOf(amounts: readonly (number | null)[]): number | null {
  const known = amounts.filter((amount) => amount !== null);
  if (known.length === 0) return null;
  return known.reduce((sum, amount) => sum + Math.round(amount * 100), 0) / 100;
}

type Line = { adjudication?: Amount[] | undefined };
type Amount = { category: fhir.CodeableConcept; amount?: fhir.Money | undefined };

function inCategories(categories: readonly string[]) {
  return ({ category }: Amount) => categories.includes(codeOf(category)?.toLowerCase() ?? '');
}

function allowedFor(line_number: number, adjudications: readonly Adjudication[]): number | null {
  const lines = adjudications.flatMap((adjudication): Line[] => {
    if (adjudication.resourceType === 'ClaimResponse') {
      return list(adjudication.item).filter(({ itemSequence }) => itemSequence === line_number);
    }
    return list(adjudication.item).filter(({ sequence }) => sequence === line_number);
  });
  const amounts = lines.flatMap(({ adjudication }) => list<Amount>(adjudication).filter(inCategories(['eligible'])));
  return number(amounts.at(-1)?.amount?.value);
}

/**
 * The NPI of the care team member with one of these roles. For the rendering role, falls back to the claim's provider.
 */
function npiForRole(
  claim: fhir.Claim,
  { careTeamSequence }: fhir.ClaimItem,
  roles: readonly string[],
  { practitioners, roles: practitioner_roles }: RelatedRecords,
): string | null {
  const sequences = list(careTeamSequence);
  const member = list(claim.careTeam).find(
    ({ sequence, role }) =>
      roles.includes(codeOf(role)?.toLowerCase() ?? '') && (sequences.length === 0 || sequences.includes(sequence)),
  );
  const reference = member?.provider ?? (roles.includes('rendering') ? claim.provider : undefined);
  const role = practitioner_roles.get(refId(reference, 'PractitionerRole') ?? '');
  const id = refId(reference, 'Practitioner') ?? refId(role?.practitioner, 'Practitioner');
  return npiOf(practitioners.get(id ?? '')?.identifier) ?? npiOf(reference?.identifier ? [reference.identifier] : []);
}

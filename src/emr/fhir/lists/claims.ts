import type * as fhir from 'fhir/r4.js';
import type { ClaimSource } from '../../../model/records/claims.ts';
import { withPayerNames } from '../charts/coverage.ts';
import { dayOf } from '../clock.ts';
import { mrnOf } from '../mrn.ts';
import { type Emr, findReferencing, type Resolver, refId, refIds } from '../references.ts';
import { codeOf, first, groupBy, list, nameOf, number, text } from '../values.ts';
import {
  type Adjudication,
  icdCodesOf,
  otherDiagnoses,
  type RelatedRecords,
  sumOf,
  toDiagnoses,
  toInsurances,
  toLineItems,
  toPayment,
  totalOf,
} from './claimParts.ts';
import type { List } from './readList.ts';

export const claims: List<fhir.Claim, ClaimSource> = {
  type: 'Claim',
  toSources,
  dependents: [
    { type: 'ClaimResponse', owner: ({ request }: fhir.ClaimResponse) => refId(request, 'Claim') },
    { type: 'ExplanationOfBenefit', owner: ({ claim }: fhir.ExplanationOfBenefit) => refId(claim, 'Claim') },
  ],
};

async function toSources(page: fhir.Claim[], emr: Emr, resolver: Resolver): Promise<ClaimSource[]> {
  // Skips claims entered in error, predeterminations and preauthorizations.
  const relevant = page.filter(({ status, use }) => status !== 'entered-in-error' && (use ?? 'claim') === 'claim');
  const related = await loadRelated(relevant, emr, resolver);
  return relevant.map((each) => toClaim(each, related, emr.timezone)).filter((each) => each !== undefined);
}

async function loadRelated(page: fhir.Claim[], { client }: Emr, resolver: Resolver): Promise<RelatedRecords> {
  const refs = page.map(({ id }) => `Claim/${id}`);
  const responses = await findReferencing<fhir.ClaimResponse>(client, 'ClaimResponse', ['request'], refs);
  const benefits = await findReferencing<fhir.ExplanationOfBenefit>(client, 'ExplanationOfBenefit', ['claim'], refs);
  const adjudications = groupAdjudications(responses, benefits);
  const people = page.flatMap(({ provider, careTeam }) => [provider, ...list(careTeam).map((each) => each.provider)]);
  const roles = await resolver.load<fhir.PractitionerRole>('PractitionerRole', refIds(people, 'PractitionerRole'));
  const practitioner_refs = [...people, ...[...roles.values()].map(({ practitioner }) => practitioner)];
  const coverage_refs = page.flatMap(({ insurance }) => list(insurance).map(({ coverage }) => coverage));
  const coverages = await resolver.load<fhir.Coverage>('Coverage', refIds(coverage_refs, 'Coverage'));
  const named_coverages = await withPayerNames([...coverages.values()], resolver);
  const visits = page.flatMap(({ item }) => list(item).flatMap(({ encounter }) => list(encounter)));
  const payers = [
    ...named_coverages.map(({ coverage }) => list(coverage.payor)[0]),
    ...[...adjudications.values()].flat().map(({ insurer }) => insurer),
  ];
  const diagnoses = page.flatMap(({ diagnosis }) => list(diagnosis).map((each) => each.diagnosisReference));
  return {
    adjudications,
    roles,
    conditions: await resolver.load<fhir.Condition>('Condition', refIds(diagnoses, 'Condition')),
    patients: await resolver.load<fhir.Patient>(
      'Patient',
      refIds(
        page.map(({ patient }) => patient),
        'Patient',
      ),
    ),
    practitioners: await resolver.load<fhir.Practitioner>('Practitioner', refIds(practitioner_refs, 'Practitioner')),
    encounters: await resolver.load<fhir.Encounter>('Encounter', refIds(visits, 'Encounter')),
    coverages: new Map(named_coverages.map((each) => [each.coverage.id ?? '', each])),
    mrn_rule: client.mrn_rule,
    companies: await resolver.load<fhir.Organization>('Organization', refIds(payers, 'Organization')),
  };
}

/** Skips an explanation of benefits that repeats a claim response. */
function groupAdjudications(
  responses: readonly fhir.ClaimResponse[],
  benefits: readonly fhir.ExplanationOfBenefit[],
): Map<string, Adjudication[]> {
  const known = new Set(responses.map(({ id }) => id));
  const unmatched = benefits.filter(
    ({ claimResponse }) => !known.has(refId(claimResponse, 'ClaimResponse') ?? undefined),
  );
  const valid = [...responses, ...unmatched].filter(({ status }) => status === 'active');
  return groupBy(valid, (adjudication) => claimIdOf(adjudication) ?? '');
}

function claimIdOf(adjudication: Adjudication): string | null {
  return refId(adjudication.resourceType === 'ClaimResponse' ? adjudication.request : adjudication.claim, 'Claim');
}

/** Returns undefined for a claim without any date, because claims are listed by date. */
export function toClaim(claim: fhir.Claim, related: RelatedRecords, timezone: string): ClaimSource | undefined {
  const service_date = serviceDateOf(claim, timezone);
  if (service_date === null) return undefined;
  const adjudications = related.adjudications.get(claim.id ?? '') ?? [];
  const patient_id = refId(claim.patient, 'Patient');
  const patient = related.patients.get(patient_id ?? '');
  const role = related.roles.get(refId(claim.provider, 'PractitionerRole') ?? '');
  const provider_id = refId(claim.provider, 'Practitioner') ?? refId(role?.practitioner, 'Practitioner');
  const diagnoses = toDiagnoses(claim, related.conditions);
  const [latest] = adjudications.toSorted((a, b) => (text(b.created) ?? '').localeCompare(text(a.created) ?? ''));
  return {
    ehr_id: claim.id ?? '',
    patient_mrn: patient ? mrnOf(patient, related.mrn_rule) : null,
    emr_appointment_id: appointmentIdOf(claim, related),
    service_date,
    claim_date: dayOf(claim.created, timezone),
    claim_status: text(claim.status),
    claim_status_description: text(latest?.disposition) ?? text(latest?.outcome),
    claim_type: codeOf(claim.type),
    void_flag: claim.status === 'cancelled',
    emr_patient_id: patient_id,
    patient_name: nameOf(patient?.name).full ?? text(claim.patient?.display),
    emr_provider_id: provider_id,
    provider_name: nameOf(related.practitioners.get(provider_id ?? '')?.name).full ?? text(claim.provider?.display),
    ...toAmounts(claim, adjudications),
    icd_codes: icdCodesOf(diagnoses),
    ...otherDiagnoses(diagnoses),
    billing_notes: null,
    insurances: toInsurances(claim, related),
    void_claim: toVoidClaim(claim),
    submission_history: { created_by: text(claim.enterer?.display), entries: [], auto_claim_data: {} },
    billing_activity_log: [],
    line_items: toLineItems(claim, adjudications, related, timezone),
    payments: adjudications.flatMap((adjudication) => toPayment(adjudication, related, timezone)),
  };
}

/** The first date of service, or the date of the claim. */
function serviceDateOf({ billablePeriod, item, created }: fhir.Claim, timezone: string): string | null {
  const served = list(item)
    .map(({ servicedDate, servicedPeriod }) => dayOf(servicedDate, timezone) ?? dayOf(servicedPeriod?.start, timezone))
    .filter((day) => day !== null)
    .sort();
  return dayOf(billablePeriod?.start, timezone) ?? served[0] ?? dayOf(created, timezone);
}

function appointmentIdOf({ item }: fhir.Claim, { encounters }: RelatedRecords): string | null {
  const visits = refIds(
    list(item).flatMap(({ encounter }) => list(encounter)),
    'Encounter',
  );
  return first(visits, (id) => refIds(list(encounters.get(id)?.appointment), 'Appointment')[0] ?? null);
}

/** Unknown amounts stay null. Without an adjudication, only the charge is known. */
function toAmounts(claim: fhir.Claim, adjudications: readonly Adjudication[]) {
  const charge = number(claim.total?.value) ?? sumOf(list(claim.item).map(({ net }) => number(net?.value)));
  const paid = sumOf(adjudications.map(({ payment }) => number(payment?.amount?.value)));
  const adjusted = sumOf(adjudications.map(({ payment }) => number(payment?.adjustment?.value)));
  const patient_owes =
    totalOf(adjudications, ['memberliability', 'patientpay']) ??
    totalOf(adjudications, ['deductible', 'copay', 'coinsurance']);
  const balance = charge === null || paid === null ? null : sumOf([charge, -paid, adjusted === null ? 0 : -adjusted]);
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

/** The claim that this one replaces. */
function toVoidClaim({ related }: fhir.Claim): ClaimSource['void_claim'] {
  const relatedClaim = (code: string) =>
    first(list(related), ({ claim, relationship }) => (codeOf(relationship) === code ? refId(claim, 'Claim') : null));
  return {
    void_to_claim_id: null,
    void_from_claim_id: relatedClaim('prior'),
    copy_to_claim_id: null,
    copy_from_claim_id: null,
  };
}

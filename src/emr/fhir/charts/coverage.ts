import type * as fhir from 'fhir/r4.js';
import type { LiveInsurance } from '../../../model/liveChart.ts';
import { type SubscriberRelationship, subscriber_relationships } from '../../../model/requests/insurance.ts';
import { todayIn } from '../../../platform/time/zones.ts';
import { dayOf } from '../clock.ts';
import {
  containedResource,
  createResolver,
  type Emr,
  findReferencing,
  type Resolver,
  refId,
  refIds,
} from '../references.ts';
import { codeOf, groupBy, hasCode, identifierOf, list, number, text } from '../values.ts';

/** A coverage with the name of its payer. */
export type NamedCoverage = { coverage: fhir.Coverage; payer_name: string | null };

/** The active coverages of these patients by patient id, in the order in which they pay. */
export async function loadCoverages(
  { client, timezone }: Emr,
  patient_ids: readonly string[],
  resolver: Resolver,
): Promise<ReadonlyMap<string, NamedCoverage[]>> {
  const references = patient_ids.map((id) => `Patient/${id}`);
  const found = await findReferencing<fhir.Coverage>(client, 'Coverage', ['beneficiary', 'patient'], references);
  const today = todayIn(timezone);
  const coverages = await withPayerNames(
    found.filter((each) => isActive(each, today, timezone)),
    resolver,
  );
  const by_patient = groupBy(coverages, ({ coverage }) => refId(coverage.beneficiary, 'Patient') ?? '');
  for (const each of by_patient.values()) each.sort(byPriority);
  return by_patient;
}

export async function listPatientInsurances(emr: Emr, patient_ehr_id: string): Promise<LiveInsurance[]> {
  const found = await loadCoverages(emr, [patient_ehr_id], createResolver(emr.client));
  const coverages = found.get(patient_ehr_id) ?? [];
  return coverages.map((each, n) => toInsurance(each, priorityOf(coverages, n), emr.timezone));
}

/** Adds the payer's name, from the reference itself or from the payer's record. */
export async function withPayerNames(coverages: fhir.Coverage[], resolver: Resolver): Promise<NamedCoverage[]> {
  const payers = coverages.map((each) => list(each.payor)[0]);
  const unnamed = payers.filter((payer) => text(payer?.display) === null);
  const companies = await resolver.load<fhir.Organization>('Organization', refIds(unnamed, 'Organization'));
  return coverages.map((coverage) => {
    const payer = list(coverage.payor)[0];
    const contained = containedResource<fhir.Organization>(coverage, payer, 'Organization');
    const company = contained ?? companies.get(refId(payer, 'Organization') ?? '');
    return { coverage, payer_name: text(payer?.display) ?? text(company?.name) };
  });
}

export function toInsurance(
  { coverage, payer_name }: NamedCoverage,
  priority: number,
  timezone: string,
): LiveInsurance {
  const relationship = relationshipOf(coverage.relationship);
  const by_patient = coverage.subscriber?.reference === coverage.beneficiary?.reference;
  return {
    emr_insurance_id: coverage.id ?? '',
    priority,
    insurance_ehr_id: refId(list(coverage.payor)[0], 'Organization'),
    insurance_name: payer_name ?? '',
    insurance_subscriber_number: memberIdOf(coverage),
    group_id: groupOf(coverage),
    plan_begin_date: dayOf(coverage.period?.start, timezone),
    copayment: copaymentOf(coverage),
    relationship_to_subscriber: relationship,
    guarantor_id: refId(coverage.subscriber, 'RelatedPerson'),
    is_guarantor_patient: relationship === '01' || (coverage.subscriber !== undefined && by_patient),
  };
}

export function memberIdOf(coverage: fhir.Coverage): string | null {
  return text(coverage.subscriberId) ?? identifierOf(coverage.identifier, { types: ['MB'] });
}

export function groupOf(coverage: fhir.Coverage): string | null {
  return text(list(coverage.class).find(isGroup)?.value);
}

export function isGroup({ type }: fhir.CoverageClass): boolean {
  return hasCode(type, class_system, ['GROUP']);
}

export function copaymentOf(coverage: fhir.Coverage): string | null {
  const amount = number(list(coverage.costToBeneficiary).find(isCopay)?.valueMoney?.value);
  return amount === null ? null : amount.toFixed(2);
}

export function isCopay({ type }: fhir.CoverageCostToBeneficiary): boolean {
  return hasCode(type, copay_system, ['COPAY']);
}

/**
 * The insurers' code for the patient's relationship to the subscriber. FHIR has fewer codes, so its text is read first.
 */
export function relationshipOf(relationship: fhir.CodeableConcept | undefined): SubscriberRelationship | null {
  const text_lower = text(relationship?.text)?.toLowerCase();
  const pairs = Object.entries(subscriber_relationships) as [SubscriberRelationship, string][];
  const by_text = pairs.find(([, name]) => name === text_lower)?.[0];
  return by_text ?? from_fhir.get(codeOf(relationship, relationship_system)?.toLowerCase() ?? '') ?? null;
}

export const class_system = 'http://terminology.hl7.org/CodeSystem/coverage-class';
export const copay_system = 'http://terminology.hl7.org/CodeSystem/coverage-copay-type';
export const relationship_system = 'http://terminology.hl7.org/CodeSystem/subscriber-relationship';

/** `parent` is missing: FHIR does not say whether it is the mother or the father. */
const from_fhir = new Map<string, SubscriberRelationship>([
  ['self', '01'],
  ['spouse', '02'],
  ['child', '19'],
  ['common', '53'],
  ['other', '25'],
]);

/** Cancelled, draft, erroneous and ended coverages pay nothing. */
function isActive({ status, period }: fhir.Coverage, today: string, timezone: string): boolean {
  const ended = dayOf(period?.end, timezone);
  return (status ?? 'active') === 'active' && (ended === null || ended >= today);
}

/** Coverages with an explicit order come first, then the oldest. */
function byPriority({ coverage: a }: NamedCoverage, { coverage: b }: NamedCoverage): number {
  const begins = (coverage: fhir.Coverage) => text(coverage.period?.start) ?? '9';
  return (
    (number(a.order) ?? 99) - (number(b.order) ?? 99) ||
    begins(a).localeCompare(begins(b)) ||
    (a.id ?? '').localeCompare(b.id ?? '')
  );
}

/** The server's order, or the position after the ordered ones. */
function priorityOf(coverages: NamedCoverage[], n: number): number {
  return (
    number(coverages[n]?.coverage.order) ??
    Math.max(n, ...coverages.map((each) => number(each.coverage.order) ?? 0)) + 1
  );
}

import type * as fhir from 'fhir/r4.js';
import { type SubscriberRelationship, subscriber_relationships } from '../../model/insuranceRequest.ts';
import type { LiveInsurance } from '../../model/liveChart.ts';
import { todayIn } from '../../time/zones.ts';
import { dayOf } from './clock.ts';
import { containedIn, type Emr, idIn, idsIn, type Resolver, referringTo, resolverOf } from './references.ts';
import { codeOf, grouped, identifierOf, isCoded, list, number, text } from './values.ts';

/** A coverage with the names of those it refers to. */
export type Insured = { coverage: fhir.Coverage; payer_name: string | null };

/** The coverages in force of these patients, by the patient's id, in the order in which they pay. */
export async function coveragesOf(
  { client, timezone }: Emr,
  patient_ids: readonly string[],
  resolver: Resolver,
): Promise<ReadonlyMap<string, Insured[]>> {
  const references = patient_ids.map((id) => `Patient/${id}`);
  const found = await referringTo<fhir.Coverage>(client, 'Coverage', ['beneficiary', 'patient'], references);
  const today = todayIn(timezone);
  const insured = await named(
    found.filter((each) => isInForce(each, today, timezone)),
    resolver,
  );
  const by_patient = grouped(insured, ({ coverage }) => idIn(coverage.beneficiary, 'Patient') ?? '');
  for (const each of by_patient.values()) each.sort(inOrderOfPaying);
  return by_patient;
}

export async function listPatientInsurances(emr: Emr, patient_ehr_id: string): Promise<LiveInsurance[]> {
  const found = await coveragesOf(emr, [patient_ehr_id], resolverOf(emr.client));
  const insured = found.get(patient_ehr_id) ?? [];
  return insured.map((each, n) => insuranceOf(each, rankOf(insured, n), emr.timezone));
}

/** The names of the companies, from the reference itself or from the company's record. */
export async function named(coverages: fhir.Coverage[], resolver: Resolver): Promise<Insured[]> {
  const payers = coverages.map((each) => list(each.payor)[0]);
  const unnamed = payers.filter((payer) => text(payer?.display) === null);
  const companies = await resolver.load<fhir.Organization>('Organization', idsIn(unnamed, 'Organization'));
  return coverages.map((coverage) => {
    const payer = list(coverage.payor)[0];
    const held = containedIn<fhir.Organization>(coverage, payer, 'Organization');
    const company = held ?? companies.get(idIn(payer, 'Organization') ?? '');
    return { coverage, payer_name: text(payer?.display) ?? text(company?.name) };
  });
}

export function insuranceOf({ coverage, payer_name }: Insured, priority: number, timezone: string): LiveInsurance {
  const relationship = relationshipOf(coverage.relationship);
  const by_patient = coverage.subscriber?.reference === coverage.beneficiary?.reference;
  return {
    emr_insurance_id: coverage.id ?? '',
    priority,
    insurance_ehr_id: idIn(list(coverage.payor)[0], 'Organization'),
    insurance_name: payer_name ?? '',
    insurance_subscriber_number: memberIdOf(coverage),
    group_id: groupOf(coverage),
    plan_begin_date: dayOf(coverage.period?.start, timezone),
    copayment: copaymentOf(coverage),
    relationship_to_subscriber: relationship,
    guarantor_id: idIn(coverage.subscriber, 'RelatedPerson'),
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
  return isCoded(type, class_system, ['GROUP']);
}

export function copaymentOf(coverage: fhir.Coverage): string | null {
  const amount = number(list(coverage.costToBeneficiary).find(isCopay)?.valueMoney?.value);
  return amount === null ? null : amount.toFixed(2);
}

export function isCopay({ type }: fhir.CoverageCostToBeneficiary): boolean {
  return isCoded(type, copay_system, ['COPAY']);
}

/** The insurers' code of how the patient stands to the subscriber: FHIR has fewer, so its words are looked at first. */
export function relationshipOf(relationship: fhir.CodeableConcept | undefined): SubscriberRelationship | null {
  const words = text(relationship?.text)?.toLowerCase();
  // The table's own keys.
  const pairs = Object.entries(subscriber_relationships) as [SubscriberRelationship, string][];
  const said = pairs.find(([, name]) => name === words)?.[0];
  return said ?? from_fhir.get(codeOf(relationship, relationship_system)?.toLowerCase() ?? '') ?? null;
}

export const class_system = 'http://terminology.hl7.org/CodeSystem/coverage-class';
export const copay_system = 'http://terminology.hl7.org/CodeSystem/coverage-copay-type';
export const relationship_system = 'http://terminology.hl7.org/CodeSystem/subscriber-relationship';

/** A parent may be a mother or a father: which one FHIR does not say. */
const from_fhir = new Map<string, SubscriberRelationship>([
  ['self', '01'],
  ['spouse', '02'],
  ['child', '19'],
  ['common', '53'],
  ['other', '25'],
]);

/** Cancelled ones, drafts, mistakes and those that have ended pay nothing. */
function isInForce({ status, period }: fhir.Coverage, today: string, timezone: string): boolean {
  const ended = dayOf(period?.end, timezone);
  return (status ?? 'active') === 'active' && (ended === null || ended >= today);
}

/** Those that say their rank come first, then the longest-standing. */
function inOrderOfPaying({ coverage: a }: Insured, { coverage: b }: Insured): number {
  const begins = (coverage: fhir.Coverage) => text(coverage.period?.start) ?? '9';
  return (
    (number(a.order) ?? 99) - (number(b.order) ?? 99) ||
    begins(a).localeCompare(begins(b)) ||
    (a.id ?? '').localeCompare(b.id ?? '')
  );
}

/** What the server says, else the place behind those before it. */
function rankOf(insured: Insured[], n: number): number {
  return (
    number(insured[n]?.coverage.order) ?? Math.max(n, ...insured.map((each) => number(each.coverage.order) ?? 0)) + 1
  );
}

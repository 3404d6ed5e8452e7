import type * as fhir from 'fhir/r4.js';
import type { LiveInsurance } from '../../../model/liveChart.ts';
import { type SubscriberRelationship, subscriber_relationships } from '../../../model/requests/insurance.ts';
import type { InsuranceFields, InsuranceUpdate } from '../../operations/insurance.ts';
import type { Field } from '../fields.ts';
import { type FhirOperation, reading } from '../operation.ts';
import {
  createResolver,
  type Emr,
  findReferencing,
  findReferred,
  type Resolver,
  refId,
  refIds,
} from '../references.ts';
import { searches } from '../transport/capabilities.ts';
import {
  groupBy,
  hasCode,
  isInForce,
  list,
  nonEmptyList,
  number,
  readCode,
  readIdentifier,
  text,
  toDay,
} from '../values.ts';

/** A coverage with the name of its payer. */
export type NamedCoverage = { coverage: fhir.Coverage; payer_name: string | null };

/** The active coverages of these patients by patient id, in the order in which they pay. */
export async function loadCoverages(
  { client, timezone }: Emr,
  patient_ids: readonly string[],
  resolver: Resolver,
): Promise<ReadonlyMap<string, NamedCoverage[]>> {
  const references = patient_ids.map((id) => `Patient/${id}`);
  const all = await findReferencing<fhir.Coverage>(client, 'Coverage', ['beneficiary', 'patient'], references);
  // Cancelled, draft, erroneous and ended coverages pay nothing.
  const active = all.filter((each) => isInForce(each, timezone));
  const coverages = await addPayerNames(active, resolver);
  const by_patient = groupBy(coverages, ({ coverage }) => refId(coverage.beneficiary, 'Patient') ?? '');
  for (const each of by_patient.values()) each.sort(byPriority);
  return by_patient;
}

export async function listPatientInsurances(emr: Emr, patient_ehr_id: string): Promise<LiveInsurance[]> {
  const by_patient = await loadCoverages(emr, [patient_ehr_id], createResolver(emr.client));
  const coverages = by_patient.get(patient_ehr_id) ?? [];
  return coverages.map((each, n) => toInsurance(each, toCoveragePriority(coverages, n), emr.timezone));
}

/** Coverages with an explicit order come first, then the oldest. */
export function byPriority({ coverage: a }: NamedCoverage, { coverage: b }: NamedCoverage): number {
  const begins = (coverage: fhir.Coverage) => text(coverage.period?.start) ?? '9';
  return (
    (number(a.order) ?? 99) - (number(b.order) ?? 99) ||
    begins(a).localeCompare(begins(b)) ||
    (a.id ?? '').localeCompare(b.id ?? '')
  );
}

/** The server's order, or the position after the ordered ones. */
export function toCoveragePriority(coverages: NamedCoverage[], n: number): number {
  return (
    number(coverages[n]?.coverage.order) ??
    Math.max(n, ...coverages.map((each) => number(each.coverage.order) ?? 0)) + 1
  );
}

/** Adds the payer's name: that of its record, because the text of a reference may be old or that of a plan. */
export async function addPayerNames(coverages: fhir.Coverage[], resolver: Resolver): Promise<NamedCoverage[]> {
  const payers = coverages.map((each) => list(each.payor)[0]);
  const companies = await resolver.load<fhir.Organization>('Organization', refIds(payers, 'Organization'));
  return coverages.map((coverage) => {
    const payer = list(coverage.payor)[0];
    const company = findReferred<fhir.Organization>(coverage, payer, 'Organization', companies);
    return { coverage, payer_name: text(company?.name) ?? text(payer?.display) };
  });
}

export function toInsurance(
  { coverage, payer_name }: NamedCoverage,
  priority: number,
  timezone: string,
): LiveInsurance {
  const relationship = readRelationship(coverage.relationship);
  const by_patient = coverage.subscriber?.reference === coverage.beneficiary?.reference;
  return {
    emr_insurance_id: coverage.id ?? '',
    priority,
    insurance_ehr_id: refId(list(coverage.payor)[0], 'Organization'),
    insurance_name: payer_name ?? '',
    insurance_subscriber_number: readMemberId(coverage),
    group_id: readGroup(coverage),
    plan_begin_date: toDay(coverage.period?.start, timezone),
    copayment: readCopayment(coverage),
    relationship_to_subscriber: relationship,
    guarantor_id: refId(coverage.subscriber, 'RelatedPerson'),
    is_guarantor_patient: relationship === '01' || (coverage.subscriber !== undefined && by_patient),
  };
}

/** The fields of an insurance, each with its place in a FHIR Coverage. */
export const coverage_fields: readonly Field<fhir.Coverage>[] = [
  {
    property: 'insurance_ehr_id',
    label: 'Insurance company',
    read: ({ payor }) => refId(list(payor)[0], 'Organization'),
    write: (coverage, value) => {
      coverage.payor = value === null ? [{}] : [{ reference: `Organization/${value}` }];
    },
  },
  {
    property: 'insurance_name',
    label: 'Insurance name',
    read: ({ payor }) => text(list(payor)[0]?.display),
    write: (coverage, value) => {
      coverage.payor = [{ ...list(coverage.payor)[0], display: value ?? undefined }];
    },
  },
  {
    property: 'member_id',
    label: 'Member ID',
    read: readMemberId,
    write: (coverage, value) => {
      coverage.subscriberId = value ?? undefined;
    },
  },
  {
    property: 'group_id',
    label: 'Group number',
    read: readGroup,
    write: (coverage, value) => {
      const type = { coding: [{ system: class_system, code: 'group' }] };
      const existing = list(coverage.class).find(isGroup) ?? { type };
      coverage.class = replaceMatching(list(coverage.class), isGroup, value === null ? null : { ...existing, value });
    },
  },
  {
    property: 'priority',
    label: 'Priority',
    read: ({ order }) => (number(order) === null ? null : String(order)),
    write: (coverage, value) => {
      coverage.order = value === null ? undefined : Number(value);
    },
  },
  {
    property: 'plan_begin_date',
    label: 'Plan begins',
    read: ({ period }) => text(period?.start)?.slice(0, 10) ?? null,
    write: (coverage, value) => {
      coverage.period = { ...coverage.period, start: value ?? undefined };
    },
  },
  {
    property: 'plan_end_date',
    label: 'Plan ends',
    read: ({ period }) => text(period?.end)?.slice(0, 10) ?? null,
    write: (coverage, value) => {
      coverage.period = { ...coverage.period, end: value ?? undefined };
    },
  },
  {
    property: 'copayment',
    label: 'Copayment',
    read: readCopayment,
    write: (coverage, value) => {
      const type = { coding: [{ system: copay_system, code: 'copay' }] };
      const cost = value === null ? null : { type, valueMoney: { value: Number(value), currency: 'USD' as const } };
      coverage.costToBeneficiary = replaceMatching(list(coverage.costToBeneficiary), isCopay, cost);
    },
  },
  {
    property: 'relationship_to_subscriber',
    label: 'Relationship to subscriber',
    read: ({ relationship }) => readRelationship(relationship),
    write: (coverage, value) => {
      coverage.relationship = value === null ? undefined : toRelationship(value as SubscriberRelationship);
    },
  },
  {
    property: 'guarantor_id',
    label: 'Subscriber',
    read: ({ subscriber }) => refId(subscriber, 'RelatedPerson'),
    write: (coverage, value) => {
      coverage.subscriber = value === null ? { ...coverage.beneficiary } : { reference: `RelatedPerson/${value}` };
    },
  },
];

/** The field values of a request, without company and subscriber, which are separate records. */
export function coverageValues(
  input: InsuranceFields &
    Pick<Partial<InsuranceUpdate>, 'priority' | 'plan_end_date'> & { member_id?: string | null | undefined },
): Record<string, unknown> {
  return {
    member_id: input.member_id ?? undefined,
    group_id: input.group_id,
    priority: input.priority,
    plan_begin_date: input.plan_begin_date,
    plan_end_date: input.plan_end_date,
    copayment: input.copayment === null ? null : input.copayment?.toFixed(2),
    relationship_to_subscriber: input.relationship,
  };
}

/** US Core requires a relationship: unless the request says otherwise, the patient is the subscriber. */
export function emptyCoverage(patient_ehr_id: string, subscriber: 'patient' | 'other'): fhir.Coverage {
  const beneficiary = { reference: `Patient/${patient_ehr_id}` };
  const code = subscriber === 'patient' ? 'self' : 'other';
  return {
    resourceType: 'Coverage',
    status: 'active',
    ...(subscriber === 'patient' && { subscriber: { ...beneficiary } }),
    beneficiary,
    relationship: { coding: [{ system: relationship_system, code }] },
    payor: [{}],
  };
}

export function readMemberId(coverage: fhir.Coverage): string | null {
  return text(coverage.subscriberId) ?? readIdentifier(coverage.identifier, { types: ['MB'] });
}

export function readGroup(coverage: fhir.Coverage): string | null {
  return text(list(coverage.class).find(isGroup)?.value);
}

function isGroup({ type }: fhir.CoverageClass): boolean {
  return hasCode(type, class_system, ['GROUP']);
}

function readCopayment(coverage: fhir.Coverage): string | null {
  const amount = number(list(coverage.costToBeneficiary).find(isCopay)?.valueMoney?.value);
  return amount === null ? null : amount.toFixed(2);
}

function isCopay({ type }: fhir.CoverageCostToBeneficiary): boolean {
  return hasCode(type, copay_system, ['COPAY']);
}

/**
 * The insurers' code for the patient's relationship to the subscriber. FHIR has fewer codes, so its text is read first.
 */
export function readRelationship(relationship: fhir.CodeableConcept | undefined): SubscriberRelationship | null {
  const text_lower = text(relationship?.text)?.toLowerCase();
  const pairs = Object.entries(subscriber_relationships) as [SubscriberRelationship, string][];
  const by_text = pairs.find(([, name]) => name === text_lower)?.[0];
  return by_text ?? relationships_by_code.get(readCode(relationship, relationship_system)?.toLowerCase() ?? '') ?? null;
}

export const class_system = 'http://terminology.hl7.org/CodeSystem/coverage-class';
const copay_system = 'http://terminology.hl7.org/CodeSystem/coverage-copay-type';
const relationship_system = 'http://terminology.hl7.org/CodeSystem/subscriber-relationship';

/** `parent` is missing: FHIR does not say whether it is the mother or the father. */
const relationships_by_code = new Map<string, SubscriberRelationship>([
  ['self', '01'],
  ['spouse', '02'],
  ['child', '19'],
  ['common', '53'],
  ['other', '25'],
]);

/** FHIR has fewer codes than insurers, so the exact relationship is added as text. */
function toRelationship(code: SubscriberRelationship): fhir.CodeableConcept {
  return {
    coding: [{ system: relationship_system, code: relationship_codes[code] }],
    text: subscriber_relationships[code],
  };
}

const relationship_codes: Record<SubscriberRelationship, string> = {
  '01': 'self',
  '02': 'spouse',
  '32': 'parent',
  '33': 'parent',
  '17': 'parent',
  '20': 'other',
  '53': 'common',
  '25': 'other',
  '19': 'child',
};

/** Replaces all matching elements with one, or removes them. */
function replaceMatching<T>(all: readonly T[], isOne: (each: T) => boolean, one: T | null): T[] | undefined {
  return nonEmptyList([...all.filter((each) => !isOne(each)), one]);
}

export const coverage_operations: readonly FhirOperation[] = [
  {
    operation: 'listPatientInsurances',
    requires: [searches('Coverage', 'beneficiary|patient')],
    open: reading(listPatientInsurances),
  },
];

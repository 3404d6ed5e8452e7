import type * as fhir from 'fhir/r4.js';
import type { EligibilityBenefit, EligibilityCheckSource } from '../../../model/records/eligibilityChecks.ts';
import { formatInstant } from '../../../platform/time/days.ts';
import type { MrnRule } from '../../connector.ts';
import { incrementalList, type List } from '../lists.ts';
import type { FhirOperation } from '../operation.ts';
import { readMrn } from '../patients/mrn.ts';
import {
  type Emr,
  loadPractitioners,
  type Practitioners,
  practitionerId,
  type Resolver,
  refId,
  refIds,
} from '../references.ts';
import { lists, reads } from '../transport/capabilities.ts';
import { first, hasCode, list, number, readCode, readLabel, readName, text, toDay, toOffsetTime } from '../values.ts';
import { addPayerNames, class_system, type NamedCoverage, readMemberId, readRelationship } from './coverage.ts';

export const eligibility_checks: List<fhir.CoverageEligibilityResponse, EligibilityCheckSource> = {
  type: 'CoverageEligibilityResponse',
  toSources,
};

/** Records that an eligibility response refers to. */
export type RelatedRecords = Practitioners & {
  mrn_rule: MrnRule | undefined;
  patients: ReadonlyMap<string, fhir.Patient>;
  coverages: ReadonlyMap<string, NamedCoverage>;
  companies: ReadonlyMap<string, fhir.Organization>;
  subscribers: ReadonlyMap<string, fhir.RelatedPerson>;
};

type Response = fhir.CoverageEligibilityResponse;
type Insurance = fhir.CoverageEligibilityResponseInsurance;

async function toSources(page: Response[], emr: Emr, resolver: Resolver): Promise<EligibilityCheckSource[]> {
  const relevant = page.filter(({ status }) => status !== 'entered-in-error' && status !== 'draft');
  const related = await loadRelated(relevant, emr, resolver);
  return relevant.map((each) => toEligibilityCheck(each, related, emr.timezone)).filter((each) => each !== undefined);
}

async function loadRelated(page: Response[], { client }: Emr, resolver: Resolver): Promise<RelatedRecords> {
  const coverage_refs = page.flatMap(({ insurance }) => list(insurance).map(({ coverage }) => coverage));
  const coverages = await resolver.load<fhir.Coverage>('Coverage', refIds(coverage_refs, 'Coverage'));
  const named_coverages = await addPayerNames([...coverages.values()], resolver);
  const insurers = page.map(({ insurer }) => insurer).filter((insurer) => text(insurer?.display) === null);
  const subscribers = named_coverages.map(({ coverage }) => coverage.subscriber);
  const patients = page.map(({ patient }) => patient);
  return {
    mrn_rule: client.mrn_rule,
    ...(await loadPractitioners(
      resolver,
      page.map(({ requestor }) => requestor),
    )),
    patients: await resolver.load<fhir.Patient>('Patient', refIds(patients, 'Patient')),
    coverages: new Map(named_coverages.map((each) => [each.coverage.id ?? '', each])),
    companies: await resolver.load<fhir.Organization>('Organization', refIds(insurers, 'Organization')),
    subscribers: await resolver.load<fhir.RelatedPerson>('RelatedPerson', refIds(subscribers, 'RelatedPerson')),
  };
}

/** Returns undefined for a response without any date, because checks are listed by date. */
export function toEligibilityCheck(
  response: Response,
  related: RelatedRecords,
  timezone: string,
): EligibilityCheckSource | undefined {
  const { servicedDate, servicedPeriod, created } = response;
  const service_date = first([servicedDate, servicedPeriod?.start, created], (at) => toDay(at, timezone));
  if (service_date === null) return undefined;
  const patient_id = refId(response.patient, 'Patient');
  const patient = related.patients.get(patient_id ?? '');
  const patient_name = readName(patient?.name).full ?? text(response.patient?.display);
  const provider_id = practitionerId(response.requestor, related.roles);
  // The insurance in force decides, if the insurer answered for several.
  const insurances = list(response.insurance);
  const insurance = insurances.find(({ inforce }) => inforce === true) ?? insurances[0];
  const covered = related.coverages.get(refId(insurance?.coverage, 'Coverage') ?? '');
  const coverage = covered?.coverage;
  const company = related.companies.get(refId(response.insurer, 'Organization') ?? '');
  const relationship = coverage ? readRelationship(coverage.relationship) : null;
  const by_patient = coverage?.subscriber !== undefined && refId(coverage.subscriber, 'Patient') === patient_id;
  return {
    ehr_id: response.id ?? '',
    patient_mrn: patient ? readMrn(patient, related.mrn_rule) : null,
    emr_patient_id: patient_id,
    patient_name,
    patient_dob: toDay(patient?.birthDate, timezone),
    // FHIR's response names no visit.
    emr_encounter_id: null,
    provider_name:
      readName(related.practitioners.get(provider_id ?? '')?.name).full ?? text(response.requestor?.display),
    payer_name: text(response.insurer?.display) ?? text(company?.name) ?? covered?.payer_name ?? null,
    subscriber_name:
      text(coverage?.subscriber?.display) ??
      readName(related.subscribers.get(refId(coverage?.subscriber, 'RelatedPerson') ?? '')?.name).full ??
      (by_patient || relationship === '01' ? patient_name : null),
    subscriber_member_id: coverage ? readMemberId(coverage) : null,
    patient_relationship: by_patient || relationship === '01' ? 'self' : coverage?.relationship ? 'dependent' : null,
    plan_name: coverage ? readPlan(coverage) : null,
    coverage_status: readStatus(response),
    status_message: text(response.disposition) ?? first(list(response.error), ({ code }) => readLabel(code)),
    service_date,
    response_at: toInstant(created, timezone),
    plan_begin_date: first([insurance?.benefitPeriod?.start, coverage?.period?.start], (at) => toDay(at, timezone)),
    plan_end_date: first([insurance?.benefitPeriod?.end, coverage?.period?.end], (at) => toDay(at, timezone)),
    benefits: insurances.flatMap((each) => toLines(each, related)).map((line, n) => ({ line_number: n + 1, ...line })),
  };
}

function readStatus({ status, outcome, insurance }: Response): EligibilityCheckSource['coverage_status'] {
  if (outcome === 'error') return 'error';
  if (outcome === 'queued' || status === 'cancelled') return 'unknown';
  const in_force = list(insurance).map(({ inforce }) => inforce);
  if (in_force.includes(true)) return 'active';
  return in_force.includes(false) ? 'inactive' : 'unknown';
}

/** A day without a time says when the insurer answered only roughly: not at all. */
function toInstant(created: unknown, timezone: string): string | null {
  if (!/T/.test(text(created) ?? '')) return null;
  const at = toOffsetTime(created, timezone);
  return at === null ? null : formatInstant(Date.parse(at));
}

function readPlan(coverage: fhir.Coverage): string | null {
  const plans = list(coverage.class).filter(({ type }) => hasCode(type, class_system, ['PLAN']));
  return first(plans, ({ name }) => text(name)) ?? first(plans, ({ value }) => text(value));
}

type Line = Omit<EligibilityBenefit, 'line_number'>;

/** One line per benefit; a service without any, such as an excluded one, is a line of its own. */
function toLines({ item, coverage }: Insurance, related: RelatedRecords): Line[] {
  const insurance_type = readCode(related.coverages.get(refId(coverage, 'Coverage') ?? '')?.coverage.type);
  return list(item).flatMap((service) => {
    const common = {
      coverage_level: readLevel(service.unit),
      service_type_codes: [readCode(service.category), readCode(service.productOrService)].filter(
        (code) => code !== null,
      ),
      insurance_type,
      time_period: readLabel(service.term),
      network_indicator: readNetwork(service.network),
      raw_segment: null,
    };
    const remarks = [
      text(service.name),
      text(service.description),
      service.excluded === true ? 'Excluded' : null,
      service.authorizationRequired === true ? 'Authorization required' : null,
    ];
    const messages = remarks.filter((each) => each !== null);
    const benefits = list(service.benefit).map((benefit) => ({
      ...common,
      benefit_type: readLabel(benefit.type) ?? '',
      benefit_type_code: readCode(benefit.type),
      ...readAllowed(benefit),
      messages: [...messages, ...readRemarks(benefit)],
    }));
    if (benefits.length > 0) return benefits;
    const benefit_type = readLabel(service.category) ?? readLabel(service.productOrService) ?? '';
    return [{ ...common, benefit_type, benefit_type_code: null, amount: null, percent: null, messages }];
  });
}

type Benefit = fhir.CoverageEligibilityResponseInsuranceItemBenefit;

/** Numbers without a currency are counts (visits), unless the type says that they are percentages. */
function readAllowed({ type, allowedMoney, allowedUnsignedInt }: Benefit): Pick<Line, 'amount' | 'percent'> {
  const percent = /percent|coinsurance/i.test(readCode(type) ?? '') ? number(allowedUnsignedInt) : null;
  return { amount: number(allowedMoney?.value), percent };
}

/** What has no field of its own. */
function readRemarks(benefit: Benefit): string[] {
  const { allowedUnsignedInt, allowedString, usedMoney, usedUnsignedInt, usedString } = benefit;
  const count = readAllowed(benefit).percent === null ? number(allowedUnsignedInt) : null;
  const used = number(usedMoney?.value)?.toFixed(2) ?? number(usedUnsignedInt) ?? text(usedString);
  return [
    ...(count === null ? [] : [`Allowed: ${count}`]),
    ...(text(allowedString) === null ? [] : [`Allowed: ${text(allowedString)}`]),
    ...(used === null ? [] : [`Used: ${used}`]),
  ];
}

function readLevel(unit: fhir.CodeableConcept | undefined): EligibilityBenefit['coverage_level'] {
  const code = readCode(unit)?.toLowerCase();
  if (code === 'individual' || code === 'ind') return 'IND';
  return code === 'family' || code === 'fam' ? 'FAM' : null;
}

function readNetwork(network: fhir.CodeableConcept | undefined): EligibilityBenefit['network_indicator'] {
  const code = readCode(network)?.toLowerCase();
  if (code === 'in' || code === 'in-network') return 'in-network';
  return code === 'out' || code === 'out-of-network' ? 'out-of-network' : 'unknown';
}

export const eligibility_operations: readonly FhirOperation[] = [
  {
    operation: 'listEligibilityChecks',
    requires: [lists('CoverageEligibilityResponse'), reads('Patient')],
    open: (emr) => incrementalList(emr, eligibility_checks),
  },
];

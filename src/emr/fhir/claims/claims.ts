import type * as fhir from 'fhir/r4.js';
import type { ClaimSource } from '../../../model/records/claims.ts';
import type { MrnRule } from '../../connector.ts';
import { addPayerNames, type NamedCoverage, readGroup, readMemberId, readRelationship } from '../coverage/coverage.ts';
import { dependent, incrementalList, type List } from '../lists.ts';
import type { FhirOperation } from '../operation.ts';
import { readMrn } from '../patients/mrn.ts';
import {
  type Emr,
  findReferencing,
  loadPractitioners,
  type Practitioners,
  practitionerId,
  type Resolver,
  refId,
  refIds,
} from '../references.ts';
import { lists, reads } from '../transport/capabilities.ts';
import {
  addressParts,
  currentAddress,
  first,
  list,
  number,
  readCode,
  readIcdCode,
  readLabel,
  readName,
  readNpi,
  text,
  toDay,
} from '../values.ts';
import { type Adjudication, allowedFor, groupAdjudications, toAmounts, toPayment } from './adjudications.ts';

export const claims: List<fhir.Claim, ClaimSource> = {
  type: 'Claim',
  toSources,
  dependents: [
    dependent('ClaimResponse', ({ request }: fhir.ClaimResponse) => refId(request, 'Claim')),
    dependent('ExplanationOfBenefit', ({ claim }: fhir.ExplanationOfBenefit) => refId(claim, 'Claim')),
  ],
};

/** Records that a claim refers to, and the adjudications of the claim. */
export type RelatedRecords = Practitioners & {
  mrn_rule: MrnRule | undefined;
  patients: ReadonlyMap<string, fhir.Patient>;
  encounters: ReadonlyMap<string, fhir.Encounter>;
  coverages: ReadonlyMap<string, NamedCoverage>;
  companies: ReadonlyMap<string, fhir.Organization>;
  conditions: ReadonlyMap<string, fhir.Condition>;
  adjudications: ReadonlyMap<string, Adjudication[]>;
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
  const coverage_refs = page.flatMap(({ insurance }) => list(insurance).map(({ coverage }) => coverage));
  const coverages = await resolver.load<fhir.Coverage>('Coverage', refIds(coverage_refs, 'Coverage'));
  const named_coverages = await addPayerNames([...coverages.values()], resolver);
  const visits = page.flatMap(({ item }) => list(item).flatMap(({ encounter }) => list(encounter)));
  const payers = [
    ...named_coverages.map(({ coverage }) => list(coverage.payor)[0]),
    ...[...adjudications.values()].flat().map(({ insurer }) => insurer),
  ];
  const groups = page.map(({ provider }) => provider);
  const diagnoses = page.flatMap(({ diagnosis }) => list(diagnosis).map((each) => each.diagnosisReference));
  const subjects = page.map(({ patient }) => patient);
  return {
    adjudications,
    ...(await loadPractitioners(resolver, people)),
    conditions: await resolver.load<fhir.Condition>('Condition', refIds(diagnoses, 'Condition')),
    patients: await resolver.load<fhir.Patient>('Patient', refIds(subjects, 'Patient')),
    encounters: await resolver.load<fhir.Encounter>('Encounter', refIds(visits, 'Encounter')),
    coverages: new Map(named_coverages.map((each) => [each.coverage.id ?? '', each])),
    mrn_rule: client.mrn_rule,
    companies: await resolver.load<fhir.Organization>('Organization', refIds([...payers, ...groups], 'Organization')),
  };
}

/** A claim may be made by a group of providers instead of a person. */
function readProviderName(
  { provider }: fhir.Claim,
  provider_id: string | null,
  { practitioners, companies }: RelatedRecords,
): string | null {
  const group = companies.get(refId(provider, 'Organization') ?? '');
  return readName(practitioners.get(provider_id ?? '')?.name).full ?? text(group?.name) ?? text(provider?.display);
}

/** Returns undefined for a claim without any date, because claims are listed by date. */
export function toClaim(claim: fhir.Claim, related: RelatedRecords, timezone: string): ClaimSource | undefined {
  const service_date = readServiceDate(claim, timezone);
  if (service_date === null) return undefined;
  const adjudications = related.adjudications.get(claim.id ?? '') ?? [];
  const patient_id = refId(claim.patient, 'Patient');
  const patient = related.patients.get(patient_id ?? '');
  const provider_id = practitionerId(claim.provider, related.roles);
  const diagnoses = toDiagnoses(claim, related.conditions);
  const [latest] = adjudications.toSorted((a, b) => (text(b.created) ?? '').localeCompare(text(a.created) ?? ''));
  return {
    ehr_id: claim.id ?? '',
    patient_mrn: patient ? readMrn(patient, related.mrn_rule) : null,
    emr_appointment_id: readAppointmentId(claim, related),
    service_date,
    claim_date: toDay(claim.created, timezone),
    claim_status: text(claim.status),
    claim_status_description: text(latest?.disposition) ?? text(latest?.outcome),
    claim_type: readCode(claim.type),
    void_flag: claim.status === 'cancelled',
    emr_patient_id: patient_id,
    patient_name: readName(patient?.name).full ?? text(claim.patient?.display),
    emr_provider_id: provider_id,
    provider_name: readProviderName(claim, provider_id, related),
    ...toAmounts(claim, adjudications),
    icd_codes: readIcdCodes(diagnoses),
    ...otherDiagnoses(diagnoses),
    billing_notes: null,
    insurances: toInsurances(claim, related),
    void_claim: toVoidClaim(claim),
    submission_history: { created_by: text(claim.enterer?.display), entries: [], auto_claim_data: {} },
    billing_activity_log: [],
    line_items: toLineItems(claim, adjudications, related, timezone),
    payments: adjudications.flatMap((adjudication) => toPayment(adjudication, related.companies, timezone)),
  };
}

/** The first date of service, or the date of the claim. */
function readServiceDate({ billablePeriod, item, created }: fhir.Claim, timezone: string): string | null {
  const served = list(item)
    .map(({ servicedDate, servicedPeriod }) => toDay(servicedDate, timezone) ?? toDay(servicedPeriod?.start, timezone))
    .filter((day) => day !== null)
    .sort();
  return toDay(billablePeriod?.start, timezone) ?? served[0] ?? toDay(created, timezone);
}

function readAppointmentId({ item }: fhir.Claim, { encounters }: RelatedRecords): string | null {
  const visits = refIds(
    list(item).flatMap(({ encounter }) => list(encounter)),
    'Encounter',
  );
  return first(visits, (id) => refIds(list(encounters.get(id)?.appointment), 'Appointment')[0] ?? null);
}

/** The claim that this one replaces. */
function toVoidClaim({ related }: fhir.Claim): ClaimSource['void_claim'] {
  const relatedClaim = (code: string) =>
    first(list(related), ({ claim, relationship }) => (readCode(relationship) === code ? refId(claim, 'Claim') : null));
  return {
    void_to_claim_id: null,
    void_from_claim_id: relatedClaim('prior'),
    copy_to_claim_id: null,
    copy_from_claim_id: null,
  };
}

function toInsurances({ insurance }: fhir.Claim, related: RelatedRecords): ClaimSource['insurances'] {
  const { coverages, companies } = related;
  return list(insurance).map(({ sequence, coverage: reference }) => {
    const named_coverage = coverages.get(refId(reference, 'Coverage') ?? '');
    const coverage = named_coverage?.coverage;
    const company = companies.get(refId(list(coverage?.payor)[0], 'Organization') ?? '');
    const address = addressParts(currentAddress(company?.address));
    return {
      insurance_id: refId(reference, 'Coverage'),
      insurance_name: named_coverage?.payer_name ?? text(reference?.display),
      insurance_type: readCode(coverage?.type),
      claim_indicator: null,
      claim_indicator_description: null,
      sequence_number: number(sequence) === null ? null : String(sequence),
      subscriber_name: text(coverage?.subscriber?.display),
      subscriber_number: coverage ? readMemberId(coverage) : null,
      subscriber_dob: null,
      subscriber_relation: readRelationship(coverage?.relationship),
      group_name: coverage ? first(list(coverage.class), ({ name }) => text(name)) : null,
      group_number: coverage ? readGroup(coverage) : null,
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
type Diagnosis = { sequence: number | null } & (
  | { icd_code: string }
  | NonNullable<ClaimSource['other_diagnoses']>[number]
);

/** The diagnoses in their order, with the codes that the claim contains or that conditions of the chart have. */
function toDiagnoses({ diagnosis }: fhir.Claim, conditions: RelatedRecords['conditions']): Diagnosis[] {
  return list(diagnosis)
    .flatMap(({ sequence, diagnosisCodeableConcept, diagnosisReference }): Diagnosis[] => {
      const concept = diagnosisCodeableConcept ?? conditions.get(refId(diagnosisReference, 'Condition') ?? '')?.code;
      const icd_code = readIcdCode(concept);
      if (icd_code !== null) return [{ sequence: number(sequence), icd_code }];
      const other = list(concept?.coding).find(({ code }) => text(code) !== null);
      const description = readLabel(concept) ?? text(diagnosisReference?.display);
      if (!other && description === null) return [];
      const [other_code, other_code_system] = [text(other?.code), text(other?.system)];
      return [{ sequence: number(sequence), other_code, other_code_system, description }];
    })
    .toSorted((a, b) => (a.sequence ?? 0) - (b.sequence ?? 0));
}

function readIcdCodes(diagnoses: readonly Diagnosis[]): string[] {
  return diagnoses.flatMap((each) => ('icd_code' in each ? [each.icd_code] : []));
}

/** Those without an ICD code. Absent if there are none. */
function otherDiagnoses(diagnoses: readonly Diagnosis[]): Pick<ClaimSource, 'other_diagnoses'> {
  const others = diagnoses.flatMap((each) => {
    if ('icd_code' in each) return [];
    const { sequence: _, ...other } = each;
    return [other];
  });
  return others.length > 0 ? { other_diagnoses: others } : {};
}

function toLineItems(
  claim: fhir.Claim,
  adjudications: readonly Adjudication[],
  related: RelatedRecords,
  timezone: string,
): ClaimSource['line_items'] {
  const diagnoses = toDiagnoses(claim, related.conditions);
  return list(claim.item).map((item, n) => {
    const line_number = number(item.sequence) ?? n + 1;
    const npi = (roles: readonly string[]) => npiForRole(claim, item, roles, related);
    const start = toDay(item.servicedDate, timezone) ?? toDay(item.servicedPeriod?.start, timezone);
    return {
      id: `${claim.id ?? ''}-${line_number}`,
      line_number,
      ...procedureCodes(item.productOrService),
      description: readLabel(item.productOrService),
      modifiers: list(item.modifier)
        .map((each) => readCode(each))
        .filter((code) => code !== null),
      units: number(item.quantity?.value),
      billed_amount: number(item.net?.value),
      allowed_amount: allowedFor(line_number, adjudications),
      billed_unit_fee: number(item.unitPrice?.value),
      icd_pointers: list(item.diagnosisSequence).flatMap((pointed) =>
        readIcdCodes(diagnoses.filter(({ sequence }) => sequence === pointed)),
      ),
      place_of_service: readCode(item.locationCodeableConcept),
      type_of_service: readCode(item.category),
      service_date_start: start,
      service_date_end: toDay(item.servicedPeriod?.end, timezone) ?? toDay(item.servicedDate, timezone),
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
  // Without a system, the form of the code decides: five characters, the last four or first four of them digits.
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
      roles.includes(readCode(role)?.toLowerCase() ?? '') && (sequences.length === 0 || sequences.includes(sequence)),
  );
  const reference = member?.provider ?? (roles.includes('rendering') ? claim.provider : undefined);
  const id = practitionerId(reference, practitioner_roles);
  return (
    readNpi(practitioners.get(id ?? '')?.identifier) ?? readNpi(reference?.identifier ? [reference.identifier] : [])
  );
}

export const claim_operations: readonly FhirOperation[] = [
  {
    operation: 'listClaims',
    requires: [lists('Claim'), reads('Patient')],
    open: (emr) => incrementalList(emr, claims),
  },
];

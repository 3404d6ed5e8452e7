import type * as fhir from 'fhir/r4.js';
import type { PatientInsuranceSource } from '../../../model/records/patientInsurances.ts';
import type { MrnRule } from '../../connector.ts';
import { incrementalList, type List } from '../lists.ts';
import { type FhirOperation, reading } from '../operation.ts';
import { isReplaced, readMrn } from '../patients/mrn.ts';
import { createResolver, type Emr, findReferencing, type Resolver, refId, refIds } from '../references.ts';
import { listsOrExports, reads, searches } from '../transport/capabilities.ts';
import { groupBy, toDay } from '../values.ts';
import { addPayerNames, byPriority, type NamedCoverage, toCoveragePriority, toInsurance } from './coverage.ts';

/** All coverages of patients, ended ones too. */
const policies: List<fhir.Coverage, PatientInsuranceSource> = { type: 'Coverage', toSources };

async function toSources(page: fhir.Coverage[], emr: Emr, resolver: Resolver): Promise<PatientInsuranceSource[]> {
  const beneficiaries = refIds(
    page.map(({ beneficiary }) => beneficiary),
    'Patient',
  );
  // The place of a coverage without an order depends on the patient's other ones.
  const references = beneficiaries.map((id) => `Patient/${id}`);
  const others = await findReferencing<fhir.Coverage>(emr.client, 'Coverage', ['beneficiary', 'patient'], references);
  const all = [...new Map([...page, ...others].map((each) => [each.id, each])).values()];
  const in_page = new Set(page.map(({ id }) => id));
  const sources = await toPolicies(all, emr, resolver);
  return sources.filter(({ ehr_id }) => in_page.has(ehr_id));
}

async function listPatientPolicies(emr: Emr, patient_ehr_id: string): Promise<PatientInsuranceSource[]> {
  const references = [`Patient/${patient_ehr_id}`];
  const all = await findReferencing<fhir.Coverage>(emr.client, 'Coverage', ['beneficiary', 'patient'], references);
  const own = all.filter(({ beneficiary }) => refId(beneficiary, 'Patient') === patient_ehr_id);
  return toPolicies(own, emr, createResolver(emr.client));
}

async function toPolicies(all: fhir.Coverage[], emr: Emr, resolver: Resolver): Promise<PatientInsuranceSource[]> {
  const relevant = all.filter(({ status }) => status !== 'entered-in-error' && status !== 'draft');
  const beneficiaries = relevant.map(({ beneficiary }) => beneficiary);
  const patients = await resolver.load<fhir.Patient>('Patient', refIds(beneficiaries, 'Patient'));
  const by_patient = groupBy(
    await addPayerNames(relevant, resolver),
    ({ coverage }) => refId(coverage.beneficiary, 'Patient') ?? '',
  );
  return [...by_patient].flatMap(([patient_id, coverages]) => {
    const patient = patients.get(patient_id);
    if (!patient || isReplaced(patient)) return [];
    const about = { patient, mrn_rule: emr.client.mrn_rule, timezone: emr.timezone };
    const [active, ended] = splitActive(coverages);
    return [active, ended].flatMap((group) =>
      group.map((each, n) => toPolicy(each, toCoveragePriority(group, n), about)),
    );
  });
}

/** Each in the order in which they pay. */
function splitActive(coverages: NamedCoverage[]): [active: NamedCoverage[], ended: NamedCoverage[]] {
  const sorted = coverages.toSorted(byPriority);
  return [sorted.filter(({ coverage }) => isActive(coverage)), sorted.filter(({ coverage }) => !isActive(coverage))];
}

function isActive({ status }: fhir.Coverage): boolean {
  return (status ?? 'active') === 'active';
}

export function toPolicy(
  named_coverage: NamedCoverage,
  priority: number,
  { patient, mrn_rule, timezone }: { patient: fhir.Patient; mrn_rule: MrnRule | undefined; timezone: string },
): PatientInsuranceSource {
  const { coverage } = named_coverage;
  const { emr_insurance_id, ...fields } = toInsurance(named_coverage, priority, timezone);
  return {
    ehr_id: emr_insurance_id,
    patient_ehr_id: patient.id ?? '',
    patient_mrn: readMrn(patient, mrn_rule),
    ...fields,
    plan_end_date: toDay(coverage.period?.end, timezone),
    active: isActive(coverage),
  };
}

export const policy_operations: readonly FhirOperation[] = [
  {
    operation: 'listPolicies',
    requires: [listsOrExports('Coverage'), reads('Patient')],
    open: (emr) => incrementalList(emr, policies),
  },
  {
    operation: 'listPatientPolicies',
    requires: [searches('Coverage', 'beneficiary|patient'), reads('Patient')],
    open: reading(listPatientPolicies),
  },
];

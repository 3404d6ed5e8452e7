import type * as fhir from 'fhir/r4.js';
import type { SubscriberRelationship } from '../../../model/requests/insurance.ts';
import { EmrFailure } from '../../emrFailure.ts';
import type { Payer } from '../../operations/guarantors.ts';
import type { InsuranceFields } from '../../operations/insurance.ts';
import type { Operations } from '../../operations/operations.ts';
import type { Coverage as PatientCoverage } from '../../operations/patients.ts';
import { applySettings, changesWithoutBefore, describeChanges, toSettings, updateFields } from '../fields.ts';
import type { FhirOperation } from '../operation.ts';
import { isInsurer } from '../practice/organizations.ts';
import { canSearch, type Emr, refId } from '../references.ts';
import { can, reads } from '../transport/capabilities.ts';
import type { FhirClient } from '../transport/client.ts';
import { searchValue } from '../transport/search.ts';
import { text } from '../values.ts';
import { findOrCreate, rejectUnsupported, requireId, requireRecords } from '../writeSteps.ts';
import { coverage_fields, coverageValues, emptyCoverage, readRelationship } from './coverage.ts';
import { requireGuarantor, symmetric_relationships } from './guarantors.ts';
import { createSubscriber, isSelf, requireSearchableSubscriber, updateSubscriber } from './subscribers.ts';

export function addPatientInsurance(emr: Emr): Operations['addPatientInsurance'] {
  const { client } = emr;
  return {
    send: async (input, marker) => {
      const { patient_ehr_id, guarantor_ehr_id } = input;
      await requireRecords(client, patient_ehr_id);
      if (guarantor_ehr_id !== undefined) await requireGuarantor(emr, patient_ehr_id, guarantor_ehr_id);
      const company = await resolveCompany(emr, { ehr_id: input.company_ehr_id });
      const subscriber = await createSubscriber(client, { patient_ehr_id, input, marker });
      const settings = toSettings(coverage_fields, { ...coverageValues(input), ...company, ...subscriber.values });
      const by_other = guarantor_ehr_id !== undefined || (input.subscriber && !isSelf(input.relationship));
      const coverage = applySettings(emptyCoverage(patient_ehr_id, by_other ? 'other' : 'patient'), settings);
      const { resource: created } = await subscriber.before('added', () => findOrCreate(client, coverage, marker));
      return {
        ehr_id: requireId(created),
        changes: [...describeChanges(undefined, created, settings), ...subscriber.changes],
      };
    },
    ...(client.canFind('Coverage') && {
      find: async (marker, input) => {
        const created = await findCoverage(emr, input, marker, client.findCreated);
        if (!created) return undefined;
        const settings = toSettings(coverage_fields, coverageValues(input));
        return { ehr_id: requireId(created), changes: describeChanges(undefined, created, settings) };
      },
    }),
  };
}

export function updatePatientInsurance(emr: Emr): Operations['updatePatientInsurance'] {
  const { client } = emr;
  return {
    send: async (input, marker) => {
      const { guarantor_ehr_id } = input;
      // Two coverages cannot be changed in one write.
      rejectUnsupported({ insurance_sequence: input.sequence });
      const id = input.insurance_ehr_id;
      const present = await client.read<fhir.Coverage>('Coverage', id);
      const patient_ehr_id = refId(present?.beneficiary, 'Patient');
      if (patient_ehr_id === null) throw new EmrFailure('not_found', `Insurance with EMR ID '${id}' not found.`);
      await requireRecords(client, patient_ehr_id);
      if (guarantor_ehr_id) await requireGuarantor(emr, patient_ehr_id, guarantor_ehr_id);
      const company =
        input.company_ehr_id === undefined ? {} : await resolveCompany(emr, { ehr_id: input.company_ehr_id });
      const subscriber = await updateSubscriber(emr, present, { patient_ehr_id, input, marker });
      const { relationship = impliedRelationship(guarantor_ehr_id, present) } = input;
      const settings = toSettings(coverage_fields, {
        ...coverageValues({ ...input, relationship }),
        ...company,
        ...subscriber.values,
      });
      const changes = await subscriber.before('changed', () =>
        updateFields<fhir.Coverage>(client, { type: 'Coverage', id, settings, marker }),
      );
      return { ehr_id: id, changes: [...changes, ...subscriber.changes] };
    },
    ...(client.canFind('Coverage') && {
      find: async (marker, input) => {
        const changed = await findCoverage(emr, input, marker, client.findByMarker);
        if (!changed) return undefined;
        const settings = toSettings(coverage_fields, coverageValues(input));
        return { ehr_id: requireId(changed), changes: changesWithoutBefore(changed, settings) };
      },
    }),
  };
}

/** The relationship that a change of the guarantor implies. Undefined if the present one may still be right. */
function impliedRelationship(
  guarantor_ehr_id: string | null | undefined,
  present: fhir.Coverage | undefined,
): SubscriberRelationship | undefined {
  if (guarantor_ehr_id === null) return '01';
  return guarantor_ehr_id !== undefined && readRelationship(present?.relationship) === '01' ? '25' : undefined;
}

/** If the coverage does not exist, its subscriber may: a server that cannot search for it must not get it twice. */
async function findCoverage(
  { client }: Emr,
  { subscriber }: InsuranceFields,
  marker: string,
  find: FhirClient['findByMarker'],
): Promise<fhir.Coverage | undefined> {
  const coverage = await find<fhir.Coverage>('Coverage', marker);
  if (!coverage && subscriber) await requireSearchableSubscriber(client, marker);
  return coverage;
}

/** The guarantor of a new patient, who has the patient's insurances. */
type PolicyHolder = { id: string; payer: Pick<Payer, 'relationship'> };

/** An insurance to be created together with its patient. */
export async function resolveCoverage(
  emr: Emr,
  { company, ...fields }: PatientCoverage,
): Promise<(patient_ehr_id: string, holder: PolicyHolder | null) => fhir.Coverage> {
  const values = { ...coverageValues(fields), ...(await resolveCompany(emr, company)) };
  return (patient_ehr_id, holder) => {
    const symmetric = symmetric_relationships.find(({ party }) => party === holder?.payer.relationship);
    const subscriber = holder && { guarantor_id: holder.id, relationship_to_subscriber: symmetric?.subscriber };
    const blank = emptyCoverage(patient_ehr_id, holder ? 'other' : 'patient');
    return applySettings(blank, toSettings(coverage_fields, { ...values, ...subscriber }));
  };
}

/** The values of a coverage's payer. A company that is only named is linked if exactly one has that name. */
async function resolveCompany(
  { client }: Emr,
  company: PatientCoverage['company'],
): Promise<Record<string, string | undefined>> {
  if ('ehr_id' in company) {
    const organization = await client.read<fhir.Organization>('Organization', company.ehr_id);
    if (!organization) throw new EmrFailure('not_found', 'The EMR no longer has this insurance company.');
    return { insurance_ehr_id: company.ehr_id, insurance_name: text(organization.name) ?? undefined };
  }
  const { name } = company;
  const organizations = canSearch(client, 'Organization', ['name'])
    ? await client.searchAll<fhir.Organization>('Organization', { name: searchValue(name) })
    : [];
  const hasName = (each: fhir.Organization) => text(each.name)?.toLowerCase() === name.trim().toLowerCase();
  const [match, ...others] = organizations.filter((each) => isInsurer(each) && hasName(each));
  return match && others.length === 0
    ? { insurance_ehr_id: requireId(match), insurance_name: name }
    : { insurance_name: name };
}

/** A subscriber other than the patient is a record of its own. */
const subscriber_demographics = [can('RelatedPerson', 'create')];

export const coverage_write_operations: readonly FhirOperation[] = [
  {
    operation: 'addPatientInsurance',
    requires: [can('Coverage', 'create'), reads('Organization')],
    field_requires: { subscriber_demographics },
    open: addPatientInsurance,
  },
  {
    operation: 'updatePatientInsurance',
    requires: [can('Coverage', 'read', 'update'), reads('Organization')],
    unsupported_fields: ['insurance_sequence'],
    field_requires: { subscriber_demographics },
    open: updatePatientInsurance,
  },
];

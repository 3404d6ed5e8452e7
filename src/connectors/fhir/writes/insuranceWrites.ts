import type * as fhir from 'fhir/r4.js';
import { EmrFailure, type Operations } from '../../connector.ts';
import type { InsuranceFields, Coverage as PatientCoverage, SavedField } from '../../patientWrites.ts';
import { isInsurer } from '../lists/organizations.ts';
import { canSearch, type Emr, refId } from '../references.ts';
import { searchValue } from '../transport/client.ts';
import { text } from '../values.ts';
import {
  coverage_fields,
  coverageValues,
  emptyCoverage,
  emptySubscriber,
  subscriber_fields,
  subscriberValues,
} from './coverageFields.ts';
import { applySettings, changesWithoutBefore, describeChanges, mergeSettings, toSettings } from './fields.ts';
import { afterCreate, findOrCreate, idOf, rejectUnsupported } from './steps.ts';

export function addPatientInsurance(emr: Emr): Operations['addPatientInsurance'] {
  const { client } = emr;
  return {
    send: async (input, marker) => {
      rejectUnsupported({ guarantor_id: input.guarantor_ehr_id });
      const company = await resolveCompany(emr, { ehr_id: input.company_ehr_id });
      const subscriber = await createSubscriber(emr, input.patient_ehr_id, input, marker);
      const settings = toSettings(coverage_fields, { ...coverageValues(input), ...company, ...subscriber.values });
      const coverage = applySettings(emptyCoverage(input.patient_ehr_id), settings);
      const { resource: created } = await subscriber.before('added', () => findOrCreate(client, coverage, marker));
      return {
        ehr_id: idOf(created),
        changes: [...describeChanges(undefined, created, settings), ...subscriber.changes],
      };
    },
    ...(client.canFind('Coverage') && {
      find: async (marker, input) => {
        const created = await findCoverage(emr, input, marker);
        if (!created) return undefined;
        const settings = toSettings(coverage_fields, coverageValues(input));
        return { ehr_id: idOf(created), changes: describeChanges(undefined, created, settings) };
      },
    }),
  };
}

export function updatePatientInsurance(emr: Emr): Operations['updatePatientInsurance'] {
  const { client } = emr;
  return {
    send: async (input, marker) => {
      rejectUnsupported({ guarantor_id: input.guarantor_ehr_id });
      const id = input.insurance_ehr_id;
      const present = await client.read<fhir.Coverage>('Coverage', id);
      const patient_ehr_id = refId(present?.beneficiary, 'Patient');
      if (patient_ehr_id === null) throw new EmrFailure('not_found', `Insurance with EMR ID '${id}' not found.`);
      const company =
        input.company_ehr_id === undefined ? {} : await resolveCompany(emr, { ehr_id: input.company_ehr_id });
      const subscriber = await createSubscriber(emr, patient_ehr_id, input, marker);
      const settings = toSettings(coverage_fields, { ...coverageValues(input), ...company, ...subscriber.values });
      const { before, after } = await subscriber.before('changed', () =>
        client.update<fhir.Coverage>('Coverage', id, (now, first) => mergeSettings(now, first, settings), marker),
      );
      return { ehr_id: id, changes: [...describeChanges(before, after, settings), ...subscriber.changes] };
    },
    ...(client.canFind('Coverage') && {
      find: async (marker, input) => {
        const found = await findCoverage(emr, input, marker);
        if (!found) return undefined;
        const settings = toSettings(coverage_fields, coverageValues(input));
        return { ehr_id: idOf(found), changes: changesWithoutBefore(found, settings) };
      },
    }),
  };
}

/** If the coverage does not exist, its subscriber may: a server that cannot search for it must not get it twice. */
async function findCoverage(
  { client }: Emr,
  { subscriber }: InsuranceFields,
  marker: string,
): Promise<fhir.Coverage | undefined> {
  const found = await client.findByMarker<fhir.Coverage>('Coverage', marker);
  if (!found && subscriber) await client.findByMarker<fhir.RelatedPerson>('RelatedPerson', `${marker}-subscriber`);
  return found;
}

/** An insurance created together with its patient. */
export async function initialCoverage(
  emr: Emr,
  patient_ehr_id: string,
  { company, ...fields }: PatientCoverage,
): Promise<fhir.Coverage> {
  const values = { ...coverageValues(fields), ...(await resolveCompany(emr, company)) };
  return applySettings(emptyCoverage(patient_ehr_id), toSettings(coverage_fields, values));
}

/** The values of a coverage's payer. A company given by name is linked only if exactly one has that name. */
async function resolveCompany(
  { client }: Emr,
  company: PatientCoverage['company'],
): Promise<Record<string, string | undefined>> {
  if ('ehr_id' in company) {
    const found = await client.read<fhir.Organization>('Organization', company.ehr_id);
    if (!found) throw new EmrFailure('not_found', 'The EMR no longer has this insurance company.');
    return { insurance_ehr_id: company.ehr_id, insurance_name: text(found.name) ?? undefined };
  }
  const { name } = company;
  const found = canSearch(client, 'Organization', ['name'])
    ? await client.searchAll<fhir.Organization>('Organization', { name: searchValue(name) })
    : [];
  const same = (each: fhir.Organization) => text(each.name)?.toLowerCase() === name.trim().toLowerCase();
  const [match, ...others] = found.filter((each) => isInsurer(each) && same(each));
  return match && others.length === 0
    ? { insurance_ehr_id: idOf(match), insurance_name: name }
    : { insurance_name: name };
}

/** `before` runs the coverage write and explains its failure when the subscriber already exists. */
type SubscriberResult = {
  values: Record<string, unknown>;
  changes: SavedField[];
  before: <T>(was: string, work: () => Promise<T>) => Promise<T>;
};

/** Always creates a new record, because an existing subscriber may belong to other insurances. */
async function createSubscriber(
  { client }: Emr,
  patient_ehr_id: string,
  { relationship, subscriber }: InsuranceFields,
  marker: string,
): Promise<SubscriberResult> {
  if (!subscriber) {
    return { values: relationship === '01' ? { guarantor_id: null } : {}, changes: [], before: (_was, work) => work() };
  }
  const settings = toSettings(subscriber_fields, subscriberValues(subscriber));
  const person = applySettings(emptySubscriber(patient_ehr_id, relationship), settings);
  const { resource: created } = await findOrCreate(client, person, `${marker}-subscriber`);
  return {
    values: { guarantor_id: idOf(created) },
    changes: describeChanges(undefined, created, settings),
    before: (was, work) => afterCreate(`The subscriber was created, but the insurance was not ${was}.`, work),
  };
}

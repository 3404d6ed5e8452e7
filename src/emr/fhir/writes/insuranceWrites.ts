import type * as fhir from 'fhir/r4.js';
import type { SubscriberRelationship } from '../../../model/requests/insurance.ts';
import { EmrFailure, type Operations } from '../../connector.ts';
import { unsupportedField } from '../../fieldSupport.ts';
import {
  type InsuranceFields,
  type InsuranceUpdate,
  isSamePerson,
  type Coverage as PatientCoverage,
  type Payer,
  type SavedField,
  type Subscriber,
} from '../../patientWrites.ts';
import { relationshipOf } from '../charts/coverage.ts';
import { relatedPersons } from '../charts/guarantors.ts';
import { isInsurer } from '../lists/organizations.ts';
import { canSearch, type Emr, refId } from '../references.ts';
import { type FhirClient, searchValue } from '../transport/client.ts';
import { list, nameOf, text } from '../values.ts';
import {
  coverage_fields,
  coverageValues,
  emptyCoverage,
  emptySubscriber,
  subscriber_fields,
  subscriberValues,
} from './coverageFields.ts';
import {
  applySettings,
  changesWithoutBefore,
  describeChanges,
  mergeSettings,
  type Setting,
  toSettings,
} from './fields.ts';
import { requireGuarantor } from './guarantors.ts';
import { requireRecords } from './requireRecords.ts';
import { afterCreate, findOrCreate, forField, idOf } from './steps.ts';

export function addPatientInsurance(emr: Emr): Operations['addPatientInsurance'] {
  const { client } = emr;
  return {
    send: async (input, marker) => {
      const { patient_ehr_id, guarantor_ehr_id } = input;
      await requireRecords(client, patient_ehr_id);
      if (guarantor_ehr_id !== undefined) await requireGuarantor(emr, patient_ehr_id, guarantor_ehr_id);
      const company = await resolveCompany(emr, { ehr_id: input.company_ehr_id });
      const subscriber = await createSubscriber(emr, patient_ehr_id, input, marker);
      const settings = toSettings(coverage_fields, { ...coverageValues(input), ...company, ...subscriber.values });
      const by_other = guarantor_ehr_id !== undefined || (input.subscriber && !isPatient(input.relationship));
      const coverage = applySettings(emptyCoverage(patient_ehr_id, by_other ? 'other' : 'patient'), settings);
      const { resource: created } = await subscriber.before('added', () => findOrCreate(client, coverage, marker));
      return {
        ehr_id: idOf(created),
        changes: [...describeChanges(undefined, created, settings), ...subscriber.changes],
      };
    },
    ...(client.canFind('Coverage') && {
      find: async (marker, input) => {
        const created = await findCoverage(emr, input, marker, client.findCreated);
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
      const { guarantor_ehr_id } = input;
      const id = input.insurance_ehr_id;
      const present = await client.read<fhir.Coverage>('Coverage', id);
      const patient_ehr_id = refId(present?.beneficiary, 'Patient');
      if (patient_ehr_id === null) throw new EmrFailure('not_found', `Insurance with EMR ID '${id}' not found.`);
      await requireRecords(client, patient_ehr_id);
      if (guarantor_ehr_id) await requireGuarantor(emr, patient_ehr_id, guarantor_ehr_id);
      const company =
        input.company_ehr_id === undefined ? {} : await resolveCompany(emr, { ehr_id: input.company_ehr_id });
      const known = await presentSubscriber(emr, present);
      const same = input.subscriber && (await findPerson(emr, patient_ehr_id, input.subscriber, known));
      const subscriber = await (input.subscriber && same
        ? changeSubscriber(emr, same, input.subscriber, marker, same.id === known?.id)
        : createSubscriber(emr, patient_ehr_id, input, marker, known));
      const { relationship = relationshipWith(guarantor_ehr_id, present) } = input;
      const settings = toSettings(coverage_fields, {
        ...coverageValues({ ...input, relationship }),
        ...company,
        ...subscriber.values,
      });
      const { before, after } = await subscriber.before('changed', () =>
        client.update<fhir.Coverage>('Coverage', id, (now, first) => mergeSettings(now, first, settings), marker),
      );
      return { ehr_id: id, changes: [...describeChanges(before, after, settings), ...subscriber.changes] };
    },
    ...(client.canFind('Coverage') && {
      find: async (marker, input) => {
        const found = await findCoverage(emr, input, marker, client.findByMarker);
        if (!found) return undefined;
        const settings = toSettings(coverage_fields, coverageValues(input));
        return { ehr_id: idOf(found), changes: changesWithoutBefore(found, settings) };
      },
    }),
  };
}

/** The relationship that a change of the guarantor implies. undefined: the present one may still be right. */
function relationshipWith(
  guarantor_ehr_id: string | null | undefined,
  present: fhir.Coverage | undefined,
): SubscriberRelationship | undefined {
  if (guarantor_ehr_id === null) return '01';
  return guarantor_ehr_id !== undefined && relationshipOf(present?.relationship) === '01' ? '25' : undefined;
}

/** If the coverage does not exist, its subscriber may: a server that cannot search for it must not get it twice. */
async function findCoverage(
  { client }: Emr,
  { subscriber }: InsuranceFields,
  marker: string,
  find: FhirClient['findByMarker'],
): Promise<fhir.Coverage | undefined> {
  const found = await find<fhir.Coverage>('Coverage', marker);
  if (!found && subscriber) await client.findByMarker<fhir.RelatedPerson>('RelatedPerson', `${marker}-subscriber`);
  return found;
}

/** The guarantor of a new patient, who has the patient's insurances. */
export type PolicyHolder = { id: string; payer: Pick<Payer, 'relationship'> };

/** An insurance to be created together with its patient. */
export async function resolveCoverage(
  emr: Emr,
  { company, ...fields }: PatientCoverage,
): Promise<(patient_ehr_id: string, holder: PolicyHolder | null) => fhir.Coverage> {
  const values = { ...coverageValues(fields), ...(await resolveCompany(emr, company)) };
  return (patient_ehr_id, holder) => {
    const subscriber = holder && {
      guarantor_id: holder.id,
      relationship_to_subscriber: symmetric_relationships[holder.payer.relationship],
    };
    const blank = emptyCoverage(patient_ehr_id, holder ? 'other' : 'patient');
    return applySettings(blank, toSettings(coverage_fields, { ...values, ...subscriber }));
  };
}

/** Of the other relationships the interface does not say who is the parent and who the child. */
const symmetric_relationships: Partial<Record<Payer['relationship'], SubscriberRelationship>> = {
  spouse: '02',
  life_partner: '53',
};

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

function isPatient(relationship: InsuranceFields['relationship']): boolean {
  return relationship === '01' || relationship === null;
}

/** The person who has the insurance now, unless it is the patient. */
async function presentSubscriber(
  { client }: Emr,
  coverage: fhir.Coverage | undefined,
): Promise<fhir.RelatedPerson | undefined> {
  const id = refId(coverage?.subscriber, 'RelatedPerson');
  if (id === null || !client.capabilities.interactions('RelatedPerson').has('read')) return undefined;
  return client.read<fhir.RelatedPerson>('RelatedPerson', id);
}

/**
 * The record of this person: that of the present subscriber, or another one of the patient. A different date of birth
 * means another person.
 */
async function findPerson(
  emr: Emr,
  patient_ehr_id: string,
  sent: Subscriber,
  known: fhir.RelatedPerson | undefined,
): Promise<fhir.RelatedPerson | undefined> {
  if (known && isSamePerson(sent, nameParts(known))) return known;
  return (await relatedPersons(emr, patient_ehr_id)).find(
    (each) =>
      each.active !== false &&
      refId(each.patient, 'Patient') === patient_ehr_id &&
      isSamePerson(sent, nameParts(each)) &&
      Boolean(sent.dob) &&
      text(each.birthDate) === sent.dob,
  );
}

function nameParts({ name }: fhir.RelatedPerson): { first_name: string | null; last_name: string | null } {
  const { first, last } = nameOf(name);
  return { first_name: first, last_name: last };
}

/**
 * Changes the record of a person. A server that does not update such records gets a new one that keeps what was not
 * sent. `is_present`: the person is the subscriber already.
 */
async function changeSubscriber(
  { client }: Emr,
  person: fhir.RelatedPerson,
  sent: Subscriber,
  marker: string,
  is_present: boolean,
): Promise<SubscriberResult> {
  const values = is_present ? {} : { guarantor_id: idOf(person) };
  const settings = toSettings(subscriber_fields, subscriberValues(sent));
  const own_marker = `${marker}-subscriber`;
  if (list(person.identifier).some(({ value }) => value === own_marker)) {
    return { values, changes: changesWithoutBefore(person, settings), before: (_was, work) => work() };
  }
  if (describeChanges(person, person, settings).length === 0) {
    return { values, changes: [], before: (_was, work) => work() };
  }
  if (!client.capabilities.interactions('RelatedPerson').has('update')) {
    const { id: _id, meta: _meta, identifier: _identifier, ...copy } = structuredClone(person);
    return storeSubscriber(client, applySettings<fhir.RelatedPerson>(copy, settings), person, settings, own_marker);
  }
  const { before, after } = await forField('subscriber_demographics', () =>
    client.update<fhir.RelatedPerson>(
      'RelatedPerson',
      idOf(person),
      (now, first) => mergeSettings(now, first, settings),
      own_marker,
    ),
  );
  return {
    values,
    changes: describeChanges(before, after, settings),
    before: (was, work) => afterCreate(`The subscriber was changed, but the insurance was not ${was}.`, work),
  };
}

/** Creates a record, because an existing one may belong to other insurances. `known` is the person it replaces. */
async function createSubscriber(
  { client }: Emr,
  patient_ehr_id: string,
  { relationship, subscriber, guarantor_ehr_id }: InsuranceFields & Pick<InsuranceUpdate, 'guarantor_ehr_id'>,
  marker: string,
  known?: fhir.RelatedPerson,
): Promise<SubscriberResult> {
  if (!subscriber) {
    const by_patient = guarantor_ehr_id === null || isPatient(relationship);
    return {
      values: guarantor_ehr_id ? { guarantor_id: guarantor_ehr_id } : by_patient ? { guarantor_id: null } : {},
      changes: [],
      before: (_was, work) => work(),
    };
  }
  const settings = toSettings(subscriber_fields, subscriberValues(subscriber));
  const person = applySettings(emptySubscriber(patient_ehr_id, relationship ?? undefined), settings);
  return storeSubscriber(client, person, known, settings, `${marker}-subscriber`);
}

async function storeSubscriber(
  client: Emr['client'],
  person: fhir.RelatedPerson,
  known: fhir.RelatedPerson | undefined,
  settings: readonly Setting<fhir.RelatedPerson>[],
  marker: string,
): Promise<SubscriberResult> {
  if (!client.capabilities.interactions('RelatedPerson').has('create')) {
    throw unsupportedField('subscriber_demographics');
  }
  const { resource: created } = await forField('subscriber_demographics', () => findOrCreate(client, person, marker));
  return {
    values: { guarantor_id: idOf(created) },
    changes: describeChanges(known, created, settings),
    before: (was, work) => afterCreate(`The subscriber was created, but the insurance was not ${was}.`, work),
  };
}

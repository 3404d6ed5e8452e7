import type * as fhir from 'fhir/r4.js';
import { unsupportedField } from '../../emrFailure.ts';
import {
  type InsuranceFields,
  type InsuranceUpdate,
  isSamePerson,
  type Subscriber,
} from '../../operations/insurance.ts';
import type { SavedField } from '../../operations/operation.ts';
import {
  applySettings,
  changesWithoutBefore,
  describeChanges,
  type Field,
  type Setting,
  toSettings,
  updateFields,
} from '../fields.ts';
import { type Emr, refId } from '../references.ts';
import type { FhirClient } from '../transport/client.ts';
import { code_systems, list, readName, text } from '../values.ts';
import { afterCreate, findOrCreate, forField, requireId } from '../writeSteps.ts';
import { loadRelatedPersons, symmetric_relationships } from './guarantors.ts';

/** What a write of an insurance says about its subscriber. `marker`: of the insurance. */
type SubscriberWrite = {
  patient_ehr_id: string;
  input: InsuranceFields & Pick<InsuranceUpdate, 'guarantor_ehr_id'>;
  marker: string;
};

/** `before` runs the coverage write and explains its failure when the subscriber already exists. */
type SavedSubscriber = {
  values: Record<string, unknown>;
  changes: SavedField[];
  before: <T>(was: string, work: () => Promise<T>) => Promise<T>;
};

/**
 * Creates a record for the subscriber, because an existing one may belong to other insurances. `replaced` is the present
 * subscriber.
 */
export async function createSubscriber(
  client: FhirClient,
  { patient_ehr_id, input, marker }: SubscriberWrite,
  replaced?: fhir.RelatedPerson,
): Promise<SavedSubscriber> {
  const { relationship, subscriber, guarantor_ehr_id } = input;
  if (!subscriber) {
    const by_patient = guarantor_ehr_id === null || isSelf(relationship);
    const values = guarantor_ehr_id ? { guarantor_id: guarantor_ehr_id } : by_patient ? { guarantor_id: null } : {};
    return { values, changes: [], before: justRun };
  }
  const settings = toSettings(subscriber_fields, subscriberValues(subscriber));
  const person = applySettings(emptySubscriber(patient_ehr_id, relationship), settings);
  return storePerson(client, { person, replaced, settings, marker: subscriberMarker(marker) });
}

/** Changes the record of the subscriber if the patient has one for that person, and creates one otherwise. */
export async function updateSubscriber(
  emr: Emr,
  coverage: fhir.Coverage | undefined,
  write: SubscriberWrite,
): Promise<SavedSubscriber> {
  const { subscriber } = write.input;
  const present = await readSubscriber(emr, coverage);
  const person = subscriber && (await findPerson(emr, write.patient_ehr_id, subscriber, present));
  if (!subscriber || !person) return createSubscriber(emr.client, write, present);
  const values = person.id === present?.id ? {} : { guarantor_id: requireId(person) };
  return changePerson(emr.client, person, { subscriber, values, marker: subscriberMarker(write.marker) });
}

/** Throws `unknown_outcome` if the subscriber of a lost write may exist and the server cannot be searched for it. */
export async function requireSearchableSubscriber(client: FhirClient, marker: string): Promise<void> {
  await client.findByMarker<fhir.RelatedPerson>('RelatedPerson', subscriberMarker(marker));
}

/** Null: unknown, and the subscriber is the patient. */
export function isSelf(relationship: InsuranceFields['relationship']): boolean {
  return relationship === '01' || relationship === null;
}

/** The person who has the insurance now, unless it is the patient. */
async function readSubscriber(
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
  subscriber: Subscriber,
  present: fhir.RelatedPerson | undefined,
): Promise<fhir.RelatedPerson | undefined> {
  const hasName = ({ name }: fhir.RelatedPerson) => {
    const { first: first_name, last: last_name } = readName(name);
    return isSamePerson(subscriber, { first_name, last_name });
  };
  if (present && hasName(present)) return present;
  return (await loadRelatedPersons(emr, patient_ehr_id)).find(
    (each) =>
      each.active !== false &&
      refId(each.patient, 'Patient') === patient_ehr_id &&
      hasName(each) &&
      Boolean(subscriber.dob) &&
      text(each.birthDate) === subscriber.dob,
  );
}

/** A server that does not update such records gets a new one that keeps what was not sent. */
async function changePerson(
  client: FhirClient,
  person: fhir.RelatedPerson,
  { subscriber, values, marker }: { subscriber: Subscriber; values: Record<string, unknown>; marker: string },
): Promise<SavedSubscriber> {
  const settings = toSettings(subscriber_fields, subscriberValues(subscriber));
  if (list(person.identifier).some(({ value }) => value === marker)) {
    return { values, changes: changesWithoutBefore(person, settings), before: justRun };
  }
  if (describeChanges(person, person, settings).length === 0) return { values, changes: [], before: justRun };
  if (!client.capabilities.interactions('RelatedPerson').has('update')) {
    const { id: _id, meta: _meta, identifier: _identifier, ...copy } = structuredClone(person);
    const changed = applySettings<fhir.RelatedPerson>(copy, settings);
    return storePerson(client, { person: changed, replaced: person, settings, marker });
  }
  const changes = await forField('subscriber_demographics', () =>
    updateFields<fhir.RelatedPerson>(client, { type: 'RelatedPerson', id: requireId(person), settings, marker }),
  );
  return {
    values,
    changes,
    before: (was, work) => afterCreate(`The subscriber was changed, but the insurance was not ${was}.`, work),
  };
}

async function storePerson(
  client: FhirClient,
  {
    person,
    replaced,
    settings,
    marker,
  }: {
    person: fhir.RelatedPerson;
    replaced: fhir.RelatedPerson | undefined;
    settings: readonly Setting<fhir.RelatedPerson>[];
    marker: string;
  },
): Promise<SavedSubscriber> {
  if (!client.capabilities.interactions('RelatedPerson').has('create')) {
    throw unsupportedField('subscriber_demographics');
  }
  const { resource: created } = await forField('subscriber_demographics', () => findOrCreate(client, person, marker));
  return {
    values: { guarantor_id: requireId(created) },
    changes: describeChanges(replaced, created, settings),
    before: (was, work) => afterCreate(`The subscriber was created, but the insurance was not ${was}.`, work),
  };
}

function justRun<T>(_was: string, work: () => Promise<T>): Promise<T> {
  return work();
}

function subscriberMarker(marker: string): string {
  return `${marker}-subscriber`;
}

const prefix = 'subscriber_demographics';

function subscriberValues({ street, ...person }: Subscriber): Record<string, unknown> {
  const values = Object.entries({ ...person, street_line_1: street }).filter(([, value]) => value !== undefined);
  return Object.fromEntries(values.map(([name, value]) => [`${prefix}.${name}`, value]));
}

/** A subscriber other than the patient. Only symmetric relationships have a code. */
function emptySubscriber(patient_ehr_id: string, relationship: InsuranceFields['relationship']): fhir.RelatedPerson {
  const code = symmetric_relationships.find(({ subscriber }) => subscriber === relationship)?.code;
  return {
    resourceType: 'RelatedPerson',
    patient: { reference: `Patient/${patient_ehr_id}` },
    ...(code && { relationship: [{ coding: [{ system: code_systems.role, code }] }] }),
  };
}

const subscriber_fields: readonly Field<fhir.RelatedPerson>[] = [
  subscriberField('first_name', 'first name', {
    read: ({ name }) => readName(name).first,
    write: (person, value) => changeName(person, { given: value === null ? undefined : [value] }),
  }),
  subscriberField('last_name', 'last name', {
    read: ({ name }) => readName(name).last,
    write: (person, value) => changeName(person, { family: value ?? undefined }),
  }),
  subscriberField('street_line_1', 'street', {
    read: ({ address }) => text(list(list(address)[0]?.line)[0]),
    write: (person, value) => changeAddress(person, { line: value === null ? undefined : [value] }),
  }),
  subscriberField('city', 'city', {
    read: ({ address }) => text(list(address)[0]?.city),
    write: (person, value) => changeAddress(person, { city: value ?? undefined }),
  }),
  subscriberField('state', 'state', {
    read: ({ address }) => text(list(address)[0]?.state),
    write: (person, value) => changeAddress(person, { state: value ?? undefined }),
  }),
  subscriberField('zip', 'ZIP code', {
    read: ({ address }) => text(list(address)[0]?.postalCode),
    write: (person, value) => changeAddress(person, { postalCode: value ?? undefined }),
  }),
  subscriberField('sex', 'sex', {
    read: ({ gender }) => text(gender),
    write: (person, value) => {
      // The interface accepts three values, which FHIR has too.
      person.gender = (value ?? undefined) as fhir.RelatedPerson['gender'];
    },
  }),
  subscriberField('dob', 'date of birth', {
    read: ({ birthDate }) => text(birthDate),
    write: (person, value) => {
      person.birthDate = value ?? undefined;
    },
  }),
  subscriberField('phone', 'phone', {
    read: ({ telecom }) => text(list(telecom)[0]?.value),
    write: (person, value) => {
      person.telecom = value === null ? undefined : [{ system: 'phone', value }];
    },
  }),
];

function subscriberField(
  name: string,
  label: string,
  place: Pick<Field<fhir.RelatedPerson>, 'read' | 'write'>,
): Field<fhir.RelatedPerson> {
  return { property: `${prefix}.${name}`, label: `Subscriber, ${label}`, ...place };
}

function changeName(person: fhir.RelatedPerson, change: fhir.HumanName): void {
  person.name = [{ ...list(person.name)[0], ...change }];
}

function changeAddress(person: fhir.RelatedPerson, change: fhir.Address): void {
  person.address = [{ ...list(person.address)[0], ...change }];
}

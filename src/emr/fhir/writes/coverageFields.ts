import type * as fhir from 'fhir/r4.js';
import { type SubscriberRelationship, subscriber_relationships } from '../../../model/requests/insurance.ts';
import type { InsuranceFields, Subscriber } from '../../patientWrites.ts';
import {
  class_system,
  copay_system,
  copaymentOf,
  groupOf,
  isCopay,
  isGroup,
  memberIdOf,
  relationship_system,
  relationshipOf,
} from '../charts/coverage.ts';
import { refId } from '../references.ts';
import { list, nameOf, number, text } from '../values.ts';
import type { Field } from './fields.ts';

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
    read: memberIdOf,
    write: (coverage, value) => {
      coverage.subscriberId = value ?? undefined;
    },
  },
  {
    property: 'group_id',
    label: 'Group number',
    read: groupOf,
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
    property: 'copayment',
    label: 'Copayment',
    read: copaymentOf,
    write: (coverage, value) => {
      const type = { coding: [{ system: copay_system, code: 'copay' }] };
      const cost = value === null ? null : { type, valueMoney: { value: Number(value), currency: 'USD' as const } };
      coverage.costToBeneficiary = replaceMatching(list(coverage.costToBeneficiary), isCopay, cost);
    },
  },
  {
    property: 'relationship_to_subscriber',
    label: 'Relationship to subscriber',
    read: ({ relationship }) => relationshipOf(relationship),
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
  input: InsuranceFields & { member_id?: string | null | undefined; priority?: 1 | 2 | 3 | undefined },
): Record<string, unknown> {
  return {
    member_id: input.member_id ?? undefined,
    group_id: input.group_id,
    priority: input.priority,
    plan_begin_date: input.plan_begin_date,
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

const prefix = 'subscriber_demographics';

/** A subscriber other than the patient. */
export const subscriber_fields: readonly Field<fhir.RelatedPerson>[] = [
  subscriberField(
    'first_name',
    'Subscriber, first name',
    ({ name }) => nameOf(name).first,
    (person, value) => {
      person.name = [{ ...list(person.name)[0], given: value === null ? undefined : [value] }];
    },
  ),
  subscriberField(
    'last_name',
    'Subscriber, last name',
    ({ name }) => nameOf(name).last,
    (person, value) => {
      person.name = [{ ...list(person.name)[0], family: value ?? undefined }];
    },
  ),
  subscriberField(
    'street_line_1',
    'Subscriber, street',
    ({ address }) => text(list(list(address)[0]?.line)[0]),
    (person, value) => {
      person.address = [{ ...list(person.address)[0], line: value === null ? undefined : [value] }];
    },
  ),
  subscriberField(
    'city',
    'Subscriber, city',
    ({ address }) => text(list(address)[0]?.city),
    (person, value) => {
      person.address = [{ ...list(person.address)[0], city: value ?? undefined }];
    },
  ),
  subscriberField(
    'state',
    'Subscriber, state',
    ({ address }) => text(list(address)[0]?.state),
    (person, value) => {
      person.address = [{ ...list(person.address)[0], state: value ?? undefined }];
    },
  ),
  subscriberField(
    'zip',
    'Subscriber, ZIP code',
    ({ address }) => text(list(address)[0]?.postalCode),
    (person, value) => {
      person.address = [{ ...list(person.address)[0], postalCode: value ?? undefined }];
    },
  ),
  subscriberField(
    'sex',
    'Subscriber, sex',
    ({ gender }) => text(gender),
    (person, value) => {
      // The interface accepts three values, which FHIR has too.
      person.gender = (value ?? undefined) as fhir.RelatedPerson['gender'];
    },
  ),
  subscriberField(
    'dob',
    'Subscriber, date of birth',
    ({ birthDate }) => text(birthDate),
    (person, value) => {
      person.birthDate = value ?? undefined;
    },
  ),
  subscriberField(
    'phone',
    'Subscriber, phone',
    ({ telecom }) => text(list(telecom)[0]?.value),
    (person, value) => {
      person.telecom = value === null ? undefined : [{ system: 'phone', value }];
    },
  ),
];

export function subscriberValues({ street, ...person }: Subscriber): Record<string, unknown> {
  const values = Object.entries({ ...person, street_line_1: street }).filter(([, value]) => value !== undefined);
  return Object.fromEntries(values.map(([name, value]) => [`${prefix}.${name}`, value]));
}

/** Symmetric relationships only (spouse, partner): for the others, FHIR would need to know who is the parent. */
export function emptySubscriber(
  patient_ehr_id: string,
  relationship: SubscriberRelationship | undefined,
): fhir.RelatedPerson {
  const code = relationship && { '02': 'SPS', '53': 'DOMPART' }[relationship as string];
  const system = 'http://terminology.hl7.org/CodeSystem/v3-RoleCode';
  return {
    resourceType: 'RelatedPerson',
    patient: { reference: `Patient/${patient_ehr_id}` },
    ...(code && { relationship: [{ coding: [{ system, code }] }] }),
  };
}

function subscriberField(
  name: string,
  label: string,
  read: Field<fhir.RelatedPerson>['read'],
  write: Field<fhir.RelatedPerson>['write'],
): Field<fhir.RelatedPerson> {
  return { property: `${prefix}.${name}`, label, read, write };
}

/** FHIR has fewer codes than insurers, so the exact relationship is added as text. */
function toRelationship(code: SubscriberRelationship): fhir.CodeableConcept {
  return { coding: [{ system: relationship_system, code: to_fhir[code] }], text: subscriber_relationships[code] };
}

const to_fhir: Record<SubscriberRelationship, string> = {
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

/**
 * Replaces all matching elements with one, or removes them. Returns undefined instead of an empty list, which FHIR does
 * not allow.
 */
function replaceMatching<T>(all: readonly T[], isOne: (each: T) => boolean, one: T | null): T[] | undefined {
  const others = all.filter((each) => !isOne(each));
  const rest = one === null ? others : [...others, one];
  return rest.length > 0 ? rest : undefined;
}

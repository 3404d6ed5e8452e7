import type * as fhir from 'fhir/r4.js';
import type { Demographics } from '../../operations/patients.ts';
import type { Field } from '../fields.ts';
import {
  addressParts,
  contactValue,
  currentAddress,
  currentName,
  findTelecom,
  hasCode,
  list,
  nonEmptyList,
  readName,
  text,
  toSex,
} from '../values.ts';
import { code_fields } from './demographicCodes.ts';
import { doctorReference, doctorText } from './doctors.ts';
import { email_uses, home_uses } from './patients.ts';

type Patient = fhir.Patient;
type Use = fhir.ContactPoint['use'];

/** The demographics of the interface, each with its place in a FHIR Patient. */
export const patient_fields: readonly Field<Patient>[] = [
  {
    property: 'first_name',
    label: 'First name',
    read: ({ name }) => readName(name).first,
    write: (patient, value) => {
      const name = editableName(patient);
      name.given = nonEmptyList([value, ...list(name.given).slice(1)]);
    },
  },
  {
    property: 'middle_name',
    label: 'Middle name',
    read: ({ name }) => readName(name).middle,
    write: (patient, value) => {
      const name = editableName(patient);
      name.given = nonEmptyList([list(name.given)[0] ?? null, value]);
    },
  },
  {
    property: 'last_name',
    label: 'Last name',
    read: ({ name }) => readName(name).last,
    write: (patient, value) => {
      editableName(patient).family = value ?? undefined;
    },
  },
  {
    property: 'dob',
    label: 'Date of birth',
    read: ({ birthDate }) => text(birthDate),
    write: (patient, value) => {
      patient.birthDate = value ?? undefined;
    },
  },
  {
    property: 'sex',
    label: 'Sex',
    read: ({ gender }) => (gender === undefined ? null : toSex(gender)),
    write: (patient, value) => {
      patient.gender = value === null ? undefined : toSex(value);
    },
  },
  telecomField('phone', 'Home phone', { system: 'phone', uses: home_uses, new_use: 'home' }),
  telecomField('cell_phone', 'Cell phone', { system: 'phone', uses: ['mobile'], new_use: 'mobile' }),
  telecomField('email', 'Email', { system: 'email', uses: email_uses, new_use: undefined }),
  addressField('address_street', 'Street', 'line1', (address, value) => {
    address.line = nonEmptyList([value, ...list(address.line).slice(1)]);
  }),
  addressField('address_line2', 'Address line 2', 'line2', (address, value) => {
    address.line = nonEmptyList([list(address.line)[0] ?? null, value]);
  }),
  addressField('address_city', 'City', 'city', (address, value) => {
    address.city = value ?? undefined;
  }),
  addressField('address_state', 'State', 'state', (address, value) => {
    address.state = value ?? undefined;
  }),
  addressField('address_zip', 'ZIP code', 'zip', (address, value) => {
    address.postalCode = value ?? undefined;
  }),
  {
    property: 'pcp',
    label: 'Primary care provider',
    read: ({ generalPractitioner: [first] = [] }) => text(first?.reference) ?? text(first?.display),
    write: (patient, value) => {
      const others = list(patient.generalPractitioner).slice(1);
      patient.generalPractitioner = nonEmptyList([value === null ? null : doctorReference(value), ...others]);
    },
  },
  ...code_fields,
  contactField('emergency_contact_first_name', 'Emergency contact, first name', {
    read: ({ name }) => text(list(name?.given)[0]),
    write: (contact, value) => {
      contact.name = { ...contact.name, given: nonEmptyList([value]) };
    },
  }),
  contactField('emergency_contact_last_name', 'Emergency contact, last name', {
    read: ({ name }) => text(name?.family),
    write: (contact, value) => {
      contact.name = { ...contact.name, family: value ?? undefined };
    },
  }),
  contactField('emergency_contact_relation', 'Emergency contact, relation', {
    read: ({ relationship }) => text(list(relationship).find((each) => !isEmergency(each))?.text),
    write: (contact, value) => {
      contact.relationship = [emergency, ...(value === null ? [] : [{ text: value }])];
    },
  }),
  contactField('emergency_contact_phone', 'Emergency contact, phone', {
    read: ({ telecom }) => text(list(telecom).find(({ system }) => system === 'phone')?.value),
    write: (contact, value) => {
      const others = list(contact.telecom).filter(({ system }) => system !== 'phone');
      contact.telecom = nonEmptyList([...others, value === null ? null : { system: 'phone' as const, value }]);
    },
  }),
];

/** The field values of a request. */
export function patientValues(input: Demographics): Record<string, unknown> {
  const { pcp, emergency_contact: contact, ...values } = input;
  return {
    ...values,
    ...(pcp === undefined ? {} : { pcp: pcp && doctorText(pcp) }),
    // A contact is replaced as a whole.
    ...(contact === undefined
      ? {}
      : {
          emergency_contact_first_name: contact?.first_name ?? null,
          emergency_contact_last_name: contact?.last_name ?? null,
          emergency_contact_relation: contact?.relation ?? null,
          emergency_contact_phone: contact?.phone ?? null,
        }),
  };
}

const contact_roles = 'http://terminology.hl7.org/CodeSystem/v2-0131';
const emergency: fhir.CodeableConcept = {
  coding: [{ system: contact_roles, code: 'C', display: 'Emergency Contact' }],
};

function isEmergency(relationship: fhir.CodeableConcept): boolean {
  return hasCode(relationship, contact_roles, ['C']);
}

/** A contact point with one of these uses. `new_use`: that of one that is added. */
function telecomField(
  property: string,
  label: string,
  { system, uses, new_use }: { system: 'phone' | 'email'; uses: readonly Use[]; new_use: Use },
): Field<Patient> {
  return {
    property,
    label,
    read: ({ telecom }) => contactValue(telecom, system, uses),
    write: (patient, value) => {
      const existing = findTelecom(patient.telecom, system, uses);
      const others = list(patient.telecom).filter((each) => each !== existing);
      const changed = value === null ? null : { ...(existing ?? { system, use: new_use }), value };
      patient.telecom = nonEmptyList([...others, changed]);
    },
  };
}

function addressField(
  property: string,
  label: string,
  part: keyof ReturnType<typeof addressParts>,
  write: (address: fhir.Address, value: string | null) => void,
): Field<Patient> {
  return {
    property,
    label,
    read: ({ address }) => addressParts(currentAddress(address))[part],
    write: (patient, value) => {
      const existing = currentAddress(patient.address);
      if (!existing && value === null) return;
      const address: fhir.Address = existing ?? { use: 'home' };
      // The full text would still contain the old address.
      address.text = undefined;
      write(address, value);
      if (!existing) patient.address = [...list(patient.address), address];
    },
  };
}

function contactField(
  property: string,
  label: string,
  { read, write }: Pick<Field<fhir.PatientContact>, 'read' | 'write'>,
): Field<Patient> {
  const existing = ({ contact }: Patient) =>
    list(contact).find(({ relationship }) => list(relationship).some(isEmergency));
  return {
    property,
    label,
    read: (patient) => read(existing(patient) ?? {}),
    write: (patient, value) => {
      const present = existing(patient);
      if (!present && value === null) return;
      const contact = present ?? { relationship: [emergency] };
      write(contact, value);
      const others = list(patient.contact).filter((each) => each !== contact);
      // FHIR does not allow a contact without details.
      patient.contact = nonEmptyList([...others, hasDetails(contact) ? contact : null]);
    },
  };
}

function hasDetails({ name, telecom, address, organization, relationship }: fhir.PatientContact): boolean {
  const named = text(name?.family) ?? text(name?.text) ?? text(list(name?.given)[0]);
  const related = list(relationship).some((each) => !isEmergency(each));
  return named !== null || related || Boolean(telecom || address || organization);
}

function editableName(patient: Patient): fhir.HumanName {
  const existing = currentName(patient.name);
  const name: fhir.HumanName = existing ?? { use: 'official' };
  name.text = undefined;
  if (!existing) patient.name = [...list(patient.name), name];
  return name;
}

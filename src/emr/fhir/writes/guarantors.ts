import type * as fhir from 'fhir/r4.js';
import { todayIn } from '../../../platform/time/zones.ts';
import { EmrFailure, type Operations } from '../../connector.ts';
import type { Payer } from '../../patientWrites.ts';
import {
  act_codes,
  billing_account,
  currentGuarantors,
  isGuarantor,
  isGuarantorRole,
  partyText,
  patientAccounts,
  relatedPersons,
  role_classes,
  role_codes,
} from '../charts/guarantors.ts';
import { canSearch, type Emr } from '../references.ts';
import { can, meetsAll, type Requirement, search } from '../requirements.ts';
import { list, text } from '../values.ts';
import { requireRecords } from './requireRecords.ts';
import { findOrCreate, forField, idOf } from './steps.ts';

/** A guarantor is a RelatedPerson. */
export const guarantor_requires: readonly Requirement[] = [can('RelatedPerson', 'create')];

/** The fields of a new patient that are stored in it. */
export const guarantor_fields = [
  'responsible_party',
  'responsible_party_first_name',
  'responsible_party_last_name',
  'responsible_party_sex',
  'responsible_party_dob',
  'responsible_party_phone',
] as const;

const account_requires: readonly Requirement[] = [
  can('Account', 'create', 'read', 'update'),
  search('Account', 'patient|subject'),
];

/** Where a server has no accounts, the role of a related person says who is responsible. */
export const responsible_party_requires: readonly Requirement[] = [
  can('Patient', 'read', 'update'),
  search('RelatedPerson', 'patient'),
  {
    ...can('RelatedPerson', 'read', 'update'),
    or: { ...can('Account', 'create', 'read', 'update', 'search-type'), params: ['patient|subject'] },
  },
];

export function addGuarantor(emr: Emr): Operations['addGuarantor'] {
  const { client } = emr;
  return {
    send: async ({ patient_ehr_id, ...payer }, marker) => {
      await requireRecords(client, patient_ehr_id);
      const { resource } = await findOrCreate(client, toRelatedPerson(patient_ehr_id, payer), marker);
      return { ehr_id: idOf(resource) };
    },
    ...(client.canFind('RelatedPerson') && {
      find: async (marker) => {
        const person = await client.findCreated<fhir.RelatedPerson>('RelatedPerson', marker);
        return person && { ehr_id: idOf(person) };
      },
    }),
  };
}

/**
 * Makes a guarantor, or the patient, responsible. Accounts and roles show by themselves whether that was done; the
 * marker on the chart shows that all of it was.
 */
export function setResponsibleParty(emr: Emr): Operations['setResponsibleParty'] {
  const { client } = emr;
  return {
    send: async ({ patient_ehr_id, guarantor_ehr_id }, marker) => {
      await requireRecords(client, patient_ehr_id);
      if (guarantor_ehr_id !== null) await requireGuarantor(emr, patient_ehr_id, guarantor_ehr_id);
      const in_account = await nameInAccount(emr, patient_ehr_id, guarantor_ehr_id, marker);
      if (!in_account) await moveRole(emr, patient_ehr_id, guarantor_ehr_id, marker);
      await client.update<fhir.Patient>('Patient', patient_ehr_id, (now) => now, marker);
      return { ehr_id: patient_ehr_id };
    },
    ...(client.canFind('Patient') && {
      find: async (marker) => {
        const patient = await client.findByMarker<fhir.Patient>('Patient', marker);
        return patient && { ehr_id: idOf(patient) };
      },
    }),
  };
}

/** Throws unless this related person is one of the patient. A type that the server does not let us read is not checked. */
export async function requireGuarantor(emr: Emr, patient_ehr_id: string, guarantor_ehr_id: string): Promise<void> {
  await requireRecords(emr.client, null, { guarantor: guarantor_ehr_id });
  if (!canSearch(emr.client, 'RelatedPerson', ['patient'])) return;
  const people = await relatedPersons(emr, patient_ehr_id);
  if (people.some(({ id }) => id === guarantor_ehr_id)) return;
  throw new EmrFailure('not_found', `The EMR has no guarantor with ID '${guarantor_ehr_id}'.`);
}

/** The guarantor of a new patient, and the account that names it where the server has accounts. Returns its id. */
export async function createGuarantor(emr: Emr, patient_ehr_id: string, payer: Payer, marker: string): Promise<string> {
  const person = toRelatedPerson(patient_ehr_id, payer);
  const { resource } = await forField('responsible_party', () =>
    findOrCreate(emr.client, person, guarantorMarker(marker)),
  );
  await nameInAccount(emr, patient_ehr_id, idOf(resource), marker);
  return idOf(resource);
}

/** Whether `createGuarantor` has stored everything. */
export async function hasGuarantor(emr: Emr, patient_ehr_id: string, marker: string): Promise<boolean> {
  const { client, timezone } = emr;
  const person = await client.findByMarker<fhir.RelatedPerson>('RelatedPerson', guarantorMarker(marker));
  if (!person || !meetsAll(client.capabilities, account_requires)) return person !== undefined;
  const [account] = await patientAccounts(emr, patient_ehr_id);
  return account !== undefined && names(account, `RelatedPerson/${idOf(person)}`, timezone);
}

function guarantorMarker(marker: string): string {
  return `${marker}-guarantor`;
}

/**
 * Names the only guarantor in the patient's account, which is created if there is none. Returns false if the server
 * takes no accounts.
 */
async function nameInAccount(
  emr: Emr,
  patient_ehr_id: string,
  guarantor_ehr_id: string | null,
  marker: string,
): Promise<boolean> {
  const { client, timezone } = emr;
  if (!meetsAll(client.capabilities, account_requires)) return false;
  const reference = guarantor_ehr_id === null ? `Patient/${patient_ehr_id}` : `RelatedPerson/${guarantor_ehr_id}`;
  const [present] = await patientAccounts(emr, patient_ehr_id);
  const own_marker = `${marker}-account`;
  try {
    if (!present)
      await findOrCreate(client, withGuarantor(emptyAccount(patient_ehr_id), reference, timezone), own_marker);
    else if (!names(present, reference, timezone)) {
      const change = (now: fhir.Account) => withGuarantor(now, reference, timezone);
      await client.update<fhir.Account>('Account', idOf(present), change, own_marker);
    }
    return true;
  } catch (error) {
    // The server refuses accounts as a whole, which the client remembers. The role of the person remains.
    if (error instanceof EmrFailure && error.not_offered) return false;
    throw error;
  }
}

function names(account: fhir.Account, reference: string, timezone: string): boolean {
  const [only, ...others] = currentGuarantors(account, timezone);
  return text(only?.party?.reference) === reference && others.length === 0;
}

/** Earlier guarantors stay in the account, with the day on which their responsibility ended. */
function withGuarantor(account: fhir.Account, reference: string, timezone: string): fhir.Account {
  const today = todayIn(timezone);
  const current = currentGuarantors(account, timezone);
  const earlier = list(account.guarantor).map((each) =>
    current.includes(each) ? { ...each, period: { ...each.period, end: today } } : each,
  );
  return { ...account, guarantor: [{ party: { reference }, period: { start: today } }, ...earlier] };
}

function emptyAccount(patient_ehr_id: string): fhir.Account {
  return {
    resourceType: 'Account',
    status: 'active',
    type: { coding: [{ system: act_codes, code: billing_account, display: 'patient billing account' }] },
    subject: [{ reference: `Patient/${patient_ehr_id}` }],
  };
}

/** Gives the role of the guarantor to this person alone. null: to nobody, because the patient pays. */
async function moveRole(emr: Emr, patient_ehr_id: string, guarantor_ehr_id: string | null, marker: string) {
  for (const person of await relatedPersons(emr, patient_ehr_id)) {
    const pays = person.id === guarantor_ehr_id;
    if (isGuarantor(person) === pays) continue;
    const change = (now: fhir.RelatedPerson): fhir.RelatedPerson => {
      const others = list(now.relationship).filter((each) => !isGuarantorRole(each));
      const relationship = pays ? [guarantor_role, ...others] : others;
      return { ...now, relationship: relationship.length > 0 ? relationship : undefined };
    };
    await emr.client.update<fhir.RelatedPerson>('RelatedPerson', idOf(person), change, `${marker}-role`);
  }
}

const guarantor_role: fhir.CodeableConcept = {
  coding: [{ system: role_classes, code: 'GUAR', display: 'guarantor' }],
};

/**
 * Symmetric relationships have a code (spouse, partner). Of the others the interface does not say who is the parent and
 * who the child, so they are stored as text.
 */
function toRelatedPerson(patient_ehr_id: string, payer: Payer): fhir.RelatedPerson {
  const { relationship, first_name, last_name, sex, dob, phone } = payer;
  const code = relationship === 'spouse' ? 'SPS' : relationship === 'life_partner' ? 'DOMPART' : undefined;
  return {
    resourceType: 'RelatedPerson',
    active: true,
    patient: { reference: `Patient/${patient_ehr_id}` },
    relationship: [
      guarantor_role,
      { ...(code && { coding: [{ system: role_codes, code }] }), text: partyText(relationship) },
    ],
    name: [{ family: last_name, given: [first_name] }],
    ...(sex && { gender: sex }),
    ...(dob && { birthDate: dob }),
    ...(phone && { telecom: [{ system: 'phone', value: phone }] }),
  };
}

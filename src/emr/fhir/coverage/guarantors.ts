import type * as fhir from 'fhir/r4.js';
import type { LiveGuarantor } from '../../../model/liveChart.ts';
import type { SubscriberRelationship } from '../../../model/requests/insurance.ts';
import { payer_fields, type ResponsibleParty, responsible_parties } from '../../../model/requests/patients.ts';
import { EmrFailure } from '../../emrFailure.ts';
import type { Payer } from '../../operations/guarantors.ts';
import type { Operations } from '../../operations/operations.ts';
import { type FhirOperation, reading } from '../operation.ts';
import { canSearch, createResolver, type Emr, refIds, searchChart } from '../references.ts';
import { can, meetsAll, type Requirement, searches } from '../transport/capabilities.ts';
import { code_systems, hasCode, list, nonEmptyList, readName, text, toDay } from '../values.ts';
import { findOrCreate, forField, requireId, requireRecords } from '../writeSteps.ts';
import { account_requires, currentGuarantors, loadAccounts, nameInAccount, namesOnly } from './accounts.ts';

/**
 * The people who pay for a patient: first those whom the patient's account names, then the other related persons with
 * the role of a guarantor.
 */
export async function listGuarantors(emr: Emr, patient_ehr_id: string): Promise<LiveGuarantor[]> {
  const { client, timezone } = emr;
  const people = (await loadRelatedPersons(emr, patient_ehr_id)).filter(({ active }) => active !== false);
  const accounts = await loadAccounts(emr, patient_ehr_id);
  const parties = accounts.flatMap((account) => currentGuarantors(account, timezone)).map(({ party }) => party);
  const named = refIds(parties, 'RelatedPerson').flatMap((id) => people.filter((each) => each.id === id));
  const others = people.filter((each) => !named.includes(each) && isGuarantor(each));
  const pays = refIds(parties, 'Patient').includes(patient_ehr_id);
  const loaded = pays && (await createResolver(client).load<fhir.Patient>('Patient', [patient_ehr_id]));
  const patient = loaded ? loaded.get(patient_ehr_id) : undefined;
  return [
    ...(patient ? [patientAsGuarantor(patient, timezone)] : []),
    ...[...named, ...others].map((each) => toGuarantor(each, timezone)),
  ];
}

/** A guarantor is a RelatedPerson. */
export const guarantor_requires: readonly Requirement[] = [can('RelatedPerson', 'create')];

/** The fields of a new patient that are stored in it. */
export const guarantor_fields = ['responsible_party', ...payer_fields] as const;

/** Where a server has no accounts, the role of a related person says who is responsible. */
export const responsible_party_requires: readonly Requirement[] = [
  can('Patient', 'read', 'update'),
  searches('RelatedPerson', 'patient'),
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
      return { ehr_id: requireId(resource) };
    },
    ...(client.canFind('RelatedPerson') && {
      find: async (marker) => {
        const person = await client.findCreated<fhir.RelatedPerson>('RelatedPerson', marker);
        return person && { ehr_id: requireId(person) };
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
      if (!in_account) await moveGuarantorRole(emr, patient_ehr_id, guarantor_ehr_id, marker);
      await client.update<fhir.Patient>('Patient', patient_ehr_id, (now) => now, marker);
      return { ehr_id: patient_ehr_id };
    },
    ...(client.canFind('Patient') && {
      find: async (marker) => {
        const patient = await client.findByMarker<fhir.Patient>('Patient', marker);
        return patient && { ehr_id: requireId(patient) };
      },
    }),
  };
}

/** Throws unless this related person is one of the patient. A type that the server does not let us read is not checked. */
export async function requireGuarantor(emr: Emr, patient_ehr_id: string, guarantor_ehr_id: string): Promise<void> {
  await requireRecords(emr.client, null, { guarantor: guarantor_ehr_id });
  if (!canSearch(emr.client, 'RelatedPerson', ['patient'])) return;
  const people = await loadRelatedPersons(emr, patient_ehr_id);
  if (people.some(({ id }) => id === guarantor_ehr_id)) return;
  throw new EmrFailure('not_found', `The EMR has no guarantor with ID '${guarantor_ehr_id}'.`);
}

/** The guarantor of a new patient, and the account that names it where the server has accounts. Returns its id. */
export async function createGuarantor(emr: Emr, patient_ehr_id: string, payer: Payer, marker: string): Promise<string> {
  const person = toRelatedPerson(patient_ehr_id, payer);
  const { resource } = await forField('responsible_party', () =>
    findOrCreate(emr.client, person, guarantorMarker(marker)),
  );
  await nameInAccount(emr, patient_ehr_id, requireId(resource), marker);
  return requireId(resource);
}

/** Whether `createGuarantor` has stored everything. */
export async function hasGuarantor(emr: Emr, patient_ehr_id: string, marker: string): Promise<boolean> {
  const { client, timezone } = emr;
  const person = await client.findByMarker<fhir.RelatedPerson>('RelatedPerson', guarantorMarker(marker));
  if (!person || !meetsAll(client.capabilities, account_requires)) return person !== undefined;
  const [account] = await loadAccounts(emr, patient_ehr_id);
  return account !== undefined && namesOnly(account, `RelatedPerson/${requireId(person)}`, timezone);
}

function guarantorMarker(marker: string): string {
  return `${marker}-guarantor`;
}

/** Gives the role of the guarantor to this person alone. Null: to nobody, because the patient pays. */
async function moveGuarantorRole(emr: Emr, patient_ehr_id: string, guarantor_ehr_id: string | null, marker: string) {
  for (const person of await loadRelatedPersons(emr, patient_ehr_id)) {
    const pays = person.id === guarantor_ehr_id;
    if (isGuarantor(person) === pays) continue;
    const change = (now: fhir.RelatedPerson): fhir.RelatedPerson => {
      const others = list(now.relationship).filter((each) => !isGuarantorRole(each));
      return { ...now, relationship: nonEmptyList([pays ? guarantor_role : null, ...others]) };
    };
    await emr.client.update<fhir.RelatedPerson>('RelatedPerson', requireId(person), change, `${marker}-role`);
  }
}

/** HL7 has the guarantor among the classes of roles, unlike personal relationships. */
const role_classes = 'http://terminology.hl7.org/CodeSystem/v3-RoleClass';
const guarantor_role: fhir.CodeableConcept = {
  coding: [{ system: role_classes, code: 'GUAR', display: 'guarantor' }],
};

/**
 * Relationships that are the same in both directions. For all others, the interface does not say who is the parent and
 * who the child. `party`: of a guarantor. `subscriber`: the insurers' code. `code`: HL7's code.
 */
export const symmetric_relationships: readonly {
  party: ResponsibleParty;
  subscriber: SubscriberRelationship;
  code: string;
}[] = [
  { party: 'spouse', subscriber: '02', code: 'SPS' },
  { party: 'life_partner', subscriber: '53', code: 'DOMPART' },
];

/** Only symmetric relationships have a code. All are stored as text. */
function toRelatedPerson(patient_ehr_id: string, payer: Payer): fhir.RelatedPerson {
  const { relationship, first_name, last_name, sex, dob, phone } = payer;
  const code = symmetric_relationships.find(({ party }) => party === relationship)?.code;
  return {
    resourceType: 'RelatedPerson',
    active: true,
    patient: { reference: `Patient/${patient_ehr_id}` },
    relationship: [
      guarantor_role,
      { ...(code && { coding: [{ system: code_systems.role, code }] }), text: partyText(relationship) },
    ],
    name: [{ family: last_name, given: [first_name] }],
    ...(sex && { gender: sex }),
    ...(dob && { birthDate: dob }),
    ...(phone && { telecom: [{ system: 'phone', value: phone }] }),
  };
}

/** Empty if the server cannot search for them. */
export async function loadRelatedPersons({ client }: Emr, patient_ehr_id: string): Promise<fhir.RelatedPerson[]> {
  if (!canSearch(client, 'RelatedPerson', ['patient'])) return [];
  return searchChart<fhir.RelatedPerson>(client, 'RelatedPerson', patient_ehr_id, ({ patient }) => [patient]);
}

function isGuarantor({ relationship }: fhir.RelatedPerson): boolean {
  return list(relationship).some(isGuarantorRole);
}

function isGuarantorRole(concept: fhir.CodeableConcept): boolean {
  // Some servers use the code in the system of the personal relationships.
  return [role_classes, code_systems.role].some((system) => hasCode(concept, system, ['GUAR']));
}

function toGuarantor(person: fhir.RelatedPerson, timezone: string): LiveGuarantor {
  return {
    id: person.id ?? '',
    name: readName(person.name).full ?? '',
    dob: toDay(person.birthDate, timezone),
    relationship: readGuarantorRelationship(person),
    is_guarantor_patient: false,
  };
}

/** The id is prefixed, because a patient and a related person may have the same id. */
function patientAsGuarantor(patient: fhir.Patient, timezone: string): LiveGuarantor {
  const [name, dob] = [readName(patient.name).full ?? '', toDay(patient.birthDate, timezone)];
  return { id: `Patient/${patient.id}`, name, dob, relationship: 'self', is_guarantor_patient: true };
}

/** The text that we write, else the code, reduced to the four relationships of the interface. */
function readGuarantorRelationship({ relationship }: fhir.RelatedPerson): LiveGuarantor['relationship'] {
  const concepts = list(relationship);
  const exact = concepts.map((each) => findParty(text(each.text))).find((each) => each !== undefined);
  if (exact !== undefined) return simple_relationships[exact] ?? 'other';
  const has = (codes: readonly string[]) => concepts.some((each) => hasCode(each, code_systems.role, codes));
  if (has(['ONESELF'])) return 'self';
  if (has(['SPS', 'HUSB', 'WIFE', 'DOMPART'])) return 'spouse';
  return has(['CHILD', 'SON', 'DAU', 'SONC', 'DAUC', 'CHLDADOPT', 'CHLDFOST', 'STPCHLD', 'GRNDCHILD'])
    ? 'child'
    : 'other';
}

function partyText(relationship: ResponsibleParty): string {
  return relationship.replaceAll('_', ' ');
}

function findParty(label: string | null): ResponsibleParty | undefined {
  return responsible_parties.find((each) => partyText(each) === label?.toLowerCase());
}

const simple_relationships: Partial<Record<ResponsibleParty, LiveGuarantor['relationship']>> = {
  self: 'self',
  spouse: 'spouse',
  life_partner: 'spouse',
  child: 'child',
  adopted_child: 'child',
  step_child: 'child',
  foster_child: 'child',
  grandchild: 'child',
  ward_of_court: 'child',
  minor_dependent: 'child',
};

export const guarantor_operations: readonly FhirOperation[] = [
  { operation: 'listGuarantors', requires: [searches('RelatedPerson', 'patient')], open: reading(listGuarantors) },
  { operation: 'addGuarantor', requires: guarantor_requires, open: addGuarantor },
  { operation: 'setResponsibleParty', requires: responsible_party_requires, open: setResponsibleParty },
];

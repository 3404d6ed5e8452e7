import type * as fhir from 'fhir/r4.js';
import type { LiveGuarantor } from '../../../model/liveChart.ts';
import { type ResponsibleParty, responsible_parties } from '../../../model/requests/patients.ts';
import { todayIn } from '../../../platform/time/zones.ts';
import { dayOf } from '../clock.ts';
import { canSearch, createResolver, type Emr, findReferencing, onlyOf, refIds } from '../references.ts';
import { hasCode, list, nameOf, text } from '../values.ts';

/**
 * The people who pay for a patient: first those whom the patient's account names, then the other related persons with
 * the role of a guarantor.
 */
export async function listGuarantors(emr: Emr, patient_ehr_id: string): Promise<LiveGuarantor[]> {
  const { client, timezone } = emr;
  const people = (await relatedPersons(emr, patient_ehr_id)).filter(({ active }) => active !== false);
  const accounts = await patientAccounts(emr, patient_ehr_id);
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

/** A record of a person related to the patient may be that of another patient, on a server that ignores criteria. */
export async function relatedPersons({ client }: Emr, patient_ehr_id: string): Promise<fhir.RelatedPerson[]> {
  if (!canSearch(client, 'RelatedPerson', ['patient'])) return [];
  const params = { patient: `Patient/${patient_ehr_id}` };
  const found = await client.searchAll<fhir.RelatedPerson>('RelatedPerson', params);
  return onlyOf(patient_ehr_id, found, ({ patient }) => [patient]);
}

/** The active accounts of a patient, those for billing first. Empty if the server has no accounts. */
export async function patientAccounts({ client }: Emr, patient_ehr_id: string): Promise<fhir.Account[]> {
  const found = await findReferencing<fhir.Account>(client, 'Account', account_params, [`Patient/${patient_ehr_id}`]);
  const own = onlyOf(patient_ehr_id, found, ({ subject }) => list(subject));
  const active = own.filter(({ status }) => (status ?? 'active') === 'active');
  const rank = ({ type }: fhir.Account) => (hasCode(type, act_codes, [billing_account]) ? 0 : 1);
  return active.sort((a, b) => rank(a) - rank(b) || (a.id ?? '').localeCompare(b.id ?? ''));
}

export function currentGuarantors({ guarantor }: fhir.Account, timezone: string): fhir.AccountGuarantor[] {
  return list(guarantor).filter(({ period }) => {
    const ends = dayOf(period?.end, timezone);
    return ends === null || ends > todayIn(timezone);
  });
}

export function isGuarantor({ relationship }: fhir.RelatedPerson): boolean {
  return list(relationship).some(isGuarantorRole);
}

export function isGuarantorRole(concept: fhir.CodeableConcept): boolean {
  // Some servers use the code in the system of the personal relationships.
  return [role_classes, role_codes].some((system) => hasCode(concept, system, ['GUAR']));
}

export function toGuarantor(person: fhir.RelatedPerson, timezone: string): LiveGuarantor {
  return {
    id: person.id ?? '',
    name: nameOf(person.name).full ?? '',
    dob: dayOf(person.birthDate, timezone),
    relationship: relationshipOf(person),
    is_guarantor_patient: false,
  };
}

/** The id is prefixed, because a patient and a related person may have the same id. */
function patientAsGuarantor(patient: fhir.Patient, timezone: string): LiveGuarantor {
  const [name, dob] = [nameOf(patient.name).full ?? '', dayOf(patient.birthDate, timezone)];
  return { id: `Patient/${patient.id}`, name, dob, relationship: 'self', is_guarantor_patient: true };
}

/** The text that we write, else the code, reduced to the four relationships of the interface. */
function relationshipOf({ relationship }: fhir.RelatedPerson): LiveGuarantor['relationship'] {
  const concepts = list(relationship);
  const exact = concepts.map((each) => partyOf(text(each.text))).find((each) => each !== undefined);
  if (exact !== undefined) return simple_relationships[exact] ?? 'other';
  const has = (codes: readonly string[]) => concepts.some((each) => hasCode(each, role_codes, codes));
  if (has(['ONESELF'])) return 'self';
  if (has(['SPS', 'HUSB', 'WIFE', 'DOMPART'])) return 'spouse';
  return has(['CHILD', 'SON', 'DAU', 'SONC', 'DAUC', 'CHLDADOPT', 'CHLDFOST', 'STPCHLD', 'GRNDCHILD'])
    ? 'child'
    : 'other';
}

export function partyText(relationship: ResponsibleParty): string {
  return relationship.replaceAll('_', ' ');
}

function partyOf(label: string | null): ResponsibleParty | undefined {
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

export const account_params = ['patient', 'subject'];
export const billing_account = 'PBILLACCT';
export const act_codes = 'http://terminology.hl7.org/CodeSystem/v3-ActCode';
/** HL7 has the guarantor among the classes of roles, and personal relationships among the codes of roles. */
export const role_classes = 'http://terminology.hl7.org/CodeSystem/v3-RoleClass';
export const role_codes = 'http://terminology.hl7.org/CodeSystem/v3-RoleCode';

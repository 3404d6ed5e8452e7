import type { NewPatient } from '../writeInputs.ts';
import type { Environment, ListName, RowOf } from './environment.ts';
import { skip } from './outcomes.ts';

/** Clearly fictitious. Numbers 555-01xx are reserved for fiction. */
export const family_name = 'Certification-Testpatient';

/** The patient whose chart is written to: the given one, or a new one. */
export function testPatient(env: Environment): Promise<{ ehr_id: string; mrn: string }> {
  if (env.patient_mrn !== undefined) return env.anyPatient();
  return env.memoize('chart', async () => {
    const { emr } = await env.open();
    const created = await emr.createPatient?.send(newPatient(env.uniqueTag()), env.marker());
    return created ?? skip('no patient was named, and the EMR does not support createPatient');
  });
}

export function newPatient(uniqueTag: string): NewPatient {
  return {
    first_name: capitalize(uniqueTag),
    last_name: family_name,
    dob: '1980-02-29',
    sex: 'female',
    phone: '518-555-0199',
    address_street: '1 Placeholder Street',
    address_city: 'Exampleton',
    address_state: 'NY',
    address_zip: '12207',
    self_pay: true,
    payer: null,
    coverages: [],
    check_eligibility: false,
    pharmacy_ehr_id: null,
  };
}

export function capitalize(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}

export async function anyCompany(env: Environment): Promise<{ ehr_id: string }> {
  const all = await env.rows('listInsuranceProviders');
  return all.find(({ active }) => active) ?? skip('the EMR has no active insurance provider');
}

/** The lists whose records have a status. */
type StatusList = { [Name in ListName]: RowOf<Name> extends { status: string } ? Name : never }[ListName];

export async function active(env: Environment, name: StatusList): Promise<{ ehr_id: string }> {
  const all: { ehr_id: string; status: string }[] = await env.rows(name);
  return all.find(({ status }) => status === 'active') ?? skip(`${name} returns no active record`);
}

export async function visitType(env: Environment): Promise<string> {
  const supported = await env.capabilities();
  if (!supported.includes('listVisitTypes')) return 'FOLLOWUP';
  const [first] = await env.rows('listVisitTypes');
  return (first ?? skip('the EMR has no visit type')).code;
}

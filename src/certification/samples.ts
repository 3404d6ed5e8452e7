import type { EmrWrite, OperationName, Operations, Written } from '../connectors/connector.ts';
import { collect } from '../connectors/operations.ts';
import { skip } from './check.ts';
import type { Environment } from './environment.ts';

export type WriteName = {
  [Name in OperationName]: Operations[Name] extends EmrWrite<never, Written> ? Name : never;
}[OperationName];
export type InputOf<Name extends WriteName> = Operations[Name] extends EmrWrite<infer Input, infer _> ? Input : never;

/** How a write is tried: with which words, and where it is seen afterwards. */
export type Sample<Name extends WriteName> = {
  /** Something that was not written before. */
  input: (env: Environment) => Promise<InputOf<Name>>;
  /** How often it stands in the chart; left out where nothing in the interface shows it. */
  count?: (emr: Partial<Operations>, input: InputOf<Name>, written: Written, env: Environment) => Promise<number>;
};

/** Plainly made up: nobody is called so, and 555-01xx numbers are nobody's. */
const family_name = 'Certification-Testpatient';

export const samples: { [Name in WriteName]: Sample<Name> } = {
  createPatient: {
    input: async (env) => newPatient(env.tag()),
    count: async (emr, { first_name }) => {
      const found = (await emr.searchPatients?.({ first_name, last_name: family_name })) ?? [];
      return found.filter((one) => one.first_name === first_name && one.dob === '1980-02-29').length;
    },
  },
  updatePatient: {
    input: async (env) => ({
      patient_ehr_id: (await chart(env)).ehr_id,
      save_previous_address: false,
      phone: `518-555-01${String(env.tag().charCodeAt(0) - 97 + 10)}`,
      address_street: `1 ${env.tag()} Street`,
      address_city: 'Exampleton',
      address_state: 'NY',
      address_zip: '12207',
    }),
    count: async (emr, { address_street }, _, env) => {
      const patient = await emr.findPatient?.((await chart(env)).mrn);
      return patient?.address_street === address_street ? 1 : 0;
    },
  },
  addPatientInsurance: {
    input: async (env) => ({
      patient_ehr_id: (await chart(env)).ehr_id,
      company_ehr_id: (await company(env)).ehr_id,
      member_id: `CERT-${env.tag()}`.toUpperCase(),
    }),
    count: async (emr, { patient_ehr_id, member_id }) => {
      const all = (await emr.listPatientInsurances?.(patient_ehr_id)) ?? [];
      return all.filter((one) => one.insurance_subscriber_number === member_id).length;
    },
  },
  updatePatientInsurance: {
    input: async (env) => ({
      insurance_ehr_id: await written(env, 'addPatientInsurance'),
      member_id: `CERT-${env.tag()}`.toUpperCase(),
    }),
    count: async (emr, { member_id }, _, env) => {
      const all = (await emr.listPatientInsurances?.((await chart(env)).ehr_id)) ?? [];
      return all.filter((one) => one.insurance_subscriber_number === member_id).length;
    },
  },
  createAppointment: {
    input: async (env) => ({
      patient_ehr_id: (await chart(env)).ehr_id,
      provider_ehr_id: (await active(env, 'listProviders')).ehr_id,
      secondary_provider_ehr_id: null,
      location_ehr_id: (await active(env, 'listLocations')).ehr_id,
      visit_type: await visitType(env),
      starts_at: await nextTime(env),
      minutes: 20,
      reason: 'Certification',
      note: null,
      new_patient: false,
      prevent_double_booking: false,
    }),
    count: async (emr, { starts_at, patient_ehr_id }, { ehr_id }) => {
      if (!emr.listAppointments) return (await emr.getAppointment?.(ehr_id))?.starts === starts_at ? 1 : 0;
      const all = await collect(emr.listAppointments());
      const same = all.filter((one) => one.starts === starts_at && one.patient_ehr_id === patient_ehr_id);
      return new Set(same.map((one) => one.ehr_id)).size;
    },
  },
  uploadDocument: {
    input: async (env) => ({
      patient_ehr_id: (await chart(env)).ehr_id,
      folder: 'Certification',
      type: 'application/pdf',
      content: pdf(env.tag()),
      assigned_to_ehr_id: null,
      reviewed: false,
      high_priority: false,
      notes: 'Synthetic',
      template_name: null,
    }),
  },
  createTelephoneEncounter: {
    input: async (env) => ({
      patient_ehr_id: (await chart(env)).ehr_id,
      provider_ehr_id: (await active(env, 'listProviders')).ehr_id,
      location_ehr_id: (await active(env, 'listLocations')).ehr_id,
      assigned_to_ehr_id: (await active(env, 'listStaff')).ehr_id,
      high_priority: false,
      reason: `Cert ${env.tag()}`,
      caller: 'Nobody',
      message: 'Synthetic call',
      pharmacy_ehr_id: null,
      template_name: null,
    }),
    count: async (emr, { patient_ehr_id, reason }) =>
      ((await emr.listEncounters?.(patient_ehr_id)) ?? []).filter((one) => one.reason === reason).length,
  },
  addTelephoneAction: {
    input: async (env) => ({
      encounter_ehr_id: await written(env, 'createTelephoneEncounter'),
      text: `Synthetic action ${env.tag()}`,
      high_priority: false,
    }),
    count: async (emr, { encounter_ehr_id, text }, _, env) => {
      const calls = (await emr.listEncounters?.((await chart(env)).ehr_id)) ?? [];
      const { actions = [] } = calls.find(({ id }) => id === encounter_ehr_id) ?? {};
      return actions.filter((one) => one.text.includes(text)).length;
    },
  },
  addRefill: {
    input: async (env) => {
      const { emr } = await env.open();
      const taken = (await emr.listMedications?.((await chart(env)).ehr_id)) ?? [];
      const medication = taken.find(({ active }) => active) ?? skip('the synthetic patient takes no medication');
      return {
        encounter_ehr_id: await written(env, 'createTelephoneEncounter'),
        medication_ehr_id: medication.ehr_id,
        pharmacy_ehr_id: null,
      };
    },
  },
  addPatientPharmacy: {
    input: async (env) => {
      const { emr } = await env.open();
      const patient_ehr_id = (await chart(env)).ehr_id;
      const has = (await emr.listPatientPharmacies?.(patient_ehr_id)) ?? [];
      const all = (await env.rows('listPharmacies')).filter((one) => has.every(({ ehr_id }) => ehr_id !== one.ehr_id));
      return { patient_ehr_id, pharmacy_ehr_id: (all[0] ?? skip('the chart has every pharmacy')).ehr_id };
    },
    count: async (emr, { patient_ehr_id, pharmacy_ehr_id }) =>
      ((await emr.listPatientPharmacies?.(patient_ehr_id)) ?? []).filter(({ ehr_id }) => ehr_id === pharmacy_ehr_id)
        .length,
  },
  addGuarantor: {
    input: async (env) => ({
      patient_ehr_id: (await chart(env)).ehr_id,
      relationship: 'other',
      first_name: capital(env.tag()),
      last_name: family_name,
      sex: null,
      dob: '1970-01-31',
      phone: null,
    }),
    count: async (emr, { patient_ehr_id, first_name }) =>
      ((await emr.listGuarantors?.(patient_ehr_id)) ?? []).filter(({ name }) => name.includes(first_name)).length,
  },
  setResponsibleParty: {
    input: async (env) => ({
      patient_ehr_id: (await chart(env)).ehr_id,
      relationship: 'self',
      guarantor_ehr_id: null,
    }),
  },
  requestEligibility: { input: async (env) => ({ patient_ehr_id: (await chart(env)).ehr_id }) },
};

/** The chart that is written into: never one that the kit found by itself. */
export function chart(env: Environment): Promise<{ ehr_id: string; mrn: string }> {
  if (env.patient_mrn !== undefined) return env.anyPatient();
  return env.remember('chart', async () => {
    const { emr } = await env.open();
    const made = await emr.createPatient?.send(newPatient(env.tag()), env.marker());
    return made ?? skip('no chart was named, and this EMR does not offer createPatient');
  });
}

function newPatient(tag: string): InputOf<'createPatient'> {
  return {
    first_name: capital(tag),
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

function capital(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}

async function company(env: Environment): Promise<{ ehr_id: string }> {
  const all = await env.rows('listInsuranceProviders');
  return all.find(({ active }) => active) ?? skip('the EMR lists no active insurance provider');
}

async function active(
  env: Environment,
  name: 'listProviders' | 'listLocations' | 'listStaff',
): Promise<{ ehr_id: string }> {
  const all: { ehr_id: string; status: string }[] = await env.rows(name);
  return all.find(({ status }) => status === 'active') ?? skip(`${name} gives nobody who is active`);
}

async function visitType(env: Environment): Promise<string> {
  const offered = await env.offers();
  if (!offered.includes('listVisitTypes')) return 'FOLLOWUP';
  const [first] = await env.rows('listVisitTypes');
  return (first ?? skip('the EMR lists no visit type')).code;
}

/** Ten months ahead and an hour apart, where nobody has booked and nobody looks. */
async function nextTime(env: Environment): Promise<string> {
  const { at } = await env.remember('times', async () => ({ at: Date.now() + 300 * 24 * 3_600_000 }));
  const count = env.tried.appointments++;
  const day = new Date(at + Math.floor(count / 8) * 24 * 3_600_000).toISOString().slice(0, 10);
  return `${day}T${String(9 + (count % 8)).padStart(2, '0')}:00:00`;
}

/** A record that other records are written to. */
function written(env: Environment, name: 'addPatientInsurance' | 'createTelephoneEncounter'): Promise<string> {
  return env.remember(`written ${name}`, async () => {
    const { emr } = await env.open();
    if (name === 'addPatientInsurance') {
      const input = await samples.addPatientInsurance.input(env);
      const saved = await emr.addPatientInsurance?.send(input, env.marker());
      return (saved ?? skip('this EMR does not offer addPatientInsurance')).ehr_id;
    }
    const input = await samples.createTelephoneEncounter.input(env);
    const call = await emr.createTelephoneEncounter?.send(input, env.marker());
    return (call ?? skip('this EMR does not offer createTelephoneEncounter')).ehr_id;
  });
}

/** The smallest honest PDF, with a comment in it that makes it unlike any other. */
export function pdf(comment: string): Buffer {
  const head = `%PDF-1.4\n1 0 obj << /Type /Catalog /Pages 2 0 R >> endobj\n2 0 obj << /Type /Pages /Kids [] /Count 0 >> endobj\n%${comment}\n`;
  const xref = 'xref\n0 3\n0000000000 65535 f \n0000000009 00000 n \n0000000058 00000 n \n';
  return Buffer.from(`${head}${xref}trailer << /Size 3 /Root 1 0 R >>\nstartxref\n${head.length}\n%%EOF\n`, 'latin1');
}

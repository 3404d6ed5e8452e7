import type { EmrWrite, OperationName, Operations, Written } from '../connector.ts';
import { collect } from '../implementations.ts';
import { type Environment, type Interceptor, type OpenedAccount, skip, skipUnsupported } from './environment.ts';
import {
  active,
  anyCompany,
  capitalize,
  family_name,
  newAppointment,
  newPatient,
  nextTime,
  testPatient,
} from './testRecords.ts';

export type WriteName = {
  [Name in OperationName]: Operations[Name] extends EmrWrite<never, Written> ? Name : never;
}[OperationName];
export type InputOf<Name extends WriteName> = Operations[Name] extends EmrWrite<infer Input, infer _> ? Input : never;

/** How a write is checked: its input, and where the record appears. */
type Sample<Name extends WriteName> = {
  /** Input that was not used before. */
  input: (env: Environment) => Promise<InputOf<Name>>;
  /** The read that shows the record, if there is one. */
  shown_by?: OperationName;
  /** How often the record exists. */
  count?: (emr: Partial<Operations>, input: InputOf<Name>, written: Written, env: Environment) => Promise<number>;
};

export const samples: { [Name in WriteName]: Sample<Name> } = {
  createPatient: {
    input: async (env) => newPatient(env.uniqueTag()),
    shown_by: 'searchPatients',
    count: async (emr, { first_name }) => {
      const matches = (await emr.searchPatients?.({ first_name, last_name: family_name })) ?? [];
      return matches.filter((one) => one.first_name === first_name && one.dob === '1980-02-29').length;
    },
  },
  updatePatient: {
    input: async (env) => ({
      patient_ehr_id: (await testPatient(env)).ehr_id,
      save_previous_address: false,
      phone: `518-555-01${String(env.uniqueTag().charCodeAt(0) - 97 + 10)}`,
      address_street: `1 ${env.uniqueTag()} Street`,
      address_city: 'Exampleton',
      address_state: 'NY',
      address_zip: '12207',
    }),
    shown_by: 'findPatient',
    count: async (emr, { address_street }, _, env) => {
      const patient = await emr.findPatient?.((await testPatient(env)).mrn);
      return patient?.address_street === address_street ? 1 : 0;
    },
  },
  addPatientInsurance: {
    input: async (env) => ({
      patient_ehr_id: (await testPatient(env)).ehr_id,
      company_ehr_id: (await anyCompany(env)).ehr_id,
      member_id: `CERT-${env.uniqueTag()}`.toUpperCase(),
    }),
    shown_by: 'listPatientInsurances',
    count: async (emr, { patient_ehr_id, member_id }) => {
      const all = (await emr.listPatientInsurances?.(patient_ehr_id)) ?? [];
      return all.filter((one) => one.insurance_subscriber_number === member_id).length;
    },
  },
  updatePatientInsurance: {
    input: async (env) => ({
      insurance_ehr_id: await dependency(env, 'addPatientInsurance'),
      member_id: `CERT-${env.uniqueTag()}`.toUpperCase(),
    }),
    shown_by: 'listPatientInsurances',
    count: async (emr, { member_id }, _, env) => {
      const all = (await emr.listPatientInsurances?.((await testPatient(env)).ehr_id)) ?? [];
      return all.filter((one) => one.insurance_subscriber_number === member_id).length;
    },
  },
  createAppointment: {
    input: async (env) => newAppointment(env, await nextTime(env)),
    shown_by: 'getAppointment',
    count: async (emr, { starts_at, patient_ehr_id }, { ehr_id }) => {
      const isAt = (starts: string | undefined) => starts?.slice(0, 16) === starts_at.slice(0, 16);
      if (!emr.listAppointments) return isAt((await emr.getAppointment?.(ehr_id))?.starts) ? 1 : 0;
      const all = await collect(emr.listAppointments());
      const same = all.filter((one) => isAt(one.starts) && one.patient_ehr_id === patient_ehr_id);
      return new Set(same.map((one) => one.ehr_id)).size;
    },
  },
  uploadDocument: {
    input: async (env) => ({
      patient_ehr_id: (await testPatient(env)).ehr_id,
      folder: 'Certification',
      type: 'application/pdf',
      content: pdf(env.uniqueTag()),
      file_name: 'synthetic referral.pdf',
      assigned_to_ehr_id: null,
      reviewed: false,
      high_priority: false,
      notes: 'Synthetic',
      template_name: null,
    }),
  },
  createTelephoneEncounter: {
    input: async (env) => ({
      patient_ehr_id: (await testPatient(env)).ehr_id,
      provider_ehr_id: (await active(env, 'listProviders')).ehr_id,
      location_ehr_id: (await active(env, 'listLocations')).ehr_id,
      assigned_to_ehr_id: (await active(env, 'listStaff')).ehr_id,
      high_priority: false,
      reason: `Cert ${env.uniqueTag()}`,
      caller: 'Nobody',
      message: 'Synthetic call',
      pharmacy_ehr_id: null,
      template_name: null,
    }),
    shown_by: 'listEncounters',
    count: async (emr, { patient_ehr_id, reason }) =>
      ((await emr.listEncounters?.(patient_ehr_id)) ?? []).filter((one) => one.reason === reason).length,
  },
  addTelephoneAction: {
    input: async (env) => ({
      encounter_ehr_id: await dependency(env, 'createTelephoneEncounter'),
      text: `Synthetic action ${env.uniqueTag()}`,
      high_priority: false,
    }),
    shown_by: 'listEncounters',
    count: async (emr, { encounter_ehr_id, text }, _, env) => {
      const calls = (await emr.listEncounters?.((await testPatient(env)).ehr_id)) ?? [];
      const { actions = [] } = calls.find(({ id }) => id === encounter_ehr_id) ?? {};
      return actions.filter((one) => one.text.includes(text)).length;
    },
  },
  addRefill: {
    input: async (env) => {
      const { emr } = await env.open();
      const medications = (await emr.listMedications?.((await testPatient(env)).ehr_id)) ?? [];
      const medication =
        medications.find(({ active }) => active) ?? skip('the synthetic patient has no active medication');
      return {
        encounter_ehr_id: await dependency(env, 'createTelephoneEncounter'),
        medication_ehr_id: medication.ehr_id,
        pharmacy_ehr_id: null,
      };
    },
  },
  addPatientPharmacy: {
    input: async (env) => {
      const { emr } = await env.open();
      const patient_ehr_id = (await testPatient(env)).ehr_id;
      const present = (await emr.listPatientPharmacies?.(patient_ehr_id)) ?? [];
      const all = (await env.rows('listPharmacies')).filter((one) =>
        present.every(({ ehr_id }) => ehr_id !== one.ehr_id),
      );
      return { patient_ehr_id, pharmacy_ehr_id: (all[0] ?? skip('the patient already has every pharmacy')).ehr_id };
    },
    shown_by: 'listPatientPharmacies',
    count: async (emr, { patient_ehr_id, pharmacy_ehr_id }) =>
      ((await emr.listPatientPharmacies?.(patient_ehr_id)) ?? []).filter(({ ehr_id }) => ehr_id === pharmacy_ehr_id)
        .length,
  },
  addGuarantor: {
    input: async (env) => ({
      patient_ehr_id: (await testPatient(env)).ehr_id,
      relationship: 'other',
      first_name: capitalize(env.uniqueTag()),
      last_name: family_name,
      sex: null,
      dob: '1970-01-31',
      phone: null,
    }),
    shown_by: 'listGuarantors',
    count: async (emr, { patient_ehr_id, first_name }) =>
      ((await emr.listGuarantors?.(patient_ehr_id)) ?? []).filter(({ name }) => name.includes(first_name)).length,
  },
  setResponsibleParty: {
    input: async (env) => ({
      patient_ehr_id: (await testPatient(env)).ehr_id,
      relationship: 'self',
      guarantor_ehr_id: null,
    }),
  },
  requestEligibility: { input: async (env) => ({ patient_ehr_id: (await testPatient(env)).ehr_id }) },
};

/** A write with its input, independent of its type. */
export type PreparedWrite = {
  write: EmrWrite<unknown, Written>;
  input: unknown;
  marker: string;
  /** How often the record exists in the EMR. undefined if no read shows it. */
  count: (written: Written) => Promise<number | undefined>;
  calls: OpenedAccount['calls'];
};

/** Opens the account and creates the input of one write. The interceptor does not affect creating the input. */
export async function prepareWrite(
  env: Environment,
  name: WriteName,
  intercept?: Interceptor,
  signal?: AbortSignal,
): Promise<PreparedWrite> {
  if (!env.writes) skip('writing synthetic records is not allowed');
  const { emr, calls } = await env.open({ ...(intercept && { intercept }), ...(signal && { signal }) });
  if (!emr[name]) skipUnsupported(name);
  const sample = samples[name];
  const input = await sample.input(env);
  // Reads are not intercepted.
  const direct = await env.open();
  // The input belongs to this write: both come from the entry of the same name.
  const write = emr[name] as unknown as PreparedWrite['write'];
  const count = sample.count as
    | ((...of: [Partial<Operations>, unknown, Written, Environment]) => Promise<number>)
    | undefined;
  return {
    write,
    input,
    marker: env.marker(),
    calls,
    count: async (written) =>
      count && sample.shown_by && direct.emr[sample.shown_by] ? count(direct.emr, input, written, env) : undefined,
  };
}

/** A record that another write refers to. */
function dependency(env: Environment, name: 'addPatientInsurance' | 'createTelephoneEncounter'): Promise<string> {
  return env.memoize(`written ${name}`, async () => {
    const { emr } = await env.open();
    if (name === 'addPatientInsurance') {
      const input = await samples.addPatientInsurance.input(env);
      const saved = await emr.addPatientInsurance?.send(input, env.marker());
      return (saved ?? skipUnsupported('addPatientInsurance')).ehr_id;
    }
    const input = await samples.createTelephoneEncounter.input(env);
    const call = await emr.createTelephoneEncounter?.send(input, env.marker());
    return (call ?? skipUnsupported('createTelephoneEncounter')).ehr_id;
  });
}

/** A minimal PDF, unique by its comment. */
function pdf(comment: string): Buffer {
  const head = `%PDF-1.4\n1 0 obj << /Type /Catalog /Pages 2 0 R >> endobj\n2 0 obj << /Type /Pages /Kids [] /Count 0 >> endobj\n%${comment}\n`;
  const xref = 'xref\n0 3\n0000000000 65535 f \n0000000009 00000 n \n0000000058 00000 n \n';
  return Buffer.from(`${head}${xref}trailer << /Size 3 /Root 1 0 R >>\nstartxref\n${head.length}\n%%EOF\n`, 'latin1');
}

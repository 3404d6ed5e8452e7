import type { EmrWrite, OperationName, Operations, Written } from '../connectors/connector.ts';
import { notTried } from './broken.ts';
import type { Stand } from './environment.ts';
import { gather } from './gather.ts';
import { pdf } from './pdf.ts';

export type WriteName = {
  [Name in OperationName]: Operations[Name] extends EmrWrite<never, Written> ? Name : never;
}[OperationName];
export type InputOf<Name extends WriteName> = Operations[Name] extends EmrWrite<infer Input, infer _> ? Input : never;

/** How a write is tried: with which words, and where it is seen afterwards. */
export type Sample<Name extends WriteName> = {
  /** Something that was not written before. */
  input: (stand: Stand) => Promise<InputOf<Name>>;
  /** How often it stands in the chart; left out where nothing in the interface shows it. */
  count?: (emr: Partial<Operations>, input: InputOf<Name>, written: Written, stand: Stand) => Promise<number>;
};

/** Plainly made up: nobody is called so, and 555-01xx numbers are nobody's. */
const family_name = 'Certification-Testpatient';

export const samples: { [Name in WriteName]: Sample<Name> } = {
  createPatient: {
    input: async (stand) => newPatient(stand.tag()),
    count: async (emr, { first_name }) => {
      const found = (await emr.searchPatients?.({ first_name, last_name: family_name })) ?? [];
      return found.filter((one) => one.first_name === first_name && one.dob === '1980-02-29').length;
    },
  },
  updatePatient: {
    input: async (stand) => ({
      patient_ehr_id: (await chart(stand)).ehr_id,
      save_previous_address: false,
      phone: `518-555-01${String(stand.tag().charCodeAt(0) - 97 + 10)}`,
      address_street: `1 ${stand.tag()} Street`,
      address_city: 'Exampleton',
      address_state: 'NY',
      address_zip: '12207',
    }),
    count: async (emr, { address_street }, _, stand) => {
      const patient = await emr.findPatient?.((await chart(stand)).mrn);
      return patient?.address_street === address_street ? 1 : 0;
    },
  },
  addPatientInsurance: {
    input: async (stand) => ({
      patient_ehr_id: (await chart(stand)).ehr_id,
      company_ehr_id: (await company(stand)).ehr_id,
      member_id: `CERT-${stand.tag()}`.toUpperCase(),
    }),
    count: async (emr, { patient_ehr_id, member_id }) => {
      const all = (await emr.listPatientInsurances?.(patient_ehr_id)) ?? [];
      return all.filter((one) => one.insurance_subscriber_number === member_id).length;
    },
  },
  updatePatientInsurance: {
    input: async (stand) => ({
      insurance_ehr_id: await written(stand, 'addPatientInsurance'),
      member_id: `CERT-${stand.tag()}`.toUpperCase(),
    }),
    count: async (emr, { member_id }, _, stand) => {
      const all = (await emr.listPatientInsurances?.((await chart(stand)).ehr_id)) ?? [];
      return all.filter((one) => one.insurance_subscriber_number === member_id).length;
    },
  },
  createAppointment: {
    input: async (stand) => ({
      patient_ehr_id: (await chart(stand)).ehr_id,
      provider_ehr_id: (await active(stand, 'listProviders')).ehr_id,
      secondary_provider_ehr_id: null,
      location_ehr_id: (await active(stand, 'listLocations')).ehr_id,
      visit_type: await visitType(stand),
      starts_at: await nextTime(stand),
      minutes: 20,
      reason: 'Certification',
      note: null,
      new_patient: false,
      prevent_double_booking: false,
    }),
    count: async (emr, { starts_at, patient_ehr_id }, { ehr_id }) => {
      if (!emr.listAppointments) return (await emr.getAppointment?.(ehr_id))?.starts === starts_at ? 1 : 0;
      const all = await gather(emr.listAppointments());
      const same = all.filter((one) => one.starts === starts_at && one.patient_ehr_id === patient_ehr_id);
      return new Set(same.map((one) => one.ehr_id)).size;
    },
  },
  uploadDocument: {
    input: async (stand) => ({
      patient_ehr_id: (await chart(stand)).ehr_id,
      folder: 'Certification',
      type: 'application/pdf',
      content: pdf(stand.tag()),
      assigned_to_ehr_id: null,
      reviewed: false,
      high_priority: false,
      notes: 'Synthetic',
      template_name: null,
    }),
  },
  createTelephoneEncounter: {
    input: async (stand) => ({
      patient_ehr_id: (await chart(stand)).ehr_id,
      provider_ehr_id: (await active(stand, 'listProviders')).ehr_id,
      location_ehr_id: (await active(stand, 'listLocations')).ehr_id,
      assigned_to_ehr_id: (await active(stand, 'listStaff')).ehr_id,
      high_priority: false,
      reason: `Cert ${stand.tag()}`,
      caller: 'Nobody',
      message: 'Synthetic call',
      pharmacy_ehr_id: null,
      template_name: null,
    }),
    count: async (emr, { patient_ehr_id, reason }) =>
      ((await emr.listEncounters?.(patient_ehr_id)) ?? []).filter((one) => one.reason === reason).length,
  },
  addTelephoneAction: {
    input: async (stand) => ({
      encounter_ehr_id: await written(stand, 'createTelephoneEncounter'),
      text: `Synthetic action ${stand.tag()}`,
      high_priority: false,
    }),
    count: async (emr, { encounter_ehr_id, text }, _, stand) => {
      const calls = (await emr.listEncounters?.((await chart(stand)).ehr_id)) ?? [];
      const { actions = [] } = calls.find(({ id }) => id === encounter_ehr_id) ?? {};
      return actions.filter((one) => one.text.includes(text)).length;
    },
  },
  addRefill: {
    input: async (stand) => {
      const { emr } = await stand.open();
      const taken = (await emr.listMedications?.((await chart(stand)).ehr_id)) ?? [];
      const medication = taken.find(({ active }) => active) ?? notTried('the synthetic patient takes no medication');
      return {
        encounter_ehr_id: await written(stand, 'createTelephoneEncounter'),
        medication_ehr_id: medication.ehr_id,
        pharmacy_ehr_id: null,
      };
    },
  },
  addPatientPharmacy: {
    input: async (stand) => {
      const { emr } = await stand.open();
      const patient_ehr_id = (await chart(stand)).ehr_id;
      const has = (await emr.listPatientPharmacies?.(patient_ehr_id)) ?? [];
      const all = (await stand.rows('listPharmacies')).filter((one) =>
        has.every(({ ehr_id }) => ehr_id !== one.ehr_id),
      );
      return { patient_ehr_id, pharmacy_ehr_id: (all[0] ?? notTried('the chart has every pharmacy')).ehr_id };
    },
    count: async (emr, { patient_ehr_id, pharmacy_ehr_id }) =>
      ((await emr.listPatientPharmacies?.(patient_ehr_id)) ?? []).filter(({ ehr_id }) => ehr_id === pharmacy_ehr_id)
        .length,
  },
  addGuarantor: {
    input: async (stand) => ({
      patient_ehr_id: (await chart(stand)).ehr_id,
      relationship: 'other',
      first_name: capital(stand.tag()),
      last_name: family_name,
      sex: null,
      dob: '1970-01-31',
      phone: null,
    }),
    count: async (emr, { patient_ehr_id, first_name }) =>
      ((await emr.listGuarantors?.(patient_ehr_id)) ?? []).filter(({ name }) => name.includes(first_name)).length,
  },
  setResponsibleParty: {
    input: async (stand) => ({
      patient_ehr_id: (await chart(stand)).ehr_id,
      relationship: 'self',
      guarantor_ehr_id: null,
    }),
  },
  requestEligibility: { input: async (stand) => ({ patient_ehr_id: (await chart(stand)).ehr_id }) },
};

/** The chart that is written into: never one that the kit found by itself. */
export function chart(stand: Stand): Promise<{ ehr_id: string; mrn: string }> {
  if (stand.patient_mrn !== undefined) return stand.somebody();
  return stand.remember('chart', async () => {
    const { emr } = await stand.open();
    const made = await emr.createPatient?.send(newPatient(stand.tag()), stand.marker());
    return made ?? notTried('no chart was named, and this EMR does not offer createPatient');
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

async function company(stand: Stand): Promise<{ ehr_id: string }> {
  const all = await stand.rows('listInsuranceProviders');
  return all.find(({ active }) => active) ?? notTried('the EMR lists no active insurance provider');
}

async function active(
  stand: Stand,
  name: 'listProviders' | 'listLocations' | 'listStaff',
): Promise<{ ehr_id: string }> {
  const all: { ehr_id: string; status: string }[] = await stand.rows(name);
  return all.find(({ status }) => status === 'active') ?? notTried(`${name} gives nobody who is active`);
}

async function visitType(stand: Stand): Promise<string> {
  const offered = await stand.offers();
  if (!offered.includes('listVisitTypes')) return 'FOLLOWUP';
  const [first] = await stand.rows('listVisitTypes');
  return (first ?? notTried('the EMR lists no visit type')).code;
}

/** Ten months ahead and an hour apart, where nobody has booked and nobody looks. */
async function nextTime(stand: Stand): Promise<string> {
  const { at } = await stand.remember('times', async () => ({ at: Date.now() + 300 * 24 * 3_600_000 }));
  const count = stand.tried.appointments++;
  const day = new Date(at + Math.floor(count / 8) * 24 * 3_600_000).toISOString().slice(0, 10);
  return `${day}T${String(9 + (count % 8)).padStart(2, '0')}:00:00`;
}

/** A record that other records are written to. */
function written(stand: Stand, name: 'addPatientInsurance' | 'createTelephoneEncounter'): Promise<string> {
  return stand.remember(`written ${name}`, async () => {
    const { emr } = await stand.open();
    if (name === 'addPatientInsurance') {
      const input = await samples.addPatientInsurance.input(stand);
      const saved = await emr.addPatientInsurance?.send(input, stand.marker());
      return (saved ?? notTried('this EMR does not offer addPatientInsurance')).ehr_id;
    }
    const input = await samples.createTelephoneEncounter.input(stand);
    const call = await emr.createTelephoneEncounter?.send(input, stand.marker());
    return (call ?? notTried('this EMR does not offer createTelephoneEncounter')).ehr_id;
  });
}

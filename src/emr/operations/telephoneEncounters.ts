import { Type } from 'typebox';
import { LiveEncounter } from '../../model/liveChart.ts';
import {
  TelephoneEncounterActionRequest,
  TelephoneEncounterRequest,
} from '../../model/requests/telephoneEncounters.ts';
import {
  activeRecord,
  chartRead,
  type Declarations,
  type EmrWrite,
  requestFields,
  sample_id,
  skip,
  type Written,
} from './operation.ts';

export type TelephoneEncounterOperations = {
  listEncounters: (patient_ehr_id: string) => Promise<EmrEncounter[]>;
  listMedications: (patient_ehr_id: string) => Promise<EmrMedication[]>;
  createTelephoneEncounter: EmrWrite<NewTelephoneEncounter, Written>;
  addTelephoneAction: EmrWrite<{ encounter_ehr_id: string; text: string; high_priority: boolean }, Written>;
  addRefill: EmrWrite<{ encounter_ehr_id: string; medication_ehr_id: string; pharmacy_ehr_id: string | null }, Written>;
};

/** `cancelled`: the visit did not take place and will not: cancelled, missed or moved. */
export type EmrEncounter = LiveEncounter & { cancelled: boolean };

export type EmrMedication = {
  ehr_id: string;
  name: string;
  strength: string | null;
  frequency: string | null;
  /** YYYY-MM-DD */
  start_date: string | null;
  refills: string | null;
  notes: string | null;
  active: boolean;
};

export type NewTelephoneEncounter = {
  patient_ehr_id: string;
  provider_ehr_id: string;
  location_ehr_id: string;
  assigned_to_ehr_id: string;
  high_priority: boolean;
  reason: string | null;
  caller: string | null;
  message: string | null;
  pharmacy_ehr_id: string | null;
  template_name: string | null;
};

const medication = Type.Object({ ehr_id: Type.String({ minLength: 1 }), name: Type.String(), active: Type.Boolean() });

export const telephone_encounter_operations = {
  listEncounters: chartRead(
    'visits',
    Type.Array(Type.Object({ ...LiveEncounter.properties, cancelled: Type.Boolean() })),
  ),
  listMedications: chartRead('medications', Type.Array(medication)),
  createTelephoneEncounter: {
    consent: 'messages',
    effect: { action: 'create', resource: 'telephone_encounter' },
    fields: requestFields(
      TelephoneEncounterRequest,
      {
        reason: { adds: { reason: 'Certification reason' } },
        caller: { adds: { caller: 'Certification caller' }, shows: 'Certification caller' },
        message: { adds: { message: 'Certification message' }, shows: 'Certification message' },
        pharmacy_ehr_id: { adds: { pharmacy_ehr_id: sample_id } },
        is_high_priority: { adds: { high_priority: true } },
        template_name: { adds: { template_name: 'Certification template' } },
        // Stored by addRefill.
      },
      ['refill_medication_name'],
    ),
    sample: {
      input: async (env) => ({
        patient_ehr_id: (await env.testPatient()).ehr_id,
        provider_ehr_id: (await activeRecord(env, 'listProviders')).ehr_id,
        location_ehr_id: (await activeRecord(env, 'listLocations')).ehr_id,
        assigned_to_ehr_id: (await activeRecord(env, 'listStaff')).ehr_id,
        high_priority: false,
        reason: `Cert ${env.uniqueTag()}`,
        caller: 'Nobody',
        message: 'Synthetic call',
        pharmacy_ehr_id: null,
        template_name: null,
      }),
      shown_by: 'listEncounters',
      count: async (emr, { input: { patient_ehr_id, reason } }) =>
        ((await emr.listEncounters?.(patient_ehr_id)) ?? []).filter((one) => one.reason === reason).length,
    },
  },
  addTelephoneAction: {
    consent: 'messages',
    effect: { action: 'create', resource: 'telephone_encounter_action' },
    fields: requestFields(TelephoneEncounterActionRequest, { is_high_priority: { adds: { high_priority: true } } }),
    sample: {
      input: async (env) => ({
        encounter_ehr_id: await env.written('createTelephoneEncounter'),
        text: `Synthetic action ${env.uniqueTag()}`,
        high_priority: false,
      }),
      shown_by: 'listEncounters',
      count: async (emr, { input: { encounter_ehr_id, text }, env }) => {
        const calls = (await emr.listEncounters?.((await env.testPatient()).ehr_id)) ?? [];
        const { actions = [] } = calls.find(({ id }) => id === encounter_ehr_id) ?? {};
        return actions.filter((one) => one.text.includes(text)).length;
      },
    },
  },
  addRefill: {
    consent: 'refills',
    effect: { action: 'create', resource: 'refill' },
    sample: {
      input: async (env) => {
        const { emr } = await env.open();
        const medications = (await emr.listMedications?.((await env.testPatient()).ehr_id)) ?? [];
        const medication =
          medications.find(({ active }) => active) ?? skip('the synthetic patient has no active medication');
        return {
          encounter_ehr_id: await env.written('createTelephoneEncounter'),
          medication_ehr_id: medication.ehr_id,
          pharmacy_ehr_id: null,
        };
      },
    },
  },
} satisfies Declarations<TelephoneEncounterOperations>;

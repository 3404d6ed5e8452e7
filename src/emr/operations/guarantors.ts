import { Type } from 'typebox';
import { LiveGuarantor } from '../../model/liveChart.ts';
import type { ResponsibleParty } from '../../model/requests/patients.ts';
import {
  capitalize,
  chartRead,
  type Declarations,
  type EmrSex,
  type EmrWrite,
  family_name,
  type Written,
} from './operation.ts';

export type GuarantorOperations = {
  listGuarantors: (patient_ehr_id: string) => Promise<LiveGuarantor[]>;
  /** Always creates a new guarantor record, even if the person already has one. */
  addGuarantor: EmrWrite<Payer & { patient_ehr_id: string }, Written>;
  /** `guarantor_ehr_id` is null if the patient is responsible. */
  setResponsibleParty: EmrWrite<
    { patient_ehr_id: string; relationship: ResponsibleParty; guarantor_ehr_id: string | null },
    Written
  >;
};

/** A responsible party other than the patient. */
export type Payer = {
  relationship: ResponsibleParty;
  first_name: string;
  last_name: string;
  sex: EmrSex | null;
  dob: string | null;
  phone: string | null;
};

export const guarantor_operations = {
  listGuarantors: chartRead('patients', Type.Array(LiveGuarantor)),
  addGuarantor: {
    consent: 'patients',
    effect: { action: 'create', resource: 'guarantor' },
    sample: {
      input: async (env) => ({
        patient_ehr_id: (await env.testPatient()).ehr_id,
        relationship: 'other',
        first_name: capitalize(env.uniqueTag()),
        last_name: family_name,
        sex: null,
        dob: '1970-01-31',
        phone: null,
      }),
      shown_by: 'listGuarantors',
      count: async (emr, { input: { patient_ehr_id, first_name } }) =>
        ((await emr.listGuarantors?.(patient_ehr_id)) ?? []).filter(({ name }) => name.includes(first_name)).length,
    },
  },
  setResponsibleParty: {
    consent: 'patients',
    effect: { action: 'update', resource: 'responsible_party' },
    sample: {
      input: async (env) => ({
        patient_ehr_id: (await env.testPatient()).ehr_id,
        relationship: 'self',
        guarantor_ehr_id: null,
      }),
    },
  },
} satisfies Declarations<GuarantorOperations>;

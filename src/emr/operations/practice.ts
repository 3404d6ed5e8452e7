import { Type } from 'typebox';
import { activity } from '../../model/fields.ts';
import type { LivePharmacy } from '../../model/liveChart.ts';
import { CodeLists } from '../../model/settings.ts';
import { chartRead, type Declarations, type EmrWrite, type RowOf, skip, type Written } from './operation.ts';

/** What is kept once for the whole practice: code lists, other doctors, pharmacies. */
export type PracticeOperations = {
  getCodeLists: () => Promise<CodeLists>;
  /** All referring providers with exactly this name, compared by `fold` (model/fold.ts). */
  findReferringProviders: (name: {
    first_name: string;
    last_name: string;
  }) => Promise<RowOf<'listReferringProviders'>[]>;
  listPatientPharmacies: (patient_ehr_id: string) => Promise<EmrPatientPharmacy[]>;
  addPatientPharmacy: EmrWrite<{ patient_ehr_id: string; pharmacy_ehr_id: string }, Written>;
};

/** A pharmacy on a patient's list. */
export type EmrPatientPharmacy = { ehr_id: string } & Omit<LivePharmacy, 'pharmacy_id'>;

const ehr_id = Type.String({ minLength: 1 });

export const practice_operations = {
  getCodeLists: { consent: null, result: CodeLists, sample: async () => [] },
  findReferringProviders: {
    consent: 'providers',
    result: Type.Array(Type.Object({ ehr_id, last_name: Type.String(), status: activity })),
    sample: async (env) => {
      const [first] = await env.rows('listReferringProviders');
      return [first ?? skip('the EMR has no referring providers')];
    },
    missing: [{ first_name: 'No', last_name: 'Such-Record' }],
  },
  listPatientPharmacies: chartRead('patients', Type.Array(Type.Object({ ehr_id, is_primary: Type.Enum(['0', '1']) }))),
  addPatientPharmacy: {
    consent: 'patients',
    sample: {
      input: async (env) => {
        const { emr } = await env.open();
        const patient_ehr_id = (await env.testPatient()).ehr_id;
        const present = (await emr.listPatientPharmacies?.(patient_ehr_id)) ?? [];
        const absent = (await env.rows('listPharmacies')).filter((one) =>
          present.every(({ ehr_id }) => ehr_id !== one.ehr_id),
        );
        const [pharmacy] = absent;
        return {
          patient_ehr_id,
          pharmacy_ehr_id: (pharmacy ?? skip('the patient already has every pharmacy')).ehr_id,
        };
      },
      shown_by: 'listPatientPharmacies',
      count: async (emr, { input: { patient_ehr_id, pharmacy_ehr_id } }) => {
        const present = (await emr.listPatientPharmacies?.(patient_ehr_id)) ?? [];
        return present.filter(({ ehr_id }) => ehr_id === pharmacy_ehr_id).length;
      },
    },
  },
} satisfies Declarations<PracticeOperations>;

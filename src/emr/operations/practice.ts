import { randomInt } from 'node:crypto';
import { Type } from 'typebox';
import { activity } from '../../model/fields.ts';
import type { LivePharmacy } from '../../model/liveChart.ts';
import { hasNpiCheckDigit, ReferringProviderRequest } from '../../model/requests/referrals.ts';
import { CodeLists } from '../../model/settings.ts';
import {
  capitalize,
  chartRead,
  type Declarations,
  type EmrWrite,
  family_name,
  type RowOf,
  requestFields,
  skip,
  type Written,
} from './operation.ts';

/** What is kept once for the whole practice: code lists, other doctors, pharmacies. */
export type PracticeOperations = {
  getCodeLists: () => Promise<CodeLists>;
  /** All referring providers with exactly this name, compared by `fold` (model/fold.ts). */
  findReferringProviders: (name: {
    first_name: string;
    last_name: string;
  }) => Promise<RowOf<'listReferringProviders'>[]>;
  createReferringProvider: EmrWrite<NewReferringProvider, Written>;
  listPatientPharmacies: (patient_ehr_id: string) => Promise<EmrPatientPharmacy[]>;
  addPatientPharmacy: EmrWrite<{ patient_ehr_id: string; pharmacy_ehr_id: string }, Written>;
};

export type NewReferringProvider = {
  first_name: string;
  last_name: string;
  npi: string;
  phone: string | null;
  fax: string | null;
  email: string | null;
  address_street: string | null;
  address_city: string | null;
  address_state: string | null;
  address_zip: string | null;
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
  createReferringProvider: {
    consent: 'providers',
    effect: { action: 'create', resource: 'referring_provider' },
    fields: requestFields(ReferringProviderRequest, {
      phone: { adds: { phone: '518-555-0146' } },
      fax: { adds: { fax: '518-555-0147' } },
      email: { adds: { email: 'certification@example.org' } },
      address: { adds: { address_street: '4 Certification Street' } },
      city: { adds: { address_city: 'Certification' } },
      state: { adds: { address_state: 'VT' } },
      zip_code: { adds: { address_zip: '05401' } },
    }),
    sample: {
      input: async (env) => ({
        first_name: capitalize(env.uniqueTag()),
        last_name: family_name,
        npi: newNpi(),
        phone: null,
        fax: null,
        email: null,
        address_street: null,
        address_city: null,
        address_state: null,
        address_zip: null,
      }),
      shown_by: 'findReferringProviders',
      count: async (emr, { input: { first_name, last_name } }) =>
        ((await emr.findReferringProviders?.({ first_name, last_name })) ?? []).length,
    },
  },
  listPatientPharmacies: chartRead('patients', Type.Array(Type.Object({ ehr_id, is_primary: Type.Enum(['0', '1']) }))),
  addPatientPharmacy: {
    consent: 'patients',
    effect: { action: 'create', resource: 'patient_pharmacy' },
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

/** A random number that passes the check of NPIs. */
function newNpi(): string {
  const digits = `1${randomInt(1e7, 1e8)}`;
  return Array.from({ length: 10 }, (_, last) => `${digits}${last}`).find(hasNpiCheckDigit) ?? digits;
}

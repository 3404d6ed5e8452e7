import { Type } from 'typebox';
import { isSameName } from '../../model/fold.ts';
import { LiveInsurance } from '../../model/liveChart.ts';
import { PatientInsuranceSource } from '../../model/records/patientInsurances.ts';
import { InsuranceChanges, InsuranceRequest, type SubscriberRelationship } from '../../model/requests/insurance.ts';
import {
  chartRead,
  type Declarations,
  type EmrSex,
  type EmrWrite,
  requestFields,
  type Saved,
  skip,
  type Written,
} from './operation.ts';

export type InsuranceOperations = {
  /** Those in force. */
  listPatientInsurances: (patient_ehr_id: string) => Promise<LiveInsurance[]>;
  /** All of them, as `listPolicies` returns them. */
  listPatientPolicies: (patient_ehr_id: string) => Promise<PatientInsuranceSource[]>;
  addPatientInsurance: EmrWrite<NewInsurance, Saved>;
  updatePatientInsurance: EmrWrite<InsuranceUpdate, Saved>;
  requestEligibility: EmrWrite<{ patient_ehr_id: string }, Written>;
};

/** A subscriber other than the patient. Undefined fields are left unchanged, null clears them. */
export type Subscriber = {
  first_name: string;
  last_name: string;
  street?: string | null | undefined;
  city?: string | null | undefined;
  state?: string | null | undefined;
  zip?: string | null | undefined;
  sex?: EmrSex | null | undefined;
  dob?: string | null | undefined;
  phone?: string | null | undefined;
};

/** Undefined fields are left unchanged; null clears a field. */
export type InsuranceFields = {
  group_id?: string | null | undefined;
  plan_begin_date?: string | null | undefined;
  copayment?: number | null | undefined;
  /** null: unknown, and the subscriber is the patient. */
  relationship?: SubscriberRelationship | null | undefined;
  /**
   * A new insurance always gets a new record for its subscriber. An update changes the record of the present subscriber
   * if that person has the same name, and otherwise adds one.
   */
  subscriber?: Subscriber | undefined;
};
export type NewInsurance = InsuranceFields & {
  patient_ehr_id: string;
  company_ehr_id: string;
  member_id: string;
  priority?: 1 | 2 | 3 | undefined;
  /** An existing guarantor of the patient. */
  guarantor_ehr_id?: string | undefined;
};
export type InsuranceUpdate = InsuranceFields & {
  insurance_ehr_id: string;
  /** The new priority, swapped with that of the insurances in force that have it, in the same write. */
  sequence?: 1 | 2 | 3 | undefined;
  /** The last day of the coverage. */
  plan_end_date?: string | null | undefined;
  company_ehr_id?: string | undefined;
  member_id?: string | undefined;
  priority?: 1 | 2 | 3 | undefined;
  /** An existing guarantor of the patient. null: the patient. */
  guarantor_ehr_id?: string | null | undefined;
};

const subscriber: Subscriber = { first_name: 'Cert', last_name: 'Subscriber', dob: '1971-03-02' };
const field_samples = {
  group_id: { adds: { group_id: 'CERT-GROUP' } },
  plan_begin_date: { adds: { plan_begin_date: '2025-02-03' } },
  copayment: { adds: { copayment: 12.5 } },
  relationship_to_subscriber: { adds: { relationship: '01' } },
  subscriber_demographics: { adds: { relationship: '02', subscriber } },
} as const;

/** The service looks up the company, by whichever of these is sent. */
const company_fields = ['insurance_provider_id', 'insurance_name', 'insurance_payer_id'] as const;

export const insurance_operations = {
  listPatientInsurances: chartRead('insurance', Type.Array(LiveInsurance)),
  listPatientPolicies: chartRead('insurance', Type.Array(PatientInsuranceSource)),
  addPatientInsurance: {
    consent: 'insurance',
    effect: { action: 'create', resource: 'insurance' },
    fields: requestFields(InsuranceRequest, { ...field_samples, priority: { adds: { priority: 3 } } }, company_fields),
    sample: {
      input: async (env) => {
        const companies = await env.rows('listInsuranceProviders');
        const company = companies.find(({ active }) => active) ?? skip('the EMR has no active insurance provider');
        return {
          patient_ehr_id: (await env.testPatient()).ehr_id,
          company_ehr_id: company.ehr_id,
          member_id: `CERT-${env.uniqueTag()}`.toUpperCase(),
        };
      },
      shown_by: 'listPatientInsurances',
      count: async (emr, { input: { patient_ehr_id, member_id } }) => {
        const all = (await emr.listPatientInsurances?.(patient_ehr_id)) ?? [];
        return all.filter((one) => one.insurance_subscriber_number === member_id).length;
      },
    },
  },
  updatePatientInsurance: {
    consent: 'insurance',
    effect: { action: 'update', resource: 'insurance' },
    fields: requestFields(
      InsuranceChanges,
      {
        ...field_samples,
        member_id: { adds: { member_id: 'CERT-4712' } },
        insurance_sequence: { adds: { sequence: 1 } },
        plan_end_date: { adds: { plan_end_date: '2099-12-30' } },
      },
      company_fields,
    ),
    sample: {
      input: async (env) => ({
        insurance_ehr_id: await env.written('addPatientInsurance'),
        member_id: `CERT-${env.uniqueTag()}`.toUpperCase(),
      }),
      shown_by: 'listPatientInsurances',
      count: async (emr, { input: { member_id }, env }) => {
        const all = (await emr.listPatientInsurances?.((await env.testPatient()).ehr_id)) ?? [];
        return all.filter((one) => one.insurance_subscriber_number === member_id).length;
      },
    },
  },
  requestEligibility: {
    consent: 'insurance',
    effect: { action: 'create', resource: 'eligibility_check' },
    sample: { input: async (env) => ({ patient_ehr_id: (await env.testPatient()).ehr_id }) },
  },
} satisfies Declarations<InsuranceOperations>;

/** Whether a sent name is that of a known person. */
export function isSamePerson(
  sent: { first_name: string; last_name: string },
  stored: { first_name: string | null; last_name: string | null },
): boolean {
  const same = (a: string, b: string | null) => a.trim() === (b ?? '').trim() || isSameName(a, b);
  return same(sent.first_name, stored.first_name) && same(sent.last_name, stored.last_name);
}

import { ClaimSource } from '../../model/records/claims.ts';
import { ClaimRequest, PaymentRequest } from '../../model/requests/billing.ts';
import { type AppointmentOperations, appointment_operations } from './appointments.ts';
import {
  activeRecord,
  type Declarations,
  type EmrWrite,
  missing_id,
  requestFields,
  type SampleEnvironment,
  skip,
  type Written,
} from './operation.ts';
import type { PracticeOperations } from './practice.ts';

export type BillingOperations = {
  postPayment: EmrWrite<NewPayment, PostedPayment>;
  getClaim: (ehr_id: string) => Promise<ClaimSource | undefined>;
  /** Creates the claim of a visit. The EMR refuses a second one, unless the first is void. */
  createClaim: EmrWrite<{ appointment_ehr_id: string }, Written>;
};

export type NewPayment = {
  patient_ehr_id: string;
  location_ehr_id: string;
  amount_cents: number;
  /** `code`: of the EMR's list of payment methods; null if it has no such list. */
  payment_method: { code: string | null; name: string };
  reference_number: string;
  /** YYYY-MM-DD */
  deposit_date: string;
  notes: string | null;
};

/** As the EMR has stored it. `balance_after_cents`: what the patient owes now; null if the EMR does not say. */
export type PostedPayment = Written & { amount_cents: number; balance_after_cents: number | null };

export const billing_operations = {
  postPayment: {
    consent: 'payments',
    effect: { action: 'create', resource: 'payment' },
    fields: requestFields(PaymentRequest, { notes: { adds: { notes: 'Certification notes' } } }, ['deposit_date']),
    sample: {
      input: async (env) => {
        const { emr } = await env.open();
        // The list of payment methods is declared with the practice's other code lists.
        const { getCodeLists } = emr as Partial<BillingOperations & PracticeOperations>;
        const [method] = (await getCodeLists?.())?.payment_methods ?? [];
        return {
          patient_ehr_id: (await env.testPatient()).ehr_id,
          location_ehr_id: (await activeRecord(env, 'listLocations')).ehr_id,
          amount_cents: 1234,
          payment_method: method ?? { code: null, name: 'Check' },
          reference_number: `Cert ${env.uniqueTag()}`,
          deposit_date: new Date().toISOString().slice(0, 10),
          notes: null,
        };
      },
    },
  },
  getClaim: {
    consent: 'claims',
    result: ClaimSource,
    sample: async (env) => {
      const [first] = await env.rows('listClaims');
      return [(first ?? skip('the EMR has no claims')).ehr_id];
    },
    missing: [missing_id],
  },
  createClaim: {
    consent: 'claims',
    effect: { action: 'create', resource: 'claim' },
    fields: requestFields(ClaimRequest, {}),
    sample: {
      input: async (env) => {
        const { emr } = await env.open();
        // A visit of the synthetic patient, without a claim.
        const { createAppointment } = emr as Partial<BillingOperations & AppointmentOperations>;
        if (!createAppointment) return skip('no visit can be created to bill');
        const { input } = appointment_operations.createAppointment.sample;
        const visit = await input(env as unknown as SampleEnvironment<AppointmentOperations>);
        return { appointment_ehr_id: (await createAppointment.send(visit, env.marker())).ehr_id };
      },
    },
  },
} satisfies Declarations<BillingOperations>;

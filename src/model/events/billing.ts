import { Type } from 'typebox';
import { day, nullable } from '../fields.ts';
import { type EventKinds, reasons, refusal } from './event.ts';

const payment = {
  payment_id: Type.String(),
  patient_mrn: Type.String(),
  amount: Type.Number({ description: 'Amount in dollars' }),
  payment_method: Type.String({ description: 'The payment method as the EMR names it' }),
  reference_number: Type.String(),
  deposit_date: day({ description: 'Day of the deposit' }),
};

const claim = {
  claim_id: Type.String(),
  appointment_id: Type.String(),
  patient_mrn: Type.String(),
};

export const billing_events = {
  'payment.posted': {
    summary: 'The payment is in the patient’s ledger.',
    has_job_id: true,
    has_account_reference: true,
    trigger: { request: 'payment' },
    data: Type.Object({
      ...payment,
      emr_payment_id: Type.String(),
      balance_after: nullable(
        Type.Number({
          description:
            'What the patient owes after the payment, in dollars; below 0: a credit. null: the EMR does not say',
        }),
      ),
    }),
  },
  'payment.failed': {
    summary: 'The payment was not posted.',
    has_job_id: true,
    has_account_reference: true,
    trigger: { request: 'payment', fault: refusal('post_payment') },
    data: Type.Object({ ...payment, failure_reason: Type.String(), reasons }),
  },
  'claim.created': {
    summary: 'The claim is in the EMR, and in `GET /v1/claims`.',
    has_job_id: true,
    has_account_reference: true,
    trigger: { request: 'claim' },
    data: Type.Object({ ...claim, emr_claim_id: Type.String() }),
  },
  'claim.failed': {
    summary: 'The claim was not created.',
    has_job_id: true,
    has_account_reference: true,
    trigger: { request: 'claim', fault: refusal('create_claim') },
    data: Type.Object({ ...claim, failure_reason: Type.String(), reasons }),
  },
} as const satisfies EventKinds;

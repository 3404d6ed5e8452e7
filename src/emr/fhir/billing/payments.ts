import type * as fhir from 'fhir/r4.js';
import type { InputOf } from '../../operations/operation.ts';
import type { Operations } from '../../operations/operations.ts';
import type { FhirOperation } from '../operation.ts';
import type { Emr } from '../references.ts';
import { can, stores } from '../transport/capabilities.ts';
import type { FhirClient } from '../transport/client.ts';
import { text } from '../values.ts';
import { findOrCreate, requireChart, requireId, requireRecords } from '../writeSteps.ts';

type Payment = InputOf<Operations['postPayment']>;

/**
 * Stores a PaymentNotice about the patient. FHIR has the amount, the reference number and the day in the
 * PaymentReconciliation that the notice refers to, which it contains: the two are one record, and arrive or not.
 */
function postPayment({ client }: Emr): Operations['postPayment'] {
  const toPosted = (notice: fhir.PaymentNotice, { amount_cents }: Payment) => ({
    ehr_id: requireId(notice),
    amount_cents: Math.round((notice.amount.value ?? amount_cents / 100) * 100),
    balance_after_cents: null,
  });
  return {
    send: async (input, marker) => {
      // Unlike other writes, a payment for a patient who has died is accepted.
      await requireChart(client, input.patient_ehr_id);
      await requireRecords(client, null, { location: input.location_ehr_id });
      const recipient = await readRecipient(client, input.location_ehr_id);
      const { resource } = await findOrCreate(client, toNotice(input, recipient), marker);
      return toPosted(resource, input);
    },
    ...(client.canFind('PaymentNotice') && {
      find: async (marker, input) => {
        const notice = await client.findCreated<fhir.PaymentNotice>('PaymentNotice', marker);
        return notice && toPosted(notice, input);
      },
    }),
  };
}

/** Who receives the payment: the organization of the location, by the name of the location. */
async function readRecipient(client: FhirClient, location_ehr_id: string): Promise<fhir.Reference> {
  const location = await client.read<fhir.Location>('Location', location_ehr_id);
  const reference = text(location?.managingOrganization?.reference);
  const display = text(location?.name) ?? `Location/${location_ehr_id}`;
  return reference === null ? { display } : { reference, display };
}

function toNotice(input: Payment, recipient: fhir.Reference): fhir.PaymentNotice {
  const patient = { reference: `Patient/${input.patient_ehr_id}` };
  const amount: fhir.Money = { value: input.amount_cents / 100, currency: 'USD' };
  const created = new Date().toISOString();
  const notes = [`Payment method: ${input.payment_method.name}`, ...(input.notes === null ? [] : [input.notes])];
  const payment: fhir.PaymentReconciliation = {
    resourceType: 'PaymentReconciliation',
    id: 'payment',
    status: 'active',
    created,
    outcome: 'complete',
    paymentDate: input.deposit_date,
    paymentAmount: amount,
    paymentIdentifier: { value: input.reference_number },
    detail: [
      {
        type: { coding: [{ system: `${hl7}/payment-type`, code: 'payment' }] },
        request: patient,
        date: input.deposit_date,
        amount,
      },
    ],
    processNote: notes.map((note) => ({ type: 'print', text: note })),
  };
  return {
    resourceType: 'PaymentNotice',
    contained: [payment],
    status: 'active',
    request: patient,
    created,
    payment: { reference: '#payment' },
    paymentDate: input.deposit_date,
    recipient,
    amount,
    paymentStatus: { coding: [{ system: `${hl7}/paymentstatus`, code: 'paid' }] },
  };
}

const hl7 = 'http://terminology.hl7.org/CodeSystem';

export const payment_operations: readonly FhirOperation[] = [
  // Without a search by our marker, a payment whose response was lost could be posted twice.
  { operation: 'postPayment', requires: [stores('PaymentNotice'), can('Location', 'read')], open: postPayment },
];

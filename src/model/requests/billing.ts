import { type Static, Type } from 'typebox';
import { day, refersTo, text } from '../fields.ts';

/** In dollars. Ledgers take no larger payment. */
export const payment_max = 1_000_000;

export const PaymentRequest = Type.Object(
  {
    patient_mrn: text({ description: 'Medical Record Number of the patient' }),
    payment_method: text({
      ...refersTo('settings.payment_methods.name'),
      description: 'Name of the payment method as configured in the EMR, from GET /v1/settings, in any case',
      examples: ['Check'],
    }),
    reference_number: text({
      description:
        'Number that identifies the payment, such as that of the check or the receipt. Never send a card number',
      examples: ['1042'],
    }),
    location: text({
      ...refersTo('locations.ehr_id'),
      description: 'The location’s EMR ID, from GET /v1/locations (ehr_id)',
    }),
    amount: Type.Number({
      exclusiveMinimum: 0,
      maximum: payment_max,
      description: 'Amount in dollars, more than 0 and at most 1,000,000.00, with at most two decimals',
      examples: [42.5],
    }),
    notes: Type.Optional(text({ description: 'Notes about the payment', examples: ['Paid at the front desk.'] })),
    deposit_date: Type.Optional(day({ description: 'Day of the deposit. Default: today in the practice’s time zone' })),
  },
  { schema_name: 'PaymentCreate', description: 'A payment of a patient' },
);
export type PaymentRequest = Static<typeof PaymentRequest>;

export const ClaimRequest = Type.Object(
  {
    appointment_id: text({
      description: 'Chartwire’s ID of the appointment, which must be in the EMR',
      messages: { required: "'appointment_id' is required." },
    }),
  },
  { schema_name: 'ClaimCreate', description: 'A claim to create for a visit' },
);
export type ClaimRequest = Static<typeof ClaimRequest>;

/** An amount of money in cents, which are exact; undefined if it has fractions of a cent. */
export function toCents(dollars: number): number | undefined {
  // The shortest decimal text of a number is what was sent, unless that had more digits than a number has.
  return /^\d+(\.\d{1,2})?$/.test(String(dollars)) ? Math.round(dollars * 100) : undefined;
}

export function toDollars(cents: number): number {
  return cents / 100;
}

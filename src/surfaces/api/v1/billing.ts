import { Type } from 'typebox';
import { success } from '../../../model/fields.ts';
import { createClaim } from '../../../product/writes/billing/claim.create.ts';
import { postPayment } from '../../../product/writes/billing/payment.post.ts';
import { writeEndpoint } from '../writeEndpoint.ts';

export const paymentsCreate = writeEndpoint(postPayment, {
  id: 'payments.create',
  group: 'Billing',
  method: 'POST',
  path: '/v1/payments',
  summary: 'Post a payment',
  description:
    'Adds a payment to the patient’s ledger in the EMR. A payment is posted once: after a lost response of the EMR, the service looks it up before it sends anything again. A `reference_number` that the patient already has is accepted with a `warning`. There are no refunds: the guide *Correct a write* says how a wrong payment is corrected in the EMR.',
  response: Type.Object({
    success,
    message: Type.String(),
    payment_id: Type.String(),
    job_id: Type.Integer(),
    warning: Type.Optional(
      Type.String({
        description:
          'Present if an earlier payment of the patient, other than a failed one, has the same reference_number',
        examples: ['A payment of this patient with this reference_number was sent before.'],
      }),
    ),
  }),
  errors: [
    'operation_not_offered',
    'unsupported_field',
    'patient_not_found',
    'location_not_found',
    'location_inactive',
    'first_sync_pending',
  ],
  events: ['payment.posted', 'payment.failed'],
});

export const claimsCreate = writeEndpoint(createClaim, {
  id: 'claims.create',
  group: 'Claims and orders',
  method: 'POST',
  path: '/v1/claims',
  summary: 'Create a claim',
  description:
    'Creates the claim of a visit in the EMR, from what the visit’s record contains. An appointment has one claim: while one is being created, and until it is void, another request is 409 with its `claim_id`. The claim is in `GET /v1/claims` as soon as `claim.created` is sent.',
  accepted_status: 202,
  response: Type.Object({
    success,
    message: Type.String(),
    claim_id: Type.String(),
    appointment_id: Type.String(),
    job_id: Type.Integer(),
  }),
  errors: [
    'restricted_operation',
    'operation_not_offered',
    'appointment_not_found',
    'appointment_not_in_emr',
    'claim_exists',
    'first_sync_pending',
  ],
  events: ['claim.created', 'claim.failed'],
  found_in: { appointment_id: 'sandbox#/appointment_id' },
});

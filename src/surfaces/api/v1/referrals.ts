import { Type } from 'typebox';
import { success } from '../../../model/fields.ts';
import { createReferral } from '../../../product/writes/referrals/referral.create.ts';
import { createReferringProvider } from '../../../product/writes/referrals/referringProvider.create.ts';
import { writeEndpoint } from '../writeEndpoint.ts';

export const referringProvidersCreate = writeEndpoint(createReferringProvider, {
  id: 'referring-providers.create',
  group: 'Practice',
  method: 'POST',
  path: '/v1/referring-providers',
  summary: 'Create a referring provider',
  description:
    'Adds a provider outside of the practice to the EMR. The check digit of the NPI is verified at once, the rest by the EMR. When the event is sent, GET /v1/referring-providers contains the provider.',
  response: Type.Object({
    success,
    message: Type.String(),
    referring_provider_id: Type.String(),
    job_id: Type.Integer(),
  }),
  errors: ['operation_not_offered', 'unsupported_field'],
  events: ['referring_provider.created', 'referring_provider.failed'],
});

export const referralsCreate = writeEndpoint(createReferral, {
  id: 'referrals.create',
  group: 'Referrals',
  method: 'POST',
  path: '/v1/referrals',
  summary: 'Create a referral',
  description:
    'Creates a referral in the EMR and adds its documents. A body may have 25 MB, and a client may send 4 such requests at once. If the EMR does not take a document, the referral stays and the event is `referral.created_partial`.',
  quota: 'referral_documents',
  response: Type.Object({
    success,
    message: Type.String(),
    referral_id: Type.String(),
    job_id: Type.Integer(),
  }),
  errors: [
    'restricted_operation',
    'operation_not_offered',
    'unsupported_field',
    'document_too_large',
    'document_over_emr_limit',
    'document_type_unsupported',
    'document_broken',
    'document_script_refused',
    'document_action_refused',
    'document_attachment_refused',
    'patient_not_found',
    'provider_not_found',
    'referring_provider_not_found',
    'first_sync_pending',
  ],
  events: ['referral.created', 'referral.created_partial', 'referral.failed'],
});

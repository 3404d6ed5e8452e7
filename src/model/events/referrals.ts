import { Type } from 'typebox';
import { choices } from '../fields.ts';
import { referral_directions, referral_priorities } from '../requests/referrals.ts';
import { type EventKinds, reasons, refusal } from './event.ts';

const referring_provider = {
  referring_provider_id: Type.String(),
  first_name: Type.String(),
  last_name: Type.String(),
  npi: Type.String({ description: 'National Provider Identifier', examples: ['1234567893'] }),
};

const referral = {
  referral_id: Type.String(),
  patient_mrn: Type.String(),
  direction: choices(referral_directions, { description: 'Whether the patient comes to the practice or leaves it' }),
  priority: choices(referral_priorities, { description: 'Priority of the referral' }),
};

const created_referral = {
  ...referral,
  emr_referral_id: Type.String({ description: 'The EMR’s ID of the referral', examples: ['750101'] }),
  document_ids: Type.Array(Type.String(), { description: 'EMR IDs of the documents, in the order of the request' }),
};

export const referral_events = {
  'referral.created': {
    summary: 'The referral is in the EMR with all its documents, and in `GET /v1/referrals`.',
    has_job_id: true,
    has_account_reference: true,
    trigger: { request: 'referral' },
    data: Type.Object(created_referral, {
      schema_name: 'CreatedReferral',
      description: 'A referral that was created in the EMR',
    }),
  },
  'referral.created_partial': {
    summary: 'The referral is in the EMR, but some of its documents are missing.',
    has_job_id: true,
    has_account_reference: true,
    trigger: { request: 'referral_with_documents', fault: refusal('add_referral_document') },
    data: Type.Object({
      ...created_referral,
      missing_documents: Type.Array(
        Type.Object(
          {
            position: Type.Integer({ description: 'Position in `documents` of the request, from 0', examples: [0] }),
            filename: Type.String({ description: 'Name of the file', examples: ['referral-letter.pdf'] }),
          },
          { schema_name: 'MissingDocument', description: 'A document that is not in the EMR' },
        ),
        { description: 'The documents that are not in the EMR, or of which it is unknown' },
      ),
      failure_reason: Type.String(),
      reasons,
    }),
  },
  'referral.failed': {
    summary: 'The referral was not created, or the outcome is unknown.',
    has_job_id: true,
    has_account_reference: true,
    trigger: { request: 'referral', fault: refusal('create_referral') },
    data: Type.Object({ ...referral, failure_reason: Type.String(), reasons }),
  },
  'referring_provider.created': {
    summary: 'The referring provider was created in the EMR.',
    has_job_id: true,
    has_account_reference: true,
    trigger: { request: 'referring_provider' },
    data: Type.Object(
      { ...referring_provider, ehr_id: Type.String({ description: 'The EMR’s ID of the referring provider' }) },
      { schema_name: 'CreatedReferringProvider', description: 'A referring provider that was created in the EMR' },
    ),
  },
  'referring_provider.failed': {
    summary: 'The referring provider was not created, or the outcome is unknown.',
    has_job_id: true,
    has_account_reference: true,
    trigger: { request: 'referring_provider', fault: refusal('create_referring_provider') },
    data: Type.Object({ ...referring_provider, failure_reason: Type.String(), reasons }),
  },
} as const satisfies EventKinds;

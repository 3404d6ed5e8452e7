import type { Referral } from '../../model/records/referrals.ts';
import { ReferralSource } from '../../model/records/referrals.ts';
import { ReferralRequest } from '../../model/requests/referrals.ts';
import { samplePdf } from './documents.ts';
import {
  activeRecord,
  collect,
  type Declarations,
  type EmrWrite,
  missing_id,
  requestFields,
  skip,
  type Written,
} from './operation.ts';

export type ReferralOperations = {
  getReferral: (ehr_id: string) => Promise<ReferralSource | undefined>;
  createReferral: EmrWrite<NewReferral, Written>;
  addReferralDocument: EmrWrite<NewReferralDocument, Written>;
};

export type NewReferral = {
  patient_ehr_id: string;
  /** null: nobody. */
  from_provider_ehr_id: string | null;
  to_provider_ehr_id: string | null;
  direction: 'incoming' | 'outgoing';
  priority: NonNullable<Referral['priority']>;
  reason: string;
  diagnosis_codes: string[];
};

export type NewReferralDocument = {
  referral_ehr_id: string;
  file_name: string;
  type: 'application/pdf' | 'image/jpeg' | 'image/png';
  content: Buffer;
};

export const referral_operations = {
  getReferral: {
    consent: 'referrals',
    result: ReferralSource,
    sample: async (env) => {
      const [first] = await env.rows('listReferrals');
      return [(first ?? skip('the EMR has no referrals')).ehr_id];
    },
    missing: [missing_id],
  },
  createReferral: {
    consent: 'referrals',
    effect: { action: 'create', resource: 'referral' },
    fields: requestFields(ReferralRequest, { diagnosis_codes: { adds: { diagnosis_codes: ['J06.9'] } } }, [
      'documents',
    ]),
    sample: {
      input: async (env) => ({
        patient_ehr_id: (await env.testPatient()).ehr_id,
        from_provider_ehr_id: (await activeRecord(env, 'listReferringProviders')).ehr_id,
        to_provider_ehr_id: (await activeRecord(env, 'listProviders')).ehr_id,
        direction: 'incoming',
        priority: 'routine',
        reason: `Certification ${env.uniqueTag()}`,
        diagnosis_codes: [],
      }),
      shown_by: 'getReferral',
      // By its reason: a second one would have another ID.
      count: async (emr, { input: { reason } }) => {
        if (!emr.listReferrals) return 0;
        return (await collect(emr.listReferrals())).filter((each) => each.reason === reason).length;
      },
    },
  },
  addReferralDocument: {
    consent: 'documents',
    effect: { action: 'create', resource: 'document' },
    sample: {
      input: async (env) => ({
        referral_ehr_id: await env.written('createReferral'),
        file_name: 'synthetic referral.pdf',
        type: 'application/pdf',
        content: samplePdf(env.uniqueTag()),
      }),
      shown_by: 'getReferral',
      count: async (emr, { input: { referral_ehr_id }, written }) => {
        const { document_ids = [] } = (await emr.getReferral?.(referral_ehr_id)) ?? {};
        return document_ids.filter((id) => id === written.ehr_id).length;
      },
    },
  },
} satisfies Declarations<ReferralOperations>;

import { documents } from '../../harness/documents.ts';
import { patient } from '../../journeys/support.ts';

/** A patient without seeded referrals. */
export const { mrn, ehr_id: patient_ehr_id } = patient(31);

/** From a referring provider of Larkspur's seed to a provider of the practice. */
export function referralBody(more: object = {}): Record<string, unknown> {
  return {
    patient_mrn: mrn,
    referring_from_provider_ehr_id: '8003',
    referring_to_provider_ehr_id: '501',
    direction: 'incoming',
    priority: 'urgent',
    reason: 'Evaluation of recurring headaches',
    diagnosis_codes: ['G44.209'],
    ...more,
  };
}

export function attach(filename: string, content: Buffer = documents.pdf) {
  return { filename, content_base64: content.toString('base64') };
}

import { randomInt } from 'node:crypto';
import { hasNpiCheckDigit } from '../../../model/requests/referrals.ts';
import { png } from './documents.ts';
import { randomLetters, type Scene, type TriggerRequests } from './scene.ts';

export const referral_requests = {
  referring_provider: async ({ client }) => {
    const body = { first_name: 'Trigger', last_name: `Doctor-${randomLetters()}`, npi: newNpi() };
    return { send: () => client.referringProviders.createAndWait(body) };
  },
  referral: async (scene) => {
    const body = await referral(scene);
    return { send: () => scene.client.referrals.createAndWait(body) };
  },
  referral_with_documents: async (scene) => {
    const documents = ['letter.png', 'results.png'].map((filename) => ({ filename, content_base64: png }));
    const body = { ...(await referral(scene)), documents };
    return { send: () => scene.client.referrals.createAndWait(body) };
  },
} satisfies TriggerRequests;

async function referral({ client, sandbox }: Scene) {
  const { referring_providers } = await client.referringProviders.list({ status: 'active', page_size: 1 });
  return {
    patient_mrn: sandbox.example.patient_mrn,
    referring_from_provider_ehr_id: referring_providers[0]?.ehr_id ?? '0',
    referring_to_provider_ehr_id: sandbox.example.provider_id,
    direction: 'incoming' as const,
    priority: 'routine' as const,
    reason: `Triggered ${randomLetters()}`,
  };
}

function newNpi(): string {
  const digits = `1${randomInt(1e7, 1e8)}`;
  const all = Array.from({ length: 10 }, (_, last) => `${digits}${last}`);
  return all.find(hasNpiCheckDigit) ?? '';
}

import type { Scene, TriggerRequests } from './scene.ts';

export const document_requests = {
  document: async (scene) => ({ send: () => scene.client.documents.createAndWait(document(scene)) }),
} satisfies TriggerRequests;

function document({ sandbox }: Scene) {
  const file = new Blob([Buffer.from(png, 'base64')], { type: 'image/png' });
  return { folder_name: 'Triggered', patient_mrn: sandbox.example.patient_mrn, document: file };
}

/** A picture of one pixel. */
export const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==';

import type { Answer } from '../harness/api.ts';
import { documents } from '../harness/documents.ts';
import type { TestSandbox } from '../harness/sandbox.ts';
import { until } from '../journeys/journey.ts';

export type DocumentForm = {
  /** Sends a form; `undefined` leaves a field out, and `content` null the file. */
  upload(fields?: Record<string, string | undefined>, content?: Buffer | null): Promise<Answer>;
  /** Waits for the event of a document, which no job_id leads to. */
  untilEvent(document_id: string): Promise<Answer['body']>;
};

export function documentForm(world: TestSandbox): DocumentForm {
  const { client_id, client_secret, access_token, base_url, example } = world.sandbox;
  return {
    upload: async (fields = {}, content = documents.pdf) => {
      const form = new FormData();
      const whole = { folder_name: 'Letters', patient_mrn: example.patient_mrn, ...fields };
      for (const [name, value] of Object.entries(whole)) if (value !== undefined) form.set(name, value);
      if (content) form.set('document', new Blob([new Uint8Array(content)]), 'scan.bin');
      const headers = { client_id, client_secret, access_token };
      const answer = await fetch(`${base_url}/v1/documents`, { method: 'POST', headers, body: form });
      return { status: answer.status, headers: answer.headers, body: await answer.json() };
    },
    untilEvent: (document_id) =>
      until(`the event of document ${document_id}`, async () => {
        const { body } = await world.api.call('GET', '/v1/webhook-events?page_size=100');
        return body.webhook_events.find((event: Answer['body']) => event.data.document_id === document_id);
      }),
  };
}

import type { Answer } from '../../harness/api.ts';
import type { TestSandbox } from '../../harness/sandbox.ts';
import { until } from '../../journeys/journey.ts';
import { sendDocument } from '../support/sendDocument.ts';

export type DocumentForm = {
  /** Sends a form; `undefined` leaves a field out, and `content` null the file. */
  upload(fields?: Record<string, string | undefined>, content?: Buffer | null): Promise<Answer>;
  /** Waits for the event of a document, which no job_id leads to. */
  untilEvent(document_id: string): Promise<Answer['body']>;
};

export function documentForm(world: TestSandbox): DocumentForm {
  return {
    upload: (fields, content) => sendDocument(world, fields, content),
    untilEvent: (document_id) =>
      until(`the event of document ${document_id}`, async () => {
        const { body } = await world.api.call('GET', '/v1/webhook-events?page_size=100');
        return body.webhook_events.find((event: Answer['body']) => event.data.document_id === document_id);
      }),
  };
}

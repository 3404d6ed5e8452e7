import type { ApiResponse } from '../../harness/api.ts';
import type { TestSandbox } from '../../harness/sandbox.ts';
import { until } from '../../journeys/support.ts';
import { sendDocument } from '../support/sendDocument.ts';

export type DocumentForm = {
  /** Uploads a document; `undefined` omits a field, and a null `content` omits the file. */
  upload(fields?: Record<string, string | undefined>, content?: Buffer | null): Promise<ApiResponse>;
  /** Waits for the event of a document, which has no `job_id` to look it up by. */
  untilEvent(document_id: string): Promise<ApiResponse['body']>;
};

export function documentForm(fixture: TestSandbox): DocumentForm {
  return {
    upload: (fields, content) => sendDocument(fixture, fields, content),
    untilEvent: (document_id) =>
      until(`the event of document ${document_id}`, async () => {
        const { body } = await fixture.api.call('GET', '/v1/webhook-events?page_size=100');
        return body.webhook_events.find((event: ApiResponse['body']) => event.data.document_id === document_id);
      }),
  };
}

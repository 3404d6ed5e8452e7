import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { documents, pdfOf } from '../harness/documents.ts';
import { startSandbox, type TestSandbox } from '../harness/sandbox.ts';
import { until } from './journey.ts';

let world: TestSandbox;
beforeAll(async () => {
  world = await startSandbox();
});
afterAll(() => world.close());

type Fields = Record<string, string | undefined>;

/** Sends a form; `undefined` leaves a field out, and `content` null the file. */
async function upload(
  fields: Fields = {},
  content: Buffer | null = documents.pdf,
  headers: Record<string, string> = {},
) {
  const form = new FormData();
  const all: Fields = { folder_name: 'Letters/2026', patient_mrn: world.sandbox.example.patient_mrn, ...fields };
  for (const [name, value] of Object.entries(all)) if (value !== undefined) form.set(name, value);
  if (content) form.set('document', new Blob([new Uint8Array(content)], { type: 'text/html' }), '../../evil.html');
  const { client_id, client_secret, access_token, base_url } = world.sandbox;
  const own = { client_id, client_secret, access_token };
  const answer = await fetch(`${base_url}/v1/documents`, {
    method: 'POST',
    headers: { ...own, ...headers },
    body: form,
  });
  return { status: answer.status, headers: answer.headers, body: (await answer.json()) as Record<string, unknown> };
}

async function untilDocumentEvent(document_id: unknown) {
  return until('the event of the document', async () => {
    const { body } = await world.api.call('GET', '/v1/webhook-events?page_size=100');
    return body.webhook_events.find(
      (each: { data: { document_id?: string } }) => each.data.document_id === document_id,
    );
  });
}

const uploadsOf = async () => (await world.owner`SELECT FROM uploads`).length;

describe('a document', () => {
  test.each(Object.entries(documents))(
    'that is a %s arrives in its folder, and is announced without job or account',
    async (_, content) => {
      const { status, body } = await upload(
        { notes: 'n'.repeat(1000), is_reviewed: 'true', template_name: 'Scan' },
        content,
      );
      expect(status).toBe(200);
      expect(body).toStrictEqual({ success: true, message: expect.any(String), document_id: expect.any(String) });
      const event = await untilDocumentEvent(body.document_id);
      expect(event.event_type).toBe('document.uploaded');
      expect(event).not.toHaveProperty('job_id');
      expect(event).not.toHaveProperty('access_token_reference_id');
      expect(event.data).toStrictEqual({
        document_id: body.document_id,
        patient_mrn: world.sandbox.example.patient_mrn,
        folder_name: 'Letters/2026',
      });
      expect(await uploadsOf()).toBe(0);
    },
  );

  test('of a patient the EMR does not know fails, and its content is not kept', async () => {
    const { body } = await upload({ patient_mrn: 'NOBODY' });
    const event = await untilDocumentEvent(body.document_id);
    expect(event.event_type).toBe('document.upload_failed');
    expect(event.data).toStrictEqual({
      document_id: body.document_id,
      patient_mrn: 'NOBODY',
      folder_name: 'Letters/2026',
      failure_reason: "Patient with MRN 'NOBODY' not found.",
    });
    expect(await uploadsOf()).toBe(0);
  });

  test('whose answer is lost stands in the chart once', async () => {
    await world.api.control('POST', '/control/faults', { operation: 'upload_document', kind: 'lose_answer', times: 1 });
    const { body } = await upload();
    expect((await untilDocumentEvent(body.document_id)).event_type).toBe('document.uploaded');
    const applied = (await world.api.ledger()).filter(
      ({ marker, applied }) => applied && marker.startsWith(String(body.document_id)),
    );
    expect(applied).toHaveLength(1);
  });

  test('sent twice with one key is one document; another file under the same key is refused', async () => {
    const key = { 'idempotency-key': 'document-1' };
    const first = await upload({}, documents.png, key);
    const second = await upload({}, documents.png, key);
    expect(second.body).toStrictEqual(first.body);
    expect(second.headers.get('idempotency-replayed')).toBe('true');
    expect((await upload({}, documents.jpeg, key)).status).toBe(422);
  });

  test('of exactly 5 MB is taken, one byte more is not', async () => {
    const whole = await upload({}, pdfOf(5_242_880));
    expect(whole.status).toBe(200);
    expect((await untilDocumentEvent(whole.body.document_id)).event_type).toBe('document.uploaded');
    const more = await upload({}, pdfOf(5_242_881));
    expect(more.status).toBe(413);
    expect(more.body).toMatchObject({ code: 'document_too_large', field: 'document' });
  });

  test('that is something else by its content is refused, whatever it calls itself', async () => {
    const before = await world.owner`SELECT FROM operations`;
    for (const content of ['<html></html>', 'MZ', `${documents.pdf.toString('latin1')}<script>`]) {
      const answer = await upload({}, Buffer.from(content, 'latin1'));
      expect(answer.status).toBe(415);
      expect(answer.body).toMatchObject({ code: 'document_type_unsupported', field: 'document' });
    }
    expect(await world.owner`SELECT FROM operations`).toHaveLength(before.length);
  });

  test.each<[Fields, Buffer | null, number, string]>([
    [{ folder_name: undefined }, documents.pdf, 400, 'Missing required field: folder_name'],
    [{ patient_mrn: undefined }, documents.pdf, 400, 'Missing required field: patient_mrn'],
    [{}, null, 400, 'Missing required field: document'],
    [{ document: 'text' }, null, 400, 'Missing required field: document'],
    [{ notes: 'n'.repeat(1001) }, documents.pdf, 400, 'notes exceeds maximum length of 1000 characters'],
    [{ is_reviewed: 'yes' }, documents.pdf, 400, 'is_reviewed must be one of: true, false'],
    [{ folder_name: '../up' }, documents.pdf, 400, 'folder_name must be folder names separated by forward slashes'],
    [{ folder_name: 'a//b' }, documents.pdf, 400, 'folder_name must be folder names separated by forward slashes'],
    [{ more: '1' }, documents.pdf, 400, 'Unexpected fields in request body: more'],
    [{ emr_assigned_to_id: 'nobody' }, documents.pdf, 404, "Staff member with ID 'nobody' not found."],
  ])('is refused with %o', async (fields, content, status, message) => {
    const answer = await upload(fields, content);
    expect(answer.body.message).toBe(message);
    expect(answer.status).toBe(status);
  });

  test('must come as a form, and a form is for documents only', async () => {
    const as_json = await world.api.call('POST', '/v1/documents', { body: {} });
    expect(as_json.status).toBe(415);
    expect(as_json.body.message).toBe('Content-Type must be multipart/form-data.');
    const form = await world.api.call('POST', '/v1/telephone-encounters', {
      body: '--x--',
      headers: { 'content-type': 'multipart/form-data; boundary=x' },
    });
    expect(form.status).toBe(415);
    const cut = await world.api.call('POST', '/v1/documents', {
      body: '--x\r\ncontent-disposition: form-data; name="a"\r\n\r\nb',
      headers: { 'content-type': 'multipart/form-data; boundary=x' },
    });
    expect(cut.body).toMatchObject({ code: 'form_malformed' });
  });

  test('many at once are all taken, a few in memory at a time', async () => {
    const answers = await Promise.all(Array.from({ length: 24 }, () => upload({}, pdfOf(1_000_000))));
    expect(new Set(answers.map((answer) => answer.status))).toStrictEqual(new Set([200]));
  });
});

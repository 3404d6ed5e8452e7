import { beforeAll, expect, test } from 'vitest';
import { expectApiError } from '../../api/support.ts';
import type { ApiResponse } from '../../harness/api.ts';
import { createPdf, documents } from '../../harness/documents.ts';
import { row } from '../../harness/row.ts';
import type { TestSandbox } from '../../harness/sandbox.ts';
import { sharedSandbox } from '../../harness/sharedSandbox.ts';
import { type Chart, countRows, signInToLarkspur } from '../../journeys/support.ts';
import type { Row } from '../support/emrRecords.ts';
import { type DocumentForm, documentForm } from './documentForm.ts';

let fixture: TestSandbox;
let form: DocumentForm;
let chart: Chart;
beforeAll(async () => {
  fixture = await sharedSandbox();
  form = documentForm(fixture);
  chart = await signInToLarkspur(fixture.sandbox, fixture.api);
});

/** Waits for the upload and returns the document from the chart; each test uses a folder of its own. */
async function filed(folder_name: string, accepted: ApiResponse): Promise<Row> {
  expect(accepted.status, JSON.stringify(accepted.body)).toBe(200);
  expect((await form.untilEvent(accepted.body.document_id)).event_type).toBe('document.uploaded');
  const rows = await chart.list('10001', 'documents');
  const matches = rows.filter(({ folderPath }) => folderPath === folder_name);
  expect(matches).toHaveLength(1);
  return matches[0];
}

/** Uploads with a file name and a declared type, which must not matter. */
async function uploadAs(name: string, type: string, content: Buffer, folder_name: string): Promise<ApiResponse> {
  const { client_id, client_secret, access_token, base_url, example } = fixture.sandbox;
  const body = new FormData();
  body.set('folder_name', folder_name);
  body.set('patient_mrn', example.patient_mrn);
  body.set('document', new Blob([new Uint8Array(content)], { type }), name);
  const headers = { client_id, client_secret, access_token };
  const response = await fetch(`${base_url}/v1/documents`, { method: 'POST', headers, body });
  return { status: response.status, headers: response.headers, body: await response.json() };
}

/** Checks the error response, and that nothing was stored or sent to the EMR. */
async function expectRequestRejected(send: () => Promise<ApiResponse>, status: number, message: RegExp, field: string) {
  const state = async () => [
    await countRows(fixture.owner),
    (await fixture.owner`SELECT FROM uploads`).length,
    (await fixture.api.ledger()).length,
  ];
  const before = await state();
  expectApiError(await send(), status, message, field);
  expect(await state()).toStrictEqual(before);
}

test(row('DEC-270'), async () => {
  for (const [content, contentType] of [
    [documents.pdf, 'application/pdf'],
    [documents.jpeg, 'image/jpeg'],
    [documents.png, 'image/png'],
  ] as const) {
    const folder = `Sniffed/${contentType.replace('/', ' ')}`;
    const document = await filed(folder, await uploadAs('page.html', 'text/html', content, folder));
    expect(document.contentType).toBe(contentType);
    expect(await chart.download('10001', document.documentId)).toStrictEqual(content);
  }
  // Incomplete files are rejected, and so is content after the end of the file.
  for (const [content, name, type] of [
    [Buffer.from('MZ'), 'scan.pdf', 'application/pdf'],
    [documents.png.subarray(0, -4), 'scan.png', 'image/png'],
    [documents.jpeg.subarray(0, 20), 'scan.jpg', 'image/jpeg'],
  ] as const) {
    await expectRequestRejected(() => uploadAs(name, type, content, 'Sniffed/no'), 415, /PDF, JPEG or PNG/, 'document');
  }
  for (const content of [Buffer.from('%PDF-1.4\n'), Buffer.concat([documents.pdf, Buffer.from('<script>')])]) {
    const upload = () => uploadAs('scan.pdf', 'application/pdf', content, 'Sniffed/no');
    await expectRequestRejected(upload, 415, /^document is a PDF that cannot be read: /, 'document');
  }
});

test(row('DEC-271'), async () => {
  for (const bytes of [5_242_879, 5_242_880]) {
    const folder = `Large/${bytes}`;
    const document = await filed(folder, await form.upload({ folder_name: folder }, createPdf(bytes)));
    expect(document.sizeBytes).toBe(bytes);
  }
  for (const bytes of [5_242_881, 6_000_000]) {
    await expectRequestRejected(() => form.upload({}, createPdf(bytes)), 413, /5 MB/, 'document');
  }
});

test(row('DEC-272'), async () => {
  const gif = Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64');
  const tiff = Buffer.from([0x49, 0x49, 0x2a, 0x00, 8, 0, 0, 0]);
  const others = [gif, tiff, 'PK\u0003\u0004', '<svg xmlns="http://www.w3.org/2000/svg"/>', 'Dear doctor,', '\0'];
  for (const content of others) {
    await expectRequestRejected(
      () => form.upload({}, Buffer.from(content as string)),
      415,
      /PDF, JPEG or PNG/,
      'document',
    );
  }
  for (const [kind, content] of Object.entries(documents)) {
    const folder_name = `Kinds/${kind}`;
    await filed(folder_name, await form.upload({ folder_name }, content));
  }
});

test(row('DEC-273'), async () => {
  for (const [is_reviewed, is_high_priority, reviewedFlag, priority] of [
    ['true', 'false', 'Y', 'N'],
    ['false', 'true', 'N', 'H'],
    [undefined, undefined, 'N', 'N'],
  ]) {
    const folder_name = `Flags/${is_reviewed} ${is_high_priority}`;
    const accepted = await form.upload({ folder_name, is_reviewed, is_high_priority });
    expect(await filed(folder_name, accepted)).toMatchObject({ reviewedFlag, priority });
  }
  for (const field of ['is_reviewed', 'is_high_priority']) {
    for (const value of ['yes', 'TRUE', '1']) {
      await expectRequestRejected(() => form.upload({ [field]: value }), 400, new RegExp(`^${field} must be`), field);
    }
  }
});

test(row('DEC-274'), async () => {
  const accepted = await form.upload({ folder_name: 'Jobless' });
  expect(accepted.body).toStrictEqual({ success: true, message: expect.any(String), document_id: expect.any(String) });
  const uploaded = await form.untilEvent(accepted.body.document_id);
  expect(uploaded.event_type).toBe('document.uploaded');
  const failing = await form.upload({ patient_mrn: 'LK999999' });
  const failed = await form.untilEvent(failing.body.document_id);
  expect(failed.event_type).toBe('document.upload_failed');
  for (const event of [uploaded, failed]) {
    expect(event).not.toHaveProperty('job_id');
    expect(event.data).not.toHaveProperty('job_id');
  }
});

test(row('DEC-275'), async () => {
  const [good, bad] = [await form.upload(), await form.upload({ patient_mrn: 'LK999999' })];
  await Promise.all([good, bad].map(({ body }) => form.untilEvent(body.document_id)));
  const listDocumentIds = async (event_type: string) => {
    const { body } = await fixture.api.call('GET', `/v1/webhook-events?event_type=${event_type}&page_size=100`);
    return body.webhook_events.map(({ data }: Row) => data.document_id);
  };
  const [uploaded, failed] = [
    await listDocumentIds('document.uploaded'),
    await listDocumentIds('document.upload_failed'),
  ];
  expect(uploaded).toContain(good.body.document_id);
  expect(uploaded).not.toContain(bad.body.document_id);
  expect(failed).toContain(bad.body.document_id);
  expect(failed).not.toContain(good.body.document_id);
});

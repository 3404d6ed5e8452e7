import { createHash } from 'node:crypto';
import { beforeAll, expect, test } from 'vitest';
import { findAccountByToken } from '../../../src/product/accounts/accounts.ts';
import { uploadDocument } from '../../../src/product/writes/documents/document.upload.ts';
import { createPdf, documents } from '../../harness/documents.ts';
import { row } from '../../harness/row.ts';
import type { TestSandbox } from '../../harness/sandbox.ts';
import { sharedSandbox } from '../../harness/sharedSandbox.ts';
import { type Chart, patient, setFault, signInToLarkspur } from '../../journeys/support.ts';
import { expectRejected } from '../support/expectErrors.ts';
import { sendDocument } from '../support/sendDocument.ts';
import { type DocumentForm, documentForm } from './documentForm.ts';

let fixture: TestSandbox;
let chart: Chart;
let form: DocumentForm;
beforeAll(async () => {
  fixture = await sharedSandbox();
  chart = await signInToLarkspur(fixture.sandbox, fixture.api);
  form = documentForm(fixture);
});

const { mrn, ehr_id } = patient(1);

/** Uploads a document and returns it as the chart has it. */
async function filed(fields: Record<string, string | undefined> = {}, content: Buffer = documents.pdf) {
  const before = await chart.list(ehr_id, 'documents');
  const response = await form.upload(fields, content);
  expect(response.status, JSON.stringify(response.body)).toBe(200);
  const event = await form.untilEvent(response.body.document_id);
  expect(event.event_type).toBe('document.uploaded');
  const known = before.map(({ documentId }) => documentId);
  const added = (await chart.list(ehr_id, 'documents')).filter(({ documentId }) => !known.includes(documentId));
  expect(added).toHaveLength(1);
  return { ...added[0], accepted: response.body, event };
}

async function expectRequestRejected(
  fields: Record<string, string | undefined>,
  refused: { status?: number; message: string | RegExp; field: string; code?: string },
  content: Buffer | null = documents.pdf,
): Promise<void> {
  await expectRejected(fixture, () => form.upload(fields, content), refused);
  expect(await fixture.owner`SELECT FROM uploads`).toHaveLength(0);
}

async function failed(fields: Record<string, string> = {}) {
  await setFault(fixture.api, 'upload_document', 'refuse', { reason: 'The folder is locked.' });
  const { body } = await form.upload(fields);
  return { accepted: body, event: await form.untilEvent(body.document_id) };
}

test(row('DOC-01'), async () => {
  expect((await filed()).patientId).toBe(ehr_id);
  const body = { folder_name: 'Letters', patient_mrn: mrn, document: documents.pdf.toString('base64') };
  const as_json = () => fixture.api.call('POST', '/v1/documents', { body });
  await expectRejected(fixture, as_json, { status: 415, message: 'Content-Type must be multipart/form-data.' });
});

test(row('DOC-02'), async () => {
  expect((await filed({ folder_name: 'Referrals' })).folderPath).toBe('Referrals');
  for (const folder_name of [undefined, '']) {
    await expectRequestRejected(
      { folder_name },
      { message: 'Missing required field: folder_name', field: 'folder_name' },
    );
  }
});

test(row('DOC-03'), async () => {
  const { folderPath, event } = await filed({ folder_name: 'Letters/2026/From hospital' });
  expect(folderPath).toBe('Letters/2026/From hospital');
  expect(event.data.folder_name).toBe('Letters/2026/From hospital');
  for (const folder_name of ['/', 'a//b', '/a', 'a/', '../a', 'a/./b']) {
    const message = 'folder_name must be folder names separated by forward slashes';
    await expectRequestRejected({ folder_name }, { message, field: 'folder_name' });
  }
});

test(row('DOC-04'), async () => {
  expect((await filed({ patient_mrn: mrn })).patientId).toBe(ehr_id);
  for (const patient_mrn of [undefined, '']) {
    await expectRequestRejected(
      { patient_mrn },
      { message: 'Missing required field: patient_mrn', field: 'patient_mrn' },
    );
  }
});

test(row('DOC-05'), async () => {
  const { documentId, sizeBytes } = await filed({}, documents.png);
  expect(sizeBytes).toBe(documents.png.length);
  const content = await chart.download(ehr_id, documentId);
  const sum = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');
  expect(sum(content)).toBe(sum(documents.png));
  const refused = { message: 'Missing required field: document', field: 'document' };
  await expectRequestRejected({}, refused, null);
  await expectRequestRejected({ document: 'a text and no file' }, refused, null);
});

test(row('DOC-06'), async () => {
  const { body } = await fixture.api.call('GET', '/v1/staff');
  const listed: string[] = body.staff.map(({ ehr_id }: { ehr_id: string }) => ehr_id);
  expect(listed).toContain('704');
  expect((await filed({ emr_assigned_to_id: '704' })).assignedTo).toBe('704');
  expect((await filed()).assignedTo).toBeNull();
  expect(listed).not.toContain('799');
  const message = "Staff member with ID '799' not found.";
  await expectRequestRejected({ emr_assigned_to_id: '799' }, { status: 404, message, field: 'emr_assigned_to_id' });
});

test(row('DOC-07'), async () => {
  expect((await filed({ is_reviewed: 'true' })).reviewedFlag).toBe('Y');
  expect((await filed({ is_reviewed: 'false' })).reviewedFlag).toBe('N');
  expect((await filed()).reviewedFlag).toBe('N');
  for (const is_reviewed of ['yes', '1', 'TRUE']) {
    const message = 'is_reviewed must be one of: true, false';
    await expectRequestRejected({ is_reviewed }, { message, field: 'is_reviewed' });
  }
});

test(row('DOC-08'), async () => {
  expect((await filed({ notes: 'Read — “twice” 💊' })).notes).toBe('Read — “twice” 💊');
  expect((await filed()).notes).toBeNull();
});

test(row('DOC-09'), async () => {
  expect((await filed({ is_high_priority: 'true' })).priority).toBe('H');
  expect((await filed({ is_high_priority: 'false' })).priority).toBe('N');
  expect((await filed()).priority).toBe('N');
  for (const is_high_priority of ['yes', '1', 'TRUE']) {
    await expectRequestRejected(
      { is_high_priority },
      { message: /^is_high_priority must be /, field: 'is_high_priority' },
    );
  }
});

test(row('DOC-10'), async () => {
  expect((await filed({ template_name: 'Scan' })).templateName).toBe('Scan');
  expect((await filed()).templateName).toBeNull();
});

test(row('DOC-11'), async () => {
  const { accepted } = await filed();
  expect(accepted).toStrictEqual({
    success: true,
    message: expect.any(String),
    document_id: expect.stringMatching(/^[0-9a-f]{32}$/),
  });
});

test(row('DOC-12'), async () => {
  expect((await filed()).event.event_type).toBe('document.uploaded');
  const before = await chart.list(ehr_id, 'documents');
  expect((await failed()).event.event_type).toBe('document.upload_failed');
  expect(await chart.list(ehr_id, 'documents')).toStrictEqual(before);
});

test(row('LIM-04'), async () => {
  for (const length of [999, 1000]) {
    const notes = '語'.repeat(length);
    expect((await filed({ notes })).notes).toBe(notes);
  }
  await expectRequestRejected(
    { notes: '語'.repeat(1001) },
    { message: 'notes exceeds maximum length of 1000 characters', field: 'notes' },
  );
});

test(row('RUL-19'), async () => {
  const lines = (line_break: string) => `${'a'.repeat(499)}${line_break}${'b'.repeat(498)}${line_break}`;
  for (const line_break of ['\r\n', '\n', '\r']) {
    const notes = `${lines(line_break)}c`;
    expect((await filed({ notes })).notes).toBe(`${lines('\n')}c`);
    await expectRequestRejected(
      { notes: `${lines(line_break)}cc` },
      { message: 'notes exceeds maximum length of 1000 characters', field: 'notes' },
    );
  }
});

test(row('LIM-05'), async () => {
  for (const bytes of [5_242_879, 5_242_880]) expect((await filed({}, createPdf(bytes))).sizeBytes).toBe(bytes);
  const code = 'document_too_large';
  const refused = { status: 413, message: 'document exceeds the maximum size of 5 MB.', field: 'document', code };
  await expectRequestRejected({}, refused, createPdf(5_242_881));
});

test(row('LIM-06'), async () => {
  const types = { pdf: 'application/pdf', jpeg: 'image/jpeg', png: 'image/png' } as const;
  for (const [kind, type] of Object.entries(types)) {
    expect((await filed({}, documents[kind as keyof typeof types])).contentType).toBe(type);
  }
  const code = 'document_type_unsupported';
  const refused = { status: 415, message: 'document must be a PDF, JPEG or PNG file.', field: 'document', code };
  const others = [
    'GIF89a\x01\x00\x01\x00',
    'II*\x00',
    'PK\x03\x04',
    '<html></html>',
    'plain text',
    'RIFF\x00\x00\x00\x00WEBP',
  ];
  for (const content of others) await expectRequestRejected({}, refused, Buffer.from(content, 'latin1'));
});

test(row('EVT-25'), async () => {
  const { accepted, event } = await filed({ folder_name: 'Letters/2026' });
  expect(event.data).toStrictEqual({
    document_id: accepted.document_id,
    patient_mrn: mrn,
    folder_name: 'Letters/2026',
  });
});

test(row('EVT-26'), async () => {
  const { accepted, event } = await failed({ folder_name: 'Letters/2026' });
  expect(event.data).toStrictEqual({
    document_id: accepted.document_id,
    patient_mrn: mrn,
    folder_name: 'Letters/2026',
    failure_reason: 'The folder is locked.',
  });
});

test(row('EVT-34'), async () => {
  for (const { event } of [await filed(), await failed()]) expect(event).not.toHaveProperty('job_id');
});

test(row('EVT-35'), async () => {
  for (const { event } of [await filed(), await failed()])
    expect(event).not.toHaveProperty('access_token_reference_id');
});

test(row('DEC-300'), async () => {
  const { documentId, templateName } = await filed({ template_name: 'Scanned letter' });
  expect(templateName).toBe('Scanned letter');
  const { body } = await fixture.api.callIn({ template_name: 'Telephone call note' });
  const { emr_encounter_id } = (await fixture.api.untilEvent(body.job_id)).data;
  expect((await chart.encounter(emr_encounter_id)).templateName).toBe('Telephone call note');
  const screen = await chart.screen(ehr_id);
  const after = (mark: string, end: string) => screen.split(mark)[1]?.split(end)[0];
  expect(after(`id="encounter-${emr_encounter_id}"`, '</article>')).toContain('Telephone call note');
  expect(after(`/documents/${documentId}"`, '</tr>')).toContain('Scanned letter');
});

test('deletes the stored file when the job finishes, also for an unknown patient', async () => {
  for (const content of Object.values(documents)) {
    await filed({ notes: 'n'.repeat(1000), is_reviewed: 'true', template_name: 'Scan' }, content);
    expect(await fixture.owner`SELECT FROM uploads`).toHaveLength(0);
  }
  const { body } = await form.upload({ patient_mrn: 'NOBODY', folder_name: 'Letters/2026' });
  const event = await form.untilEvent(body.document_id);
  expect(event.event_type).toBe('document.upload_failed');
  expect(event.data).toStrictEqual({
    document_id: body.document_id,
    patient_mrn: 'NOBODY',
    folder_name: 'Letters/2026',
    failure_reason: "Patient with MRN 'NOBODY' not found.",
  });
  expect(await fixture.owner`SELECT FROM uploads`).toHaveLength(0);
});

test('uploads a document once if the response is lost', async () => {
  await setFault(fixture.api, 'upload_document', 'lose_answer');
  const { accepted } = await filed();
  const entries = await fixture.api.ledger();
  expect(entries.filter(({ marker, applied }) => applied && marker.startsWith(accepted.document_id))).toHaveLength(1);
});

test('rejects a PDF with JavaScript unless the setting allows it', async () => {
  const action = '1 0 obj << /S /JavaScript /JS (app.alert\\(1\\)) >> endobj\n';
  const scripted = Buffer.concat([documents.pdf.subarray(0, 9), Buffer.from(action), documents.pdf.subarray(9)]);
  const message = /^document is a PDF that contains JavaScript/;
  const refused = { status: 415, message, field: 'document', code: 'document_script_refused' };
  await expectRequestRejected({}, refused, scripted);
  const account = await findAccountByToken(fixture.ctx, fixture.sandbox.access_token);
  if (!account) throw new Error('The account of the sandbox is missing.');
  const ctx = { ...fixture.ctx, config: { ...fixture.ctx.config, pdf_javascript: true } };
  const body = { folder_name: 'Letters', patient_mrn: mrn, document: 'file' };
  const checked = await uploadDocument.check({ ctx, account, body, files: [scripted] });
  expect(checked.lookups.document_type).toBe('application/pdf');
});

test(row('DAT-05'), async () => {
  const withObjects = (...objects: string[]) => {
    const text = objects.map((each, n) => `${n + 90} 0 obj ${each} endobj\n`).join('');
    return Buffer.concat([documents.pdf.subarray(0, 9), Buffer.from(text, 'latin1'), documents.pdf.subarray(9)]);
  };
  for (const action of ['/Launch /F (a)', '/GoToR /F (//host/a.pdf)', '/SubmitForm', '/ImportData', '/RichMedia']) {
    const refused = { status: 415, message: /^document is a PDF that starts programs/, field: 'document' };
    await expectRequestRejected({}, { ...refused, code: 'document_action_refused' }, withObjects(`<< /S ${action} >>`));
  }
  const program = '<< /Length 6 >>\nstream\nMZ\x90\x00..\nendstream';
  const refused = { status: 415, message: /^document is a PDF with an attached program/, field: 'document' };
  const attached = withObjects('<< /F (a.txt) /EF << /F 91 0 R >> >>', program);
  await expectRequestRejected({}, { ...refused, code: 'document_attachment_refused' }, attached);
});

test(row('DAT-06'), async () => {
  const refused = { status: 415, message: /^document is a PDF that cannot be read: /, field: 'document' };
  const half = documents.pdf.subarray(0, documents.pdf.length / 2);
  await expectRequestRejected({}, { ...refused, code: 'document_broken' }, half);
});

test('replays the response for the same key and file, and rejects another file', async () => {
  const key = { 'idempotency-key': 'document-1' };
  const first = await sendDocument(fixture, {}, documents.png, key);
  const second = await sendDocument(fixture, {}, documents.png, key);
  expect(second.body).toStrictEqual(first.body);
  expect(second.headers.get('idempotency-replayed')).toBe('true');
  expect((await sendDocument(fixture, {}, documents.jpeg, key)).status).toBe(422);
  await form.untilEvent(first.body.document_id);
});

test('rejects an unknown form field, a malformed form, and a form at other endpoints', async () => {
  const message = 'Unexpected fields in request body: more';
  await expectRequestRejected({ more: '1' }, { message, field: 'more' });
  const headers = { 'content-type': 'multipart/form-data; boundary=x' };
  const elsewhere = await fixture.api.call('POST', '/v1/telephone-encounters', { body: '--x--', headers });
  expect(elsewhere.status).toBe(415);
  const truncated = '--x\r\ncontent-disposition: form-data; name="a"\r\n\r\nb';
  const malformed = await fixture.api.call('POST', '/v1/documents', { body: truncated, headers });
  expect(malformed.body).toMatchObject({ code: 'form_malformed' });
});

test('accepts 24 concurrent uploads of 1 MB', async () => {
  const responses = await Promise.all(Array.from({ length: 24 }, () => form.upload({}, createPdf(1_000_000))));
  expect(new Set(responses.map(({ status }) => status))).toStrictEqual(new Set([200]));
});

import { beforeAll, beforeEach, expect, test } from 'vitest';
import { apiAs, expectApiError, expectSchema, newClient } from '../../api/support.ts';
import type { ApiResponse } from '../../harness/api.ts';
import { row } from '../../harness/row.ts';
import type { TestSandbox } from '../../harness/sandbox.ts';
import { sharedSandbox } from '../../harness/sharedSandbox.ts';
import { endPauses, endRetries, patient, setFault, signInToLarkspur, until } from '../../journeys/support.ts';
import { withJobsPaused } from '../support/pauseJobs.ts';
import { type DocumentForm, documentForm } from './documentForm.ts';

let fixture: TestSandbox;
let form: DocumentForm;
beforeAll(async () => {
  fixture = await sharedSandbox();
  form = documentForm(fixture);
});
beforeEach(() => fixture.api.control('DELETE', '/control/faults'));

const get = (id: string, api = fixture.api) => api.call('GET', `/v1/documents/${id}`);

async function readDocument(id: string): Promise<ApiResponse['body']> {
  const response = await get(id);
  expectSchema('documents.get', response);
  return response.body.document;
}

test(row('BYI-04'), async () => {
  const fields = { patient_mrn: patient(2).mrn, folder_name: 'Letters' };
  const id = await withJobsPaused(fixture, async () => {
    const { document_id } = (await form.upload(fields)).body;
    expect(await readDocument(document_id)).toMatchObject({
      id: document_id,
      status: 'pending',
      emr_document_id: null,
      failure_reason: null,
      finished_at: null,
      ...fields,
    });
    return document_id;
  });
  await form.untilEvent(id);
  const document = await readDocument(id);
  expect(document).toMatchObject({ id, status: 'uploaded', failure_reason: null, ...fields });
  expect((await fixture.api.job(document.job_id)).status).toBe('succeeded');
  const chart = await signInToLarkspur(fixture.sandbox, fixture.api);
  const filed = (await chart.list(patient(2).ehr_id, 'documents')).map(({ documentId }) => documentId);
  expect(filed).toContain(document.emr_document_id);
});

test(row('BYI-05'), async () => {
  await setFault(fixture.api, 'upload_document', 'refuse', { reason: 'The folder is locked.' });
  const { document_id } = (await form.upload()).body;
  await form.untilEvent(document_id);
  expect(await readDocument(document_id)).toMatchObject({
    status: 'failed',
    failure_reason: 'The folder is locked.',
    emr_document_id: null,
  });
  await fixture.api.control('DELETE', '/control/faults');
  await setFault(fixture.api, 'upload_document', 'lose_answer');
  await setFault(fixture.api, 'find_receipt', 'error_500', { times: 50 });
  const unknown = (await form.upload()).body.document_id;
  const { job_id } = await readDocument(unknown);
  await until('the response to be lost', async () => (await fixture.api.job(job_id)).error);
  await endRetries(fixture.owner, job_id);
  await endPauses(fixture.owner);
  await form.untilEvent(unknown);
  const unreviewed = await readDocument(unknown);
  expect(unreviewed).toMatchObject({ status: 'needs_review', failure_reason: expect.any(String) });
  // As an operator finds it in the EMR.
  for (const [outcome, status] of [
    ['not_done', 'failed'],
    ['done', 'uploaded'],
  ] as const) {
    await fixture.owner`UPDATE jobs SET review_outcome = ${outcome}, review_note = 'Checked', reviewed_by = 'someone',
      reviewed_at = now() WHERE id = ${job_id}`;
    expect((await readDocument(unknown)).status).toBe(status);
  }
});

test(row('BYI-06'), async () => {
  const { document_id } = (await form.upload()).body;
  await form.untilEvent(document_id);
  const { telephone_encounter_id } = (await fixture.api.callIn({})).body;
  for (const id of ['0'.repeat(32), telephone_encounter_id, 'x']) {
    expectApiError(await get(id), 404, `Document with ID '${id}' not found.`, 'id');
  }
  const client = await newClient(fixture);
  const foreign = apiAs(fixture, {
    ...client,
    access_token: await client.api.link({ user_id: 'documents', org_id: 'documents', staff: 1 }),
  });
  const second = apiAs(fixture, {
    access_token: await fixture.api.link({ user_id: 'documents', org_id: 'documents', staff: 2 }),
  });
  for (const api of [foreign, second]) {
    expectApiError(await get(document_id, api), 404, `Document with ID '${document_id}' not found.`, 'id');
  }
});

import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { findProblems } from '../../src/product/alerts/conditions.ts';
import { readQueueDepth } from '../../src/product/jobs/queueDepth.ts';
import { documents } from '../harness/documents.ts';
import { startSandbox, type TestSandbox } from '../harness/sandbox.ts';
import { infection, type ScannerServer, startScannerServer, stream_bytes_max } from '../harness/servers/scanner.ts';
import { endPauses, untilFailedAttempt } from '../journeys/support.ts';
import { type DocumentForm, documentForm } from '../spec/documents/documentForm.ts';
import { attach, referralBody } from '../spec/referrals/referralRequests.ts';

let fixture: TestSandbox;
let scanner: ScannerServer;
let form: DocumentForm;
beforeAll(async () => {
  scanner = await startScannerServer();
  fixture = await startSandbox({ small: true, env: { DOCUMENT_SCANNER: `tcp://127.0.0.1:${scanner.port}` } });
  form = documentForm(fixture);
});
afterAll(async () => {
  await fixture.close();
  await scanner.close();
});
beforeEach(async () => {
  scanner.behavior = 'scan';
  scanner.scanned.length = 0;
  await fixture.owner`DELETE FROM document_scanner_failures`;
});

/** With a comment of any length, and a marker that the scanner takes for a virus. */
function pdf(comment: string): Buffer {
  const text = documents.pdf.toString('latin1');
  return Buffer.from(
    text
      .replace('%Synthetic', `%Synthetic ${comment}`)
      .replace(/startxref\n\d+/, `startxref\n${text.indexOf('xref') + comment.length + 1}`),
    'latin1',
  );
}

const readStatus = async (id: string) => (await fixture.api.call('GET', `/v1/documents/${id}`)).body.document;
const findAlerts = async () => {
  const { ctx } = fixture;
  const problems = await findProblems(ctx.db.system, await readQueueDepth(ctx.db), ctx);
  return problems.filter(({ code }) => code === 'scanner_unavailable').map(({ summary }) => summary);
};
/** Requests to the EMR that store a document. */
const countSent = async () =>
  (await fixture.api.ledger()).filter(({ operation }) => operation === 'upload_document').length;

test('a document is scanned before it is sent to the EMR', async () => {
  const before = await countSent();
  const { document_id } = (await form.upload({}, pdf('clean'))).body;
  const event = await form.untilEvent(document_id);
  expect(event.event_type).toBe('document.uploaded');
  expect(scanner.scanned.map((content) => content.equals(pdf('clean')))).toStrictEqual([true]);
  expect(await countSent()).toBe(before + 1);
});

test('an infected document is not sent, and its failure says so', async () => {
  const before = await countSent();
  const { document_id } = (await form.upload({}, pdf(infection))).body;
  const event = await form.untilEvent(document_id);
  const reason = 'The document is infected (Test.Infection.UNOFFICIAL). Nothing was sent to the EMR.';
  expect(event).toMatchObject({ event_type: 'document.upload_failed', data: { failure_reason: reason } });
  const document = await readStatus(document_id);
  expect(document).toMatchObject({ status: 'failed', failure_reason: reason });
  expect((await fixture.api.job(document.job_id)).error).toMatchObject({ code: 'document_infected' });
  expect(await countSent()).toBe(before);
  const [left] = await fixture.owner<{ n: number }[]>`SELECT count(*)::int AS n FROM uploads`;
  expect(left?.n).toBe(0);
});

test('nothing of a referral is written if one of its documents is infected', async () => {
  const files = [attach('clean.pdf'), attach('infected.pdf', pdf(infection))];
  const { body } = await fixture.api.call('POST', '/v1/referrals', { body: referralBody({ documents: files }) });
  const event = await fixture.api.untilEvent(body.job_id);
  expect(event.event_type).toBe('referral.failed');
  const job = await fixture.api.job(body.job_id);
  expect(job.error).toMatchObject({
    code: 'document_infected',
    message: expect.stringContaining('Document 2 is infected'),
  });
  expect(job.timeline.filter(({ kind }: { kind: string }) => kind === 'outcome')).toStrictEqual([]);
});

test.each(['drop', 'nonsense'] as const)(
  'while the scanner ends with "%s", a document waits, an alert says so, and it is sent afterwards',
  async (behavior) => {
    const before = await countSent();
    scanner.behavior = behavior;
    const { document_id } = (await form.upload({}, pdf('waiting'))).body;
    const { job_id } = await readStatus(document_id);
    await untilFailedAttempt(fixture.api, job_id);
    expect((await readStatus(document_id)).status).toBe('pending');
    expect((await fixture.api.job(job_id)).error).toMatchObject({ code: 'scanner_unavailable' });
    expect(await findAlerts()).toStrictEqual([]);
    await fixture.owner`UPDATE document_scanner_failures SET since = since - interval '2 minutes'`;
    expect(await findAlerts()).toStrictEqual([
      expect.stringMatching(/^Documents have not been scanned for 2 minutes\. The scanner at/),
    ]);
    // An outage of the scanner is not one of the EMR.
    expect(await fixture.owner`SELECT FROM emr_outages`).toStrictEqual([]);
    expect(await countSent()).toBe(before);

    scanner.behavior = 'scan';
    await endPauses(fixture.owner);
    expect((await form.untilEvent(document_id)).event_type).toBe('document.uploaded');
    expect(await findAlerts()).toStrictEqual([]);
  },
);

test('a document that the scanner refuses for its size waits, although others pass', async () => {
  const { document_id } = (await form.upload({}, pdf('x'.repeat(stream_bytes_max)))).body;
  const { job_id } = await readStatus(document_id);
  await untilFailedAttempt(fixture.api, job_id);
  const other = (await form.upload({}, pdf('small'))).body.document_id;
  await form.untilEvent(other);
  await fixture.owner`UPDATE document_scanner_failures SET since = since - interval '2 minutes'`;
  expect(await findAlerts()).toStrictEqual([expect.stringContaining('Raise its StreamMaxLength.')]);
  expect((await readStatus(document_id)).status).toBe('pending');

  // After a day it fails, and is not sent.
  await fixture.owner`UPDATE jobs SET retry_since = now() - interval '2 hours' WHERE id = ${job_id}`;
  await endPauses(fixture.owner);
  const attempts = (await fixture.api.job(job_id)).attempts;
  await expect
    .poll(async () => (await fixture.api.job(job_id)).attempts, { timeout: 60_000 })
    .toBeGreaterThan(attempts);
  expect((await readStatus(document_id)).status).toBe('pending');
  await fixture.owner`UPDATE jobs SET retry_since = now() - interval '25 hours' WHERE id = ${job_id}`;
  await endPauses(fixture.owner);
  expect((await form.untilEvent(document_id)).event_type).toBe('document.upload_failed');
});

import { beforeAll, expect, test } from 'vitest';
import { createPdf, documents } from '../../harness/documents.ts';
import { fhirAccount } from '../../harness/fhirAccount.ts';
import { row } from '../../harness/row.ts';
import type { TestSandbox } from '../../harness/sandbox.ts';
import { sharedSandbox } from '../../harness/sharedSandbox.ts';
import { type Chart, setFault, signInToLarkspur } from '../../journeys/support.ts';
import { complete } from '../support/completedJobs.ts';
import { expectRejected, not_strings } from '../support/expectErrors.ts';
import { attach, mrn, patient_ehr_id, referralBody } from './referralRequests.ts';

let fixture: TestSandbox;
let chart: Chart;
beforeAll(async () => {
  fixture = await sharedSandbox();
  chart = await signInToLarkspur(fixture.sandbox, fixture.api);
});

const path = '/v1/referrals';
const send = (body: object, headers: Record<string, string> = {}) => fixture.api.call('POST', path, { body, headers });
const create = (more: object = {}) => complete(fixture, path, referralBody(more));
const listed = async (id: string) => {
  const { body } = await fixture.api.call(
    'GET',
    `${path}?start_date=2020-01-01&end_date=2099-12-31&patient_mrn=${mrn}`,
  );
  return body.referrals.find((each: { id: string }) => each.id === id);
};
const inEmr = (ehr_id: string) => chart.read(`/api/referrals/${ehr_id}`);

test(row('RFL-06'), async () => {
  for (const field of [
    ...['patient_mrn', 'referring_from_provider_ehr_id', 'referring_to_provider_ehr_id'],
    ...['direction', 'priority', 'reason'],
  ]) {
    for (const absent of [undefined, null, ' ']) {
      const rejection = { message: `Missing required field: ${field}`, field };
      await expectRejected(fixture, () => send(referralBody({ [field]: absent })), rejection);
    }
    for (const value of not_strings) {
      const rejection = { message: new RegExp(`^${field} `), field };
      await expectRejected(fixture, () => send(referralBody({ [field]: value })), rejection);
    }
  }
  for (const [field, value] of Object.entries({ direction: 'inbound', priority: 'asap' })) {
    await expectRejected(fixture, () => send(referralBody({ [field]: value })), {
      message: new RegExp(`^${field} must be one of`),
      field,
    });
  }
  const unknown = { message: 'Unexpected fields in request body: urgency', field: 'urgency' };
  await expectRejected(fixture, () => send(referralBody({ urgency: 'Soon' })), unknown);
  const stray = { message: 'Unexpected fields in request body: content_base64', field: 'content_base64' };
  await expectRejected(fixture, () => send(referralBody({ content_base64: 'AAAA' })), stray);
});

test(row('RFL-07'), async () => {
  for (const code of ['44.209', 'G4', 'G44.20999', 'headache']) {
    const rejection = { message: /must be an ICD-10 code/, field: 'diagnosis_codes[1]' };
    await expectRejected(fixture, () => send(referralBody({ diagnosis_codes: ['I10', code] })), rejection);
  }
});

test(row('RFL-08'), async () => {
  const from = 'referring_from_provider_ehr_id';
  const to = 'referring_to_provider_ehr_id';
  const outgoing = { direction: 'outgoing', [from]: '501', [to]: '8003' };
  // Each is of the right kind for the other direction.
  for (const [more, field, message] of [
    [{ direction: 'outgoing' }, to, "Referring provider with EMR ID '501' not found."],
    [{ ...outgoing, direction: 'incoming' }, from, "Referring provider with EMR ID '501' not found."],
    [{ [from]: '8999' }, from, "Referring provider with EMR ID '8999' not found."],
    [{ [to]: '599' }, to, "Provider with EMR ID '599' not found."],
    [{ ...outgoing, [from]: '599' }, from, "Provider with EMR ID '599' not found."],
    [{ patient_mrn: 'LK999999' }, 'patient_mrn', 'Patient not found.'],
  ] as const) {
    await expectRejected(fixture, () => send(referralBody(more)), { status: 404, message, field });
  }
  const { event } = await create(outgoing);
  expect(await inEmr(event.data.emr_referral_id)).toMatchObject({
    ...{ direction: 'O', fromProviderId: '501', toProviderId: '8003', patientId: patient_ehr_id },
  });
});

test(row('RFL-09'), async () => {
  const both = { referring_from_provider_ehr_id: '0', referring_to_provider_ehr_id: '0' };
  const message = /cannot both be "0"$/;
  await expectRejected(fixture, () => send(referralBody(both)), { message, field: 'referring_from_provider_ehr_id' });
  const { accepted, event } = await create({ referring_from_provider_ehr_id: '0' });
  expect(await inEmr(event.data.emr_referral_id)).toMatchObject({ fromProviderId: null, toProviderId: '501' });
  const shown = { from_provider_ehr_id: null, from_provider_name: null, to_provider_ehr_id: '501' };
  expect(await listed(accepted.referral_id)).toMatchObject(shown);
});

test(row('RFL-10'), async () => {
  const { accepted, event } = await create({
    documents: [attach('C:\\letters\\letter.pdf'), attach('scan.png', documents.png)],
  });
  expect(accepted).toStrictEqual({
    success: true,
    message: 'Referral creation queued. A webhook event follows on completion.',
    referral_id: expect.stringMatching(/^[0-9a-f]{32}$/),
    job_id: expect.any(Number),
  });
  expect(event.event_type).toBe('referral.created');
  const { emr_referral_id, document_ids } = event.data;
  expect(event.data).toStrictEqual({
    ...{ referral_id: accepted.referral_id, patient_mrn: mrn, direction: 'incoming', priority: 'urgent' },
    ...{ emr_referral_id: expect.any(String), document_ids: [expect.any(String), expect.any(String)] },
  });
  expect(await inEmr(emr_referral_id)).toMatchObject({
    ...{ direction: 'I', priorityCode: 'U', reason: 'Evaluation of recurring headaches', icdCodes: ['G44.209'] },
    documents: [
      { documentId: document_ids[0], fileName: 'letter.pdf', contentType: 'application/pdf' },
      { documentId: document_ids[1], fileName: 'scan.png', contentType: 'image/png' },
    ],
  });
  const expected = {
    ...{ id: accepted.referral_id, ehr_id: emr_referral_id, patient_ehr_id, patient_mrn: mrn, priority: 'urgent' },
    ...{ from_provider_ehr_id: '8003', to_provider_ehr_id: '501', status: 'OPEN', document_ids },
    ...{ diagnosis_codes: ['G44.209'], reason: 'Evaluation of recurring headaches' },
  };
  expect(await listed(accepted.referral_id)).toMatchObject(expected);
  await fixture.api.sync();
  expect(await listed(accepted.referral_id)).toMatchObject(expected);
});

test(row('RFL-11'), async () => {
  const withContent = (content_base64: unknown) =>
    send(referralBody({ documents: [{ filename: 'a', content_base64 }] }));
  const field = 'documents[0].content_base64';
  const text = Buffer.from('Only a text.').toString('base64');
  const type = { status: 415, message: /PDF, JPEG or PNG/, field, code: 'document_type_unsupported' };
  await expectRejected(fixture, () => withContent(text), type);
  const large = createPdf(5_242_881).toString('base64');
  const size = { status: 413, message: /5 MB/, field, code: 'document_too_large' };
  await expectRejected(fixture, () => withContent(large), size);
  const { content_base64: pdf } = attach('a');
  for (const content of [`${pdf.slice(0, -1)}!`, `${pdf}A`, `${pdf} `, `data:application/pdf;base64,${pdf}`, '====']) {
    await expectRejected(fixture, () => withContent(content), { message: /must be base64/, field });
  }
  for (const content of [undefined, null, '', 5]) {
    await expectRejected(fixture, () => withContent(content), { message: /content_base64/, field });
  }
});

test(row('RFL-12'), async () => {
  // As senders that escape slashes write it.
  const files = Array.from({ length: 4 }, (_, n) => createPdf(4_600_000 + n));
  const body = JSON.stringify(referralBody({ documents: files.map((file, n) => attach(`${n}.pdf`, file)) }));
  const escaped = body.replaceAll('/', '\\/');
  expect(escaped.length).toBeGreaterThan(24_000_000);
  const { status, body: accepted } = await fixture.api.call('POST', path, { body: escaped });
  expect(status, JSON.stringify(accepted)).toBe(200);
  const { data } = await fixture.api.untilEvent(accepted.job_id);
  expect(data.document_ids).toHaveLength(4);
  for (const [n, id] of data.document_ids.entries()) {
    const stored = await chart.download(patient_ehr_id, id);
    expect(stored.equals(files[n] ?? Buffer.alloc(0))).toBe(true);
  }
  const larger = JSON.stringify(referralBody({ reason: 'x', documents: [] })).padEnd(25 * 1_048_576 + 1, ' ');
  const limit = { status: 413, message: 'Request body exceeds 25 MB.', code: 'body_too_large' };
  await expectRejected(fixture, () => fixture.api.call('POST', path, { body: larger }), limit);
});

test(row('RFL-13'), async () => {
  await setFault(fixture.api, 'add_referral_document', 'refuse', { reason: 'The folder is closed.' });
  const { accepted, event } = await create({ documents: [attach('first.pdf'), attach('second.png', documents.png)] });
  expect(event.event_type).toBe('referral.created_partial');
  const { data } = event;
  expect(data).toStrictEqual({
    ...{ referral_id: accepted.referral_id, patient_mrn: mrn, direction: 'incoming', priority: 'urgent' },
    ...{ emr_referral_id: expect.any(String), document_ids: [expect.any(String)] },
    missing_documents: [{ position: 0, filename: 'first.pdf' }],
    failure_reason: expect.stringContaining('The folder is closed.'),
    reasons: [{ code: 'emr_refused', description: data.failure_reason }],
  });
  expect((await inEmr(data.emr_referral_id)).documents).toMatchObject([{ fileName: 'second.png' }]);
  expect(await listed(accepted.referral_id)).toMatchObject({ document_ids: data.document_ids });
  expect((await fixture.api.job(accepted.job_id)).status).toBe('partial');
});

test(row('RFL-14'), async () => {
  await setFault(fixture.api, 'create_referral', 'refuse', { reason: 'The chart is closed today.' });
  const { accepted, event } = await create({ documents: [attach('letter.pdf')] });
  expect(event.event_type).toBe('referral.failed');
  expect(event.data).toStrictEqual({
    ...{ referral_id: accepted.referral_id, patient_mrn: mrn, direction: 'incoming', priority: 'urgent' },
    failure_reason: expect.stringContaining('The chart is closed today.'),
    reasons: [{ code: 'emr_refused', description: event.data.failure_reason }],
  });
  expect(await listed(accepted.referral_id)).toBeUndefined();
});

test(row('RFL-15'), async () => {
  await setFault(fixture.api, 'create_referral', 'lose_answer');
  await setFault(fixture.api, 'add_referral_document', 'lose_answer', { times: 2 });
  const { accepted, event } = await create({ documents: [attach('first.pdf'), attach('second.pdf')] });
  expect(event.event_type).toBe('referral.created');
  expect((await inEmr(event.data.emr_referral_id)).documents).toHaveLength(2);
  const entries = await fixture.api.ledger();
  const applied = entries.filter((each) => each.applied && each.marker?.startsWith(accepted.referral_id));
  expect(applied.map(({ operation }) => operation)).toStrictEqual([
    'create_referral',
    'add_referral_document',
    'add_referral_document',
  ]);
});

test(row('RFL-18'), async () => {
  const key = { 'idempotency-key': `referral-${mrn}` };
  const body = referralBody({ documents: [attach('letter.pdf')] });
  const first = await send(body, key);
  const again = await send(body, key);
  expect(again.body).toStrictEqual(first.body);
  expect(again.headers.get('idempotency-replayed')).toBe('true');
  const other = await send(referralBody({ documents: [attach('letter.pdf', documents.jpeg)] }), key);
  expect(other.status).toBe(422);
  await fixture.api.untilEvent(first.body.job_id);
  const jobs = await fixture.owner`SELECT FROM jobs WHERE operation_id = ${first.body.referral_id}`;
  expect(jobs).toHaveLength(1);
});

test(row('RFL-20'), async () => {
  const body = referralBody({ documents: [attach('letter.pdf')] });
  const before = await fixture.owner`SELECT count(*)::int AS n FROM operations`;
  const { status, body: dry } = await fixture.api.call('POST', `${path}?dry_run=true`, { body });
  expect(status, JSON.stringify(dry)).toBe(200);
  expect(dry).toStrictEqual({
    ...{ success: true, dry_run: true, emr_checked: true },
    would: [
      { action: 'create', resource: 'referral', reasons: [] },
      { action: 'create', resource: 'document', reasons: [] },
    ],
  });
  expect(await fixture.owner`SELECT count(*)::int AS n FROM operations`).toStrictEqual(before);
});

test('a referral is refused by name where the EMR does not offer referrals', async () => {
  const { api } = await fhirAccount(fixture);
  const { status, body } = await api.call('POST', path, { body: referralBody() });
  expect([status, body.message]).toStrictEqual([400, 'This EMR does not offer referrals.']);
});

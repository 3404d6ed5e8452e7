import { expect, test } from 'vitest';
import { endpoints } from '../../src/surfaces/api/endpoints.ts';
import { recordReader } from '../../src/surfaces/dashboard/audit/sentences.ts';
import { dashboardEndpoints } from '../../src/surfaces/dashboard/endpoints.ts';
import { link_endpoints } from '../../src/surfaces/linkpage/endpoints.ts';
import { type AuditRecord, groupReads } from '../../web/dashboard/pages/audit/groupReads.ts';

const never = () => {
  throw new Error('Only the declarations are read.');
};
const all = [...endpoints, ...link_endpoints, ...dashboardEndpoints({ live: { open: never }, findSandboxEmr: never })];
const read = recordReader(all);

test('each endpoint’s summary becomes a sentence in the past tense', () => {
  const sentences = all.map(({ id }) => read({ action: id, outcome: '200', patients: 0, detail: null }).sentence);
  for (const sentence of sentences)
    expect(sentence).toMatch(/^(\w+(ed|ied)|Sent|Resent|Set|Reset|Ran|Let|Chose|Withdrew|Read) /);
  expect(sentences.filter((sentence) => /newest first|;/.test(sentence))).toStrictEqual([]);
});

test.each([
  ['patients.list', '200', 32, 'Viewed patients (32 patients)', 'Succeeded'],
  ['dashboard.jobs.run-again', '403', 0, 'Tried to run', 'Denied (403)'],
  ['operator.sign_in', 'signed in', 0, 'Signed in to the dashboard', 'Signed in'],
  ['operator.sign_in', 'password refused', 0, 'Tried to sign in to the dashboard', 'Password refused'],
  ['operator.sign_in', 'inactive', 0, 'Tried to sign in to the dashboard', 'Inactive'],
  ['operator.sign_in', 'sso_role_missing', 0, 'Tried to sign in to the dashboard', 'SSO role missing'],
  ['client.create', 'created', 0, 'Created a client', 'Created'],
  ['keys.rotate', 'done', 0, 'Rotated keys', 'Done'],
  ['erase.organization', 'erased', 0, 'Erased an organization', 'Erased'],
  ['webhook.deliver', '204', 1, 'Sent patient.created to app.example.org (1 patient)', 'Succeeded'],
  ['webhook.deliver', 'no_response', 1, 'Tried to send patient.created to app.example.org (1 patient)', 'No response'],
  ['appointments.list', '200', 0, 'Viewed appointments', 'Succeeded'],
  ['job.patient.create', 'failed', 1, 'Finished the job “New patient” (1 patient)', 'Failed'],
])('%s with the outcome %s is a sentence', (action, outcome, patients, sentence, result) => {
  const detail = action === 'webhook.deliver' ? { event_type: 'patient.created', host: 'app.example.org' } : null;
  const reading = read({ action, outcome, patients, detail });
  expect(reading.sentence).toContain(sentence);
  expect(reading.sentence).not.toContain('first');
  expect(reading.result).toBe(result);
});

test('a read is one however its filters are sent, so that a page that reads again and again is one line', () => {
  const isReading = (action: string) => read({ action, outcome: '200', patients: 2, detail: null }).reads;
  const reading = ['jobs.list', 'jobs.search', 'jobs.patients', 'patients.find', 'audit.search', 'disclosures.search'];
  expect(reading.filter((each) => !isReading(`dashboard.${each}`))).toStrictEqual([]);
  // Data that leaves the service is listed one by one.
  expect(['jobs.export', 'jobs.run-again'].filter((each) => isReading(`dashboard.${each}`))).toStrictEqual([]);
});

test('groups one person’s reads of the same thing per minute, and nothing that changed something or failed', () => {
  const record = (fields: Partial<AuditRecord>): AuditRecord => ({
    ...{ id: '', at: '2031-03-04T10:00:05.000Z', client_id: null, client_name: null, actor_kind: 'operator' },
    ...{ actor: 'ann@example.test', actor_name: 'Ann', account: null, action: 'dashboard.jobs.get', outcome: '200' },
    ...{ request_id: null, job_id: 7, subject: null, patients: 1, detail: null, address: null, position: 1 },
    ...{ sentence: 'Viewed a job', result: 'Succeeded', failed: false, reads: true },
    ...fields,
  });
  const records = [
    record({ id: '1' }),
    record({ id: '2', at: '2031-03-04T10:00:59.999Z' }),
    record({ id: '3', actor: 'ben@example.test' }),
    record({ id: '4', job_id: 8 }),
    record({ id: '5' }),
    record({ id: '6', at: '2031-03-04T10:01:00.000Z' }),
    record({ id: '7', failed: true }),
    record({ id: '8', failed: true }),
    record({ id: '9', reads: false }),
    record({ id: '10', reads: false }),
    record({ id: '11', patients: 20 }),
  ];
  const groups = groupReads(records).map((group) => group.records.map(({ id }) => id));
  expect(groups).toStrictEqual([['1', '2', '5'], ['3'], ['4'], ['6'], ['7'], ['8'], ['9'], ['10'], ['11']]);
});

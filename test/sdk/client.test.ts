import { randomUUID } from 'node:crypto';
import { beforeAll, expect, test } from 'vitest';
import { Chartwire } from '../../sdk/src/client.ts';
import {
  AuthenticationError,
  JobFailedError,
  LoginRequiredError,
  NotFoundError,
  TimeoutError,
  ValidationError,
} from '../../sdk/src/errors.ts';
import { documents } from '../harness/documents.ts';
import type { TestSandbox } from '../harness/sandbox.ts';
import { sharedSandbox } from '../harness/sharedSandbox.ts';
import { withJobsPaused } from '../spec/support/pauseJobs.ts';

let fixture: TestSandbox;
let client: Chartwire;
beforeAll(async () => {
  fixture = await sharedSandbox();
  const { base_url, client_id, client_secret, access_token } = fixture.sandbox;
  client = new Chartwire({
    baseUrl: base_url,
    clientId: client_id,
    clientSecret: client_secret,
    accessToken: access_token,
  });
});

const person = () => ({
  first_name: 'Sdk',
  last_name: `Testpatient${randomUUID().replace(/[^a-z]/g, '')}`,
  dob: '1990-01-31',
  sex: 'female' as const,
  phone: '315-555-0142',
});

test('creates a patient and waits for it', async () => {
  const created = await client.patients.createAndWait(person());
  expect(created.type).toBe('patient.created');
  expect(created.data.mrn).toMatch(/^LK/);
  const { patients } = await client.patients.list({ mrn: created.data.mrn });
  expect(patients).toMatchObject([{ id: created.data.patient_id, status: 'active' }]);
});

test('a write that fails later throws its failure code and reasons', async () => {
  const twin = person();
  await client.patients.createAndWait(twin);
  const error = await client.patients.createAndWait(twin).catch((each: unknown) => each);
  expect(error).toBeInstanceOf(JobFailedError);
  expect(error).toMatchObject({
    code: 'duplicate_patient',
    outcome: 'failed',
    reasons: [{ code: 'duplicate_patient' }],
    event: { type: 'patient.failed' },
  });
});

test('a failure has its reason as a code and in the words that list the medications', async () => {
  const { patient_mrn, provider_id, location_id, assigned_to_id } = fixture.sandbox.example;
  const call = {
    patient_mrn,
    provider_id,
    location_id,
    assigned_to_id,
    reason: 'Refill',
    refill_medication_name: 'Nosuchdrug',
  };
  const error = await client.telephoneEncounters.createAndWait(call).catch((each: unknown) => each);
  expect(error).toMatchObject({
    code: 'medication_not_found',
    reasons: [{ code: 'medication_not_found', description: expect.stringMatching(/mg/) }],
  });
});

test('goes through all pages of a list, or one page', async () => {
  const page = await client.claims.list({ page_size: 25 });
  expect(page.claims).toHaveLength(25);
  const ids = new Set<string>();
  for await (const claim of client.claims.list({ page_size: 25 })) ids.add(claim.id);
  expect(ids.size).toBe(page.pagination.total_count);
  expect(page.pagination.total_pages).toBeGreaterThan(2);
  const names: string[] = [];
  for await (const provider of client.providers.list()) names.push(provider.name);
  expect(names.length).toBeGreaterThan(1);
});

test('goes through all pages of a search, whose filters are in the body', async () => {
  const filters = { last_name: 'a', page_size: 10 };
  const searched: string[] = [];
  for await (const { id } of client.patients.search(filters)) searched.push(id);
  const listed: string[] = [];
  for await (const { id } of client.patients.list(filters)) listed.push(id);
  expect(listed.length).toBeGreaterThan(20);
  expect(searched).toStrictEqual(listed);
});

test('walks a list by cursor, in the order of IDs', async () => {
  const page = await client.claims.list({ cursor: '', page_size: 25 });
  expect(page.pagination).toStrictEqual({ page_size: 25, next_cursor: expect.any(String) });
  const ids: string[] = [];
  for await (const claim of client.claims.list({ cursor: '', page_size: 25 })) ids.push(claim.id);
  expect(ids).toStrictEqual([...ids].sort());
  expect(ids.length).toBe((await client.claims.list()).pagination.total_count);
});

test('goes through a list with a cursor', async () => {
  await client.patients.createAndWait(person());
  await client.patients.createAndWait(person());
  const ids: number[] = [];
  for await (const { job_id } of client.jobs.list({ page_size: 1, type: 'patient.create' })) ids.push(job_id);
  const { jobs } = await client.jobs.list({ page_size: 100, type: 'patient.create' });
  expect(jobs.length).toBeGreaterThan(1);
  // Other tests of the sandbox may have created more than a page of them.
  expect(ids.slice(0, jobs.length)).toStrictEqual(jobs.map(({ job_id }) => job_id));
  expect(new Set(ids).size).toBe(ids.length);
});

test('uploads a document and finds its event without a job ID', async () => {
  const uploaded = await client.documents.createAndWait({
    folder_name: 'Referrals',
    patient_mrn: fixture.sandbox.example.patient_mrn,
    document: new File([new Uint8Array(documents.pdf)], 'referral.pdf'),
  });
  expect(uploaded).toMatchObject({ type: 'document.uploaded', data: { folder_name: 'Referrals' } });
});

test('a nested resource has its path parameters first', async () => {
  const { patient_mrn } = fixture.sandbox.example;
  const added = await client.patients.insurances.createAndWait(patient_mrn, {
    member_id: 'SDK1',
    insurance_name: 'Examplecare Gold',
  });
  expect(added.data).toMatchObject({ patient_mrn, member_id: 'SDK1' });
});

test('errors are typed by code, with field and request ID', async () => {
  const { sex: _sex, ...incomplete } = person();
  // @ts-expect-error: sex is required
  const missing = await client.patients.create(incomplete).catch((each: unknown) => each);
  expect(missing).toBeInstanceOf(ValidationError);
  expect(missing).toMatchObject({
    code: 'missing_field',
    field: 'sex',
    status: 400,
    requestId: expect.stringMatching(/^[0-9a-f]{32}$/),
    errors: [{ field: 'sex', code: 'missing_field', message: 'Missing required field: sex' }],
    remedy: expect.stringMatching(/\.$/),
    docUrl: expect.stringMatching(/#missing_field$/),
  });
  await expect(client.jobs.get('999999999')).rejects.toBeInstanceOf(NotFoundError);
  const stranger = client.forAccount('unknown');
  await expect(stranger.settings.get()).rejects.toBeInstanceOf(AuthenticationError);
  await expect(stranger.settings.get()).rejects.toThrow(/^User not found\. Check accessToken/);
});

test('an expired link throws LoginRequiredError', async () => {
  const access_token = await fixture.api.link({ user_id: 'sdk-expired', staff: 1 });
  await fixture.owner`UPDATE accounts SET status = 'login_required' WHERE user_id = 'sdk-expired'`;
  fixture.ctx.lookups.clear();
  const error = await client
    .forAccount(access_token)
    .settings.get()
    .catch((each: unknown) => each);
  expect(error).toBeInstanceOf(LoginRequiredError);
  expect(error).toMatchObject({ code: 'login_required', status: 403 });
});

test('a wait that takes too long ends, and the job can be waited for again', async () => {
  const { job_id } = await withJobsPaused(fixture, async () => {
    const accepted = await client.patients.create(person());
    const error = await client.jobs.wait(accepted.job_id, { timeoutMs: 300 }).catch((each: unknown) => each);
    expect(error).toBeInstanceOf(TimeoutError);
    expect(error).toMatchObject({ jobId: accepted.job_id });
    return accepted;
  });
  await expect(client.jobs.wait(job_id)).resolves.toMatchObject({ type: 'patient.created' });
});

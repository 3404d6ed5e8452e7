import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Connector } from '../../src/emr/connector.ts';
import { EmrFailure } from '../../src/emr/emrFailure.ts';
import type { Operations } from '../../src/emr/operations/operations.ts';
import type { Api } from '../harness/api.ts';
import { linkFhir } from '../harness/fhir/linkFhir.ts';
import { type FhirServer, startFhirServer } from '../harness/fhir/startFhirServer.ts';
import { newOperator, signInOperator, type TestOperator } from '../harness/operator.ts';
import { startSandbox, type TestSandbox } from '../harness/sandbox.ts';
import { sendDocument } from '../spec/support/sendDocument.ts';
import { until } from './support.ts';

let fixture: TestSandbox;
let server: FhirServer;
let operator: TestOperator;
let api: Api & { access_token: string };
/** The operations that the server refuses as a whole at present. */
const refused = new Set<keyof Operations>();

beforeAll(async () => {
  fixture = await startSandbox({ small: true });
  const connectors = fixture.ctx.connectors as Map<string, Connector>;
  const original = connectors.get('fhir');
  if (!original) throw new Error('There is no FHIR connector.');
  connectors.set('fhir', withRefusals(original));
  server = await startFhirServer({ data: 'small' });
  server.faults.withheld = long_lists;
  operator = await signInOperator(fixture);
  api = await linkFhir(fixture, server, { user_id: 'evidence-user', org_id: 'evidence-practice' });
  await api.sync();
});
afterAll(async () => {
  await fixture?.close();
  await server?.close();
});

/** Withheld, because they make syncs long. */
const long_lists = { Appointment: 'all', ServiceRequest: 'all', Slot: 'all' } as const;

const refusal = 'The server refuses this operation.';

/** The same connector at a server that refuses the operations in `refused`, whatever their input. */
function withRefusals(original: Connector): Connector {
  const failure = () => new EmrFailure('refused', refusal, { code: 'not_permitted', not_offered: true });
  return {
    ...original,
    open: (endpoint, access) => {
      const emr = original.open(endpoint, access);
      const upload = emr.uploadDocument;
      const list = emr.listClaims;
      if (refused.has('uploadDocument') && upload) {
        emr.uploadDocument = { ...upload, send: () => Promise.reject(failure()) };
      }
      if (refused.has('listClaims') && list) {
        // biome-ignore lint/correctness/useYield: it fails before the first page
        emr.listClaims = async function* () {
          throw failure();
        };
      }
      return emr;
    },
  };
}

type Evidence = { capability: string; state: string; detail: string | null; records: number | null };

async function readEvidence(capability: string, user_id = 'evidence-user'): Promise<Evidence | undefined> {
  const { body } = await operator.get('clients/{client}/accounts');
  // biome-ignore lint/suspicious/noExplicitAny: a test reads the fields it expects
  const accounts = body.organizations.flatMap((each: any) => each.accounts);
  const account = accounts.find((each: { user_id: string }) => each.user_id === user_id);
  return account.evidence.find((each: Evidence) => each.capability === capability);
}

const capabilities = async () => (await api.call('GET', '/v1/settings')).body.data.capabilities as string[];

async function accountId(): Promise<string> {
  const [row] = await fixture.owner<{ id: string }[]>`SELECT id FROM accounts WHERE user_id = 'evidence-user'`;
  return row?.id ?? '';
}

async function check(as: TestOperator = operator) {
  return as.post(`clients/{client}/accounts/${await accountId()}/check`);
}

const upload = () => sendDocument(fixture, { patient_mrn: 'MB100001' }, undefined, { access_token: api.access_token });

/** Uploads a document and returns its finished job. */
async function uploaded() {
  const { status, body } = await upload();
  expect(status, JSON.stringify(body)).toBe(200);
  // The response names the document only.
  const [row] = await fixture.owner<{ id: number }[]>`
    SELECT id::int FROM jobs WHERE type = 'document.upload' ORDER BY jobs.id DESC LIMIT 1`;
  return until('the upload to end', async () => {
    const job = await api.job(row?.id ?? 0);
    return job.finished_at !== null && job;
  });
}

test('a list that was synced works, with the number of its records', async () => {
  const { total_count } = (await api.call('GET', '/v1/claims')).body.pagination;
  expect(total_count).toBeGreaterThan(0);
  expect(await readEvidence('listClaims')).toMatchObject({ state: 'works', records: total_count });
});

test('a write is declared until it was used, and then works', async () => {
  expect(await readEvidence('uploadDocument')).toMatchObject({ state: 'declared', records: null });
  expect((await uploaded()).status).toBe('succeeded');
  expect(await readEvidence('uploadDocument')).toMatchObject({ state: 'works' });
});

test('a success that is known already is not written again', async () => {
  const version = async () => {
    const [row] = await fixture.owner<{ version: string }[]>`SELECT xmin::text AS version FROM account_capabilities
      WHERE account_id = ${await accountId()} AND capability = 'uploadDocument'`;
    return row?.version;
  };
  const before = await version();
  await uploaded();
  expect(await version()).toBe(before);
});

describe('an operation that the server refuses as a whole', () => {
  test('is withdrawn at once: the job fails with the reason, and later requests are rejected', async () => {
    refused.add('uploadDocument');
    expect(await uploaded()).toMatchObject({ status: 'failed', error: { code: 'not_permitted', message: refusal } });
    expect(await capabilities()).not.toContain('uploadDocument');
    expect(await capabilities()).toContain('createPatient');
    const rejected = await upload();
    expect(rejected.status).toBe(400);
    expect(rejected.body.code).toBe('operation_not_offered');
    expect(await readEvidence('uploadDocument')).toMatchObject({ state: 'refused', detail: refusal });
  });

  test('stays withdrawn after a sync, even if the server declares something new', async () => {
    server.faults.withheld = { ...long_lists, Flag: 'all' };
    await api.sync();
    expect(await capabilities()).not.toContain('getAlerts');
    expect(await capabilities()).not.toContain('uploadDocument');
    server.faults.withheld = long_lists;
    await api.sync();
    expect(await capabilities()).toContain('getAlerts');
    expect(await capabilities()).not.toContain('uploadDocument');
    expect(await readEvidence('uploadDocument')).toMatchObject({ state: 'refused' });
  });

  test('is offered again after an operator checks, and may be refused again', async () => {
    expect((await check()).status).toBe(200);
    expect(await capabilities()).toContain('uploadDocument');
    expect(await readEvidence('uploadDocument')).toMatchObject({ state: 'declared', detail: null });
    await uploaded();
    expect(await capabilities()).not.toContain('uploadDocument');
    refused.clear();
    await check();
    expect((await uploaded()).status).toBe('succeeded');
    expect(await readEvidence('uploadDocument')).toMatchObject({ state: 'works' });
  });

  test('does not stop a sync, keeps the records, and is not requested again', async () => {
    refused.add('listClaims');
    const before = await fixture.owner`SELECT count(*)::int AS n FROM claims`;
    await api.sync();
    expect(await readEvidence('listClaims')).toMatchObject({ state: 'refused', records: null, detail: refusal });
    const job = await api.job(await api.sync());
    expect(JSON.stringify(job.timeline)).not.toContain(refusal);
    expect(await fixture.owner`SELECT count(*)::int AS n FROM claims`).toEqual(before);
    refused.clear();
    await check();
    await api.sync();
    expect(await readEvidence('listClaims')).toMatchObject({ state: 'works' });
  });
});

describe('a write that a FHIR server refuses as a whole, which the connector remembers', () => {
  const reason = 'The server does not allow this account to send new DocumentReference records.';

  test('is withdrawn, and a sync keeps the reason and the date', async () => {
    server.fail({ kind: 'forbidden', method: 'POST', path: 'DocumentReference', times: 10 });
    expect(await uploaded()).toMatchObject({ status: 'failed', error: { code: 'not_permitted', message: reason } });
    server.reset();
    server.faults.withheld = { ...long_lists, Flag: 'all' };
    const refusal_date = async () => {
      const [row] = await fixture.owner<{ at: Date }[]>`SELECT at FROM account_capabilities
        WHERE account_id = ${await accountId()} AND capability = 'uploadDocument'`;
      return row?.at;
    };
    const before = await refusal_date();
    await api.sync();
    expect(await capabilities()).not.toContain('getAlerts');
    expect(await capabilities()).not.toContain('uploadDocument');
    expect(await readEvidence('uploadDocument')).toMatchObject({ state: 'refused', detail: reason });
    expect(await refusal_date()).toStrictEqual(before);
  });

  test('is offered again after an operator checks', async () => {
    server.faults.withheld = long_lists;
    expect((await check()).status).toBe(200);
    expect(await capabilities()).toContain('uploadDocument');
    expect(await readEvidence('uploadDocument')).toMatchObject({ state: 'declared', detail: null });
    expect((await uploaded()).status).toBe('succeeded');
    await api.sync();
    expect(await readEvidence('uploadDocument')).toMatchObject({ state: 'works' });
  });
});

test('a list that was refused in use is read again after a day', async () => {
  refused.add('listClaims');
  await api.sync();
  refused.clear();
  server.faults.withheld = { ...long_lists, Flag: 'all' };
  await api.sync();
  expect(await capabilities()).not.toContain('listClaims');
  await fixture.owner`UPDATE account_capabilities SET at = at - interval '25 hours' WHERE capability = 'listClaims'`;
  server.faults.withheld = long_lists;
  await api.sync();
  expect(await capabilities()).toContain('listClaims');
  await api.sync();
  expect(await readEvidence('listClaims')).toMatchObject({ state: 'works' });
});

describe('checking again', () => {
  test('is for operators, and audited', async () => {
    const reader = await newOperator(fixture, 'read_only');
    expect((await check(reader)).status).toBe(403);
    const [row] = await fixture.owner<{ n: number }[]>`SELECT count(*)::int AS n FROM audit_records
      WHERE action = 'dashboard.accounts.check' AND subject = ${await accountId()}`;
    expect(row?.n).toBeGreaterThan(0);
  });

  test('reports an EMR that cannot be reached, and keeps what is known', async () => {
    const before = await capabilities();
    server.fail({ kind: 'error_503', path: '/metadata' });
    expect((await check()).status).toBe(503);
    expect(await capabilities()).toStrictEqual(before);
  });

  test('works for an EMR whose servers do not differ', async () => {
    const [own] = await fixture.owner<
      { id: string }[]
    >`SELECT id FROM accounts WHERE user_id = ${fixture.sandbox.user_id}`;
    expect((await operator.post(`clients/{client}/accounts/${own?.id}/check`)).status).toBe(200);
    expect(await readEvidence('listPatients', fixture.sandbox.user_id)).toMatchObject({ state: 'works' });
  });
});

test('linking again keeps what was seen to work, and offers what was refused', async () => {
  refused.add('listClaims');
  await api.sync();
  expect(await capabilities()).not.toContain('listClaims');
  refused.clear();
  await linkFhir(fixture, server, { user_id: 'evidence-user', org_id: 'evidence-practice' });
  expect(await capabilities()).toContain('listClaims');
  expect(await readEvidence('uploadDocument')).toMatchObject({ state: 'works' });
});

test('unlinking removes it', async () => {
  expect((await api.call('DELETE', '/v1/account')).status).toBe(200);
  const rows = await fixture.owner`SELECT FROM account_capabilities WHERE account_id = ${await accountId()}`;
  expect(rows.length).toBe(0);
});

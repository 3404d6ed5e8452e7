import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createStamp } from '../../src/product/audit/auditRecords.ts';
import { sealAudit } from '../../src/product/audit/seals.ts';
import { verifyAudit } from '../../src/product/audit/verification.ts';
import type { ApiResponse } from '../harness/api.ts';
import { signIn, signInOperator } from '../harness/operator.ts';
import { startSandbox, type TestSandbox } from '../harness/sandbox.ts';
import { linkSteps } from '../linking/linkSteps.ts';

let fixture: TestSandbox;
let client_id: string;
beforeAll(async () => {
  fixture = await startSandbox({ small: true });
  const [row] = await fixture.owner<
    { id: string }[]
  >`SELECT id FROM clients WHERE public_id = ${fixture.sandbox.client_id}`;
  client_id = row?.id ?? '';
});
afterAll(() => fixture.close());

type Row = {
  action: string;
  outcome: string;
  actor_kind: string;
  actor: string;
  account_id: string | null;
  job_id: number | null;
  subject: string | null;
  patients: string[];
  detail: Record<string, unknown> | null;
};
const columns = 'action, outcome, actor_kind, actor, account_id, job_id, subject, patients::text[] AS patients, detail';

async function readRecord(response: ApiResponse): Promise<Row | undefined> {
  const rows = await fixture.owner.unsafe<Row[]>(`SELECT ${columns} FROM audit_records WHERE request_id = $1`, [
    response.headers.get('x-request-id') ?? '',
  ]);
  expect(rows.length).toBeLessThan(2);
  return rows[0];
}
const readRecords = (action: string) =>
  fixture.owner.unsafe<Row[]>(`SELECT ${columns} FROM audit_records WHERE action = $1 ORDER BY id`, [action]);

/** Keyed hashes of MRNs, as stored in records. */
const hashMrns = (...mrns: string[]) =>
  mrns.map((mrn) => createStamp(fixture.ctx.system_keys).mark(client_id, mrn)).sort();
const readMrns = async (path: string, list: string, field: string) => {
  const { body } = await fixture.api.call('GET', path);
  return [...new Set<string>(body[list].map((each: Record<string, string>) => each[field]))];
};

describe('a read', () => {
  test('is recorded with exactly the patients of its page', async () => {
    const response = await fixture.api.call('GET', '/v1/patients?page_size=20&page=2');
    const mrns_shown = response.body.patients.map((each: { mrn: string }) => each.mrn);
    expect(mrns_shown).toHaveLength(20);
    expect(await readRecord(response)).toMatchObject({
      action: 'patients.list',
      outcome: '200',
      actor_kind: 'client',
      actor: fixture.sandbox.client_id,
      patients: hashMrns(...mrns_shown),
    });
  });

  test('a read of claims, orders and appointments is recorded with their patients', async () => {
    const [mrn = ''] = await readMrns('/v1/patients?page_size=1', 'patients', 'mrn');
    const claims = await fixture.api.call('GET', '/v1/claims?page_size=10');
    const [claimed] = await fixture.owner<{ mrns: string[] }[]>`
      SELECT array_agg(DISTINCT patient_mrn) AS mrns FROM claims WHERE client_id = ${client_id}
         AND id = ANY (${claims.body.claims.map((each: { id: string }) => each.id)}::uuid[])`;
    expect((await readRecord(claims))?.patients).toStrictEqual(hashMrns(...(claimed?.mrns ?? [])));
    expect((await readRecord(claims))?.patients.length).toBeGreaterThan(0);
    expect((await readRecord(await fixture.api.call('GET', `/v1/orders?patient_mrn=${mrn}`)))?.patients).toStrictEqual(
      hashMrns(mrn),
    );
    const [row] = await fixture.owner<
      { id: string; mrn: string }[]
    >`SELECT id, doc ->> 'patient_mrn' AS mrn FROM appointments LIMIT 1`;
    const appointment = await fixture.api.call('GET', `/v1/appointments/${row?.id}`);
    expect(await readRecord(appointment)).toMatchObject({ subject: row?.id, patients: hashMrns(row?.mrn ?? '') });
  });

  test('a read that searches for an unknown MRN is recorded with that MRN', async () => {
    for (const path of ['/v1/patients?mrn=NOBODY', '/v1/claims?patient_mrn=NOBODY']) {
      expect((await readRecord(await fixture.api.call('GET', path)))?.patients).toStrictEqual(hashMrns('NOBODY'));
    }
  });

  test('a read that is rejected is recorded with its status', async () => {
    const response = await fixture.api.call('GET', '/v1/appointments/LK100001');
    // The path may contain an MRN by mistake, so only ids of ours are stored.
    expect(await readRecord(response)).toMatchObject({ outcome: '404', subject: null, patients: [] });
    const expired = await fixture.api.call('GET', '/v1/patients?page=0');
    expect(await readRecord(expired)).toMatchObject({ action: 'patients.list', outcome: '400' });
  });

  test('a read of an unauthenticated caller is not recorded', async () => {
    const response = await fixture.api.call('GET', '/v1/patients', { headers: { client_secret: 'wrong' } });
    expect(response.status).toBe(401);
    expect(await readRecord(response)).toBeUndefined();
  });
});

describe('a write', () => {
  test('is recorded when accepted, when its job finishes, and when job or event are read', async () => {
    const mrn = fixture.sandbox.example.patient_mrn;
    const accepted = await fixture.api.callIn();
    const { telephone_encounter_id: subject, job_id } = accepted.body;
    const accepted_record = { action: 'telephone-encounters.create', outcome: '200', subject, patients: hashMrns(mrn) };
    expect(await readRecord(accepted)).toMatchObject(accepted_record);
    await fixture.api.untilEvent(job_id);
    const [finished] = await readRecords('job.telephone_encounter.create');
    expect(finished).toMatchObject({
      actor_kind: 'worker',
      outcome: 'succeeded',
      subject,
      job_id,
      patients: hashMrns(mrn),
    });
    for (const path of [`/v1/jobs/${job_id}`, `/v1/webhook-events?job_id=${job_id}`]) {
      expect(await readRecord(await fixture.api.call('GET', path)), path).toMatchObject({ patients: hashMrns(mrn) });
    }
    const { body } = await fixture.api.call('GET', `/v1/webhook-events?job_id=${job_id}`);
    const { id } = body.webhook_events[0];
    const resent = await fixture.api.call('POST', `/v1/webhook-events/${id}/resend`, { body: {} });
    expect(await readRecord(resent)).toMatchObject({ outcome: '200', subject: id, patients: hashMrns(mrn) });
  });

  test('a write that is rejected is recorded with its status and without a job', async () => {
    const [before] = await fixture.owner`SELECT count(*) AS n FROM jobs`;
    const response = await fixture.api.callIn({ provider_id: '599' });
    expect(await readRecord(response)).toMatchObject({
      outcome: '404',
      patients: hashMrns(fixture.sandbox.example.patient_mrn),
    });
    expect((await fixture.owner`SELECT count(*) AS n FROM jobs`)[0]).toStrictEqual(before);
  });

  test('replayed by its key is recorded each time, with the first operation', async () => {
    const headers = { 'idempotency-key': 'audited' };
    const responses = [await fixture.api.callIn({}, headers), await fixture.api.callIn({}, headers)];
    expect(responses.map((each) => each.headers.get('idempotency-replayed'))).toStrictEqual([null, 'true']);
    const [first, second] = await Promise.all(responses.map(readRecord));
    expect(first?.subject).toBe(responses[0]?.body.telephone_encounter_id);
    expect(second).toMatchObject({ outcome: '200', subject: first?.subject ?? '' });
  });

  test('a write that creates a patient is recorded with the new MRN', async () => {
    const body = { first_name: 'Nova', last_name: 'Audited', dob: '1990-05-14', sex: 'female' };
    const created = await fixture.api.call('POST', '/v1/patients', { body });
    const event = await fixture.api.untilEvent(created.body.job_id);
    expect(event.type, JSON.stringify(event.data)).toBe('patient.created');
    const [finished] = await readRecords('job.patient.create');
    expect(finished?.patients).toStrictEqual(hashMrns(event.data.mrn));
    const changed = await fixture.api.call('PATCH', `/v1/patients/${created.body.patient_id}`, {
      body: { phone: '518-555-0123' },
    });
    const { job_id } = changed.body;
    const reported = { subject: created.body.patient_id, job_id, patients: hashMrns(event.data.mrn) };
    expect(await readRecord(changed)).toMatchObject(reported);
    expect(await readRecord(await fixture.api.call('GET', `/v1/jobs/${created.body.job_id}`))).toMatchObject({
      patients: hashMrns(event.data.mrn),
    });
  });

  test('a write that fetches charts is recorded with every patient found', async () => {
    const [listed_first] = (await fixture.api.call('GET', '/v1/patients?page_size=1')).body.patients;
    const body = { search_by: 'dob', dob: listed_first.dob };
    const accepted = await fixture.api.call('POST', '/v1/patients/fetch', { body });
    const { data } = await fixture.api.untilEvent(accepted.body.job_id);
    expect(data.patient_count).toBeGreaterThan(0);
    const mrns = data.patients.map((each: { mrn: string }) => each.mrn);
    expect((await readRecords('job.patient.fetch'))[0]?.patients).toStrictEqual(hashMrns(...mrns));
    const listed = await fixture.api.call('GET', `/v1/webhook-events?job_id=${accepted.body.job_id}`);
    expect((await readRecord(listed))?.patients).toStrictEqual(hashMrns(...mrns));
  });

  test('a sync is one audit record with the record counts', async () => {
    const before = (await readRecords('job.sync')).length;
    await fixture.api.sync();
    const [latest] = (await readRecords('job.sync')).slice(before);
    expect(latest).toMatchObject({ outcome: 'succeeded', patients: [] });
    expect(latest?.detail).toMatchObject({ records: { patients: expect.any(Number), claims: expect.any(Number) } });
  });
});

describe('if recording fails', () => {
  test('reads return an error and writes change nothing', async () => {
    await fixture.owner`REVOKE INSERT ON audit_records FROM chartwire_system, chartwire_service`;
    try {
      const [before] = await fixture.owner`SELECT count(*) AS n FROM jobs`;
      const responses = [
        await fixture.api.call('GET', '/v1/patients'),
        await fixture.api.callIn(),
        await fixture.api.call('PATCH', '/v1/providers/ehr/501', { body: { status: 'inactive' } }),
        await fixture.api.call('GET', '/v1/jobs/999999'),
      ];
      for (const { status, body } of responses) {
        expect([status, body.code]).toStrictEqual([500, 'internal']);
        expect(Object.keys(body).sort()).toStrictEqual([
          ...['code', 'doc_url', 'message', 'remedy', 'request_id', 'success'],
        ]);
      }
      expect((await fixture.owner`SELECT count(*) AS n FROM jobs`)[0]).toStrictEqual(before);
      // Endpoints without patient data continue.
      expect((await fixture.api.call('GET', '/v1/visit-types')).status).toBe(200);
    } finally {
      await fixture.owner`GRANT INSERT ON audit_records TO chartwire_system, chartwire_service`;
    }
    const { body } = await fixture.api.call('GET', '/v1/providers');
    const provider = body.providers.find((each: { ehr_id: string }) => each.ehr_id === '501');
    expect(provider.status).toBe('active');
  });
});

describe('links and operators', () => {
  test('a link is recorded with its user and account', async () => {
    const steps = linkSteps(fixture);
    const link_token = await steps.linkToken({ user_id: 'audited-user', org_id: 'audited-org' });
    expect((await steps.signIn(link_token, 4)).status).toBe(200);
    const linked = (await readRecords('account.link')).at(-1);
    expect(linked).toMatchObject({ actor_kind: 'link', actor: 'audited-user', outcome: 'linked' });
    const [account] = await fixture.owner`SELECT id FROM accounts WHERE user_id = 'audited-user'`;
    expect(linked).toMatchObject({ account_id: account?.id, subject: account?.id });
    // The sandbox's own link, from the first start.
    expect((await readRecords('account.link'))[0]).toMatchObject({ actor: fixture.sandbox.user_id });
    expect((await readRecords('client.create'))[0]).toMatchObject({ actor_kind: 'system', actor: 'sandbox' });
  });

  test('successful and failed sign-ins are recorded, without unknown email addresses', async () => {
    const { dashboard } = fixture.sandbox;
    await signInOperator(fixture);
    for (const email of [dashboard.email, 'secret-typed-here']) {
      expect((await signIn(fixture, { email, password: 'wrong' })).status).toBeGreaterThanOrEqual(400);
    }
    const sign_ins = await readRecords('operator.sign_in');
    expect(sign_ins.map(({ actor_kind, actor, outcome }) => [actor_kind, actor, outcome])).toStrictEqual([
      ['operator', dashboard.email, 'signed in'],
      ['operator', dashboard.email, 'password refused'],
      // The password may have been typed into the email field.
      ['operator', 'unknown', 'password refused'],
    ]);
  });
});

test('afterwards the trail verifies and contains no MRN or name', async () => {
  await sealAudit(fixture.ctx);
  expect(await verifyAudit(fixture.ctx)).toMatchObject({ ok: true, faults: [] });
  const [trail] = await fixture.owner<{ whole: string }[]>`
    SELECT string_agg(row_to_json(audit_records)::text, '') AS whole FROM audit_records`;
  const patients = await fixture.owner<{ mrn: string; name: string }[]>`
    SELECT mrn, doc ->> 'last_name' AS name FROM patients WHERE mrn IS NOT NULL`;
  for (const { mrn, name } of patients) {
    expect(trail?.whole).not.toContain(mrn);
    expect(trail?.whole).not.toContain(name);
  }
});

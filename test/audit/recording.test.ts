import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { sealAudit } from '../../src/audit/sealAudit.ts';
import { openStamp } from '../../src/audit/stamp.ts';
import { verifyAudit } from '../../src/audit/verifyAudit.ts';
import { linkSteps } from '../api/linkSteps.ts';
import type { Answer } from '../harness/api.ts';
import { openOperator, signIn } from '../harness/operator.ts';
import { startSandbox, type TestSandbox } from '../harness/sandbox.ts';

let world: TestSandbox;
let client_id: string;
beforeAll(async () => {
  world = await startSandbox({ small: true });
  const [row] = await world.owner<
    { id: string }[]
  >`SELECT id FROM clients WHERE public_id = ${world.sandbox.client_id}`;
  client_id = row?.id ?? '';
});
afterAll(() => world.close());

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

async function recordOf(answer: Answer): Promise<Row | undefined> {
  const rows = await world.owner.unsafe<Row[]>(`SELECT ${columns} FROM audit_records WHERE request_id = $1`, [
    answer.headers.get('x-request-id') ?? '',
  ]);
  expect(rows.length).toBeLessThan(2);
  return rows[0];
}
const recordsOf = (action: string) =>
  world.owner.unsafe<Row[]>(`SELECT ${columns} FROM audit_records WHERE action = $1 ORDER BY id`, [action]);

/** Patients as records name them. */
const marks = (...mrns: string[]) => mrns.map((mrn) => openStamp(world.ctx.system_keys).mark(client_id, mrn)).sort();
const mrnsOf = async (path: string, list: string, field: string) => {
  const { body } = await world.api.call('GET', path);
  return [...new Set<string>(body[list].map((each: Record<string, string>) => each[field]))];
};

describe('a read', () => {
  test('is recorded with every patient that its page shows, and no other', async () => {
    const answer = await world.api.call('GET', '/v1/patients?page_size=20&page=2');
    const shown = answer.body.patients.map((each: { mrn: string }) => each.mrn);
    expect(shown).toHaveLength(20);
    expect(await recordOf(answer)).toMatchObject({
      action: 'patients.list',
      outcome: '200',
      actor_kind: 'client',
      actor: world.sandbox.client_id,
      patients: marks(...shown),
    });
  });

  test('of claims, orders and appointments names their patients', async () => {
    const [mrn = ''] = await mrnsOf('/v1/patients?page_size=1', 'patients', 'mrn');
    const claims = await world.api.call('GET', '/v1/claims?page_size=10');
    const [claimed] = await world.owner<{ mrns: string[] }[]>`
      SELECT array_agg(DISTINCT patient_mrn) AS mrns FROM claims WHERE client_id = ${client_id}
         AND id = ANY (${claims.body.claims.map((each: { id: string }) => each.id)}::uuid[])`;
    expect((await recordOf(claims))?.patients).toStrictEqual(marks(...(claimed?.mrns ?? [])));
    expect((await recordOf(claims))?.patients.length).toBeGreaterThan(0);
    expect((await recordOf(await world.api.call('GET', `/v1/orders?patient_mrn=${mrn}`)))?.patients).toStrictEqual(
      marks(mrn),
    );
    const [row] = await world.owner<
      { id: string; mrn: string }[]
    >`SELECT id, doc ->> 'patient_mrn' AS mrn FROM appointments LIMIT 1`;
    const appointment = await world.api.call('GET', `/v1/appointments/${row?.id}`);
    expect(await recordOf(appointment)).toMatchObject({ subject: row?.id, patients: marks(row?.mrn ?? '') });
  });

  test('that looks for an MRN and finds nobody still says whom it looked for', async () => {
    for (const path of ['/v1/patients?mrn=NOBODY', '/v1/claims?patient_mrn=NOBODY']) {
      expect((await recordOf(await world.api.call('GET', path)))?.patients).toStrictEqual(marks('NOBODY'));
    }
  });

  test('that is refused is recorded with its status', async () => {
    const answer = await world.api.call('GET', '/v1/appointments/LK100001');
    // What stands in the path may be an MRN by mistake: only an id of ours is kept.
    expect(await recordOf(answer)).toMatchObject({ outcome: '404', subject: null, patients: [] });
    const expired = await world.api.call('GET', '/v1/patients?page=0');
    expect(await recordOf(expired)).toMatchObject({ action: 'patients.list', outcome: '400' });
  });

  test('by a stranger is not: there is nobody to name', async () => {
    const answer = await world.api.call('GET', '/v1/patients', { headers: { client_secret: 'wrong' } });
    expect(answer.status).toBe(401);
    expect(await recordOf(answer)).toBeUndefined();
  });
});

describe('a write', () => {
  test('is recorded when it is accepted, when its job ends, and when either is read', async () => {
    const mrn = world.sandbox.example.patient_mrn;
    const accepted = await world.api.callIn();
    const { telephone_encounter_id: subject, job_id } = accepted.body;
    const asked = { action: 'telephone-encounters.create', outcome: '200', subject, patients: marks(mrn) };
    expect(await recordOf(accepted)).toMatchObject(asked);
    await world.api.untilEvent(job_id);
    const [ended] = await recordsOf('job.telephone_encounter.create');
    expect(ended).toMatchObject({ actor_kind: 'worker', outcome: 'succeeded', subject, job_id, patients: marks(mrn) });
    for (const path of [`/v1/jobs/${job_id}`, `/v1/webhook-events?job_id=${job_id}`]) {
      expect(await recordOf(await world.api.call('GET', path)), path).toMatchObject({ patients: marks(mrn) });
    }
    const { body } = await world.api.call('GET', `/v1/webhook-events?job_id=${job_id}`);
    const { id } = body.webhook_events[0];
    const resent = await world.api.call('POST', `/v1/webhook-events/${id}/resend`, { body: {} });
    expect(await recordOf(resent)).toMatchObject({ outcome: '200', subject: id, patients: marks(mrn) });
  });

  test('that is refused stores neither a job nor a record of one, and is recorded as refused', async () => {
    const [before] = await world.owner`SELECT count(*) AS n FROM jobs`;
    const answer = await world.api.callIn({ provider_id: '599' });
    expect(await recordOf(answer)).toMatchObject({
      outcome: '404',
      patients: marks(world.sandbox.example.patient_mrn),
    });
    expect((await world.owner`SELECT count(*) AS n FROM jobs`)[0]).toStrictEqual(before);
  });

  test('repeated with its key is recorded each time, and named by the operation of the first', async () => {
    const headers = { 'idempotency-key': 'audited once each' };
    const answers = [await world.api.callIn({}, headers), await world.api.callIn({}, headers)];
    expect(answers.map((each) => each.headers.get('idempotency-replayed'))).toStrictEqual([null, 'true']);
    const [first, second] = await Promise.all(answers.map(recordOf));
    expect(first?.subject).toBe(answers[0]?.body.telephone_encounter_id);
    expect(second).toMatchObject({ outcome: '200', subject: first?.subject ?? '' });
  });

  test('of a patient that the EMR names later is found by that MRN', async () => {
    const body = { first_name: 'Nova', last_name: 'Audited', dob: '1990-05-14', sex: 'female' };
    const created = await world.api.call('POST', '/v1/patients', { body });
    const event = await world.api.untilEvent(created.body.job_id);
    expect(event.type, JSON.stringify(event.data)).toBe('patient.created');
    const [ended] = await recordsOf('job.patient.create');
    expect(ended?.patients).toStrictEqual(marks(event.data.mrn));
    const changed = await world.api.call('PATCH', `/v1/patients/${created.body.patient_id}`, {
      body: { phone: '518-555-0123' },
    });
    const { job_id } = changed.body;
    const told = { subject: created.body.patient_id, job_id, patients: marks(event.data.mrn) };
    expect(await recordOf(changed)).toMatchObject(told);
    expect(await recordOf(await world.api.call('GET', `/v1/jobs/${created.body.job_id}`))).toMatchObject({
      patients: marks(event.data.mrn),
    });
  });

  test('that reads charts live names everybody it found', async () => {
    const body = { search_by: 'name', first_name: 'a', last_name: 'Testpatient' };
    const asked = await world.api.call('POST', '/v1/patients/fetch', { body });
    const { data } = await world.api.untilEvent(asked.body.job_id);
    expect(data.patient_count).toBeGreaterThan(0);
    const mrns = data.patients.map((each: { mrn: string }) => each.mrn);
    expect((await recordsOf('job.patient.fetch'))[0]?.patients).toStrictEqual(marks(...mrns));
    const listed = await world.api.call('GET', `/v1/webhook-events?job_id=${asked.body.job_id}`);
    expect((await recordOf(listed))?.patients).toStrictEqual(marks(...mrns));
  });

  test('of a whole sync is one record, with what it brought', async () => {
    const before = (await recordsOf('job.sync')).length;
    await world.api.sync();
    const [latest] = (await recordsOf('job.sync')).slice(before);
    expect(latest).toMatchObject({ outcome: 'succeeded', patients: [] });
    expect(latest?.detail).toMatchObject({ records: { patients: expect.any(Number), claims: expect.any(Number) } });
  });
});

describe('what cannot be recorded', () => {
  test('is not shown, and a change is not made', async () => {
    await world.owner`REVOKE INSERT ON audit_records FROM chartwire_system, chartwire_service`;
    try {
      const [before] = await world.owner`SELECT count(*) AS n FROM jobs`;
      const asked = [
        await world.api.call('GET', '/v1/patients'),
        await world.api.callIn(),
        await world.api.call('PATCH', '/v1/providers/ehr/501', { body: { status: 'inactive' } }),
        await world.api.call('GET', '/v1/jobs/999999'),
      ];
      for (const { status, body } of asked) {
        expect([status, body.code]).toStrictEqual([500, 'internal']);
        expect(Object.keys(body).sort()).toStrictEqual(['code', 'message', 'request_id', 'success']);
      }
      expect((await world.owner`SELECT count(*) AS n FROM jobs`)[0]).toStrictEqual(before);
      // What shows nothing of a patient goes on.
      expect((await world.api.call('GET', '/v1/visit-types')).status).toBe(200);
    } finally {
      await world.owner`GRANT INSERT ON audit_records TO chartwire_system, chartwire_service`;
    }
    const { body } = await world.api.call('GET', '/v1/providers');
    const provider = body.providers.find((each: { ehr_id: string }) => each.ehr_id === '501');
    expect(provider.status).toBe('active');
  });
});

describe('people and commands', () => {
  test('a link names the user it was made for, and the account it came to', async () => {
    const steps = linkSteps(world);
    const link_token = await steps.linkToken({ user_id: 'audited-user', org_id: 'audited-org' });
    expect((await steps.signIn(link_token, 4)).status).toBe(200);
    const linked = (await recordsOf('account.link')).at(-1);
    expect(linked).toMatchObject({ actor_kind: 'link', actor: 'audited-user', outcome: 'linked' });
    const [account] = await world.owner`SELECT id FROM accounts WHERE user_id = 'audited-user'`;
    expect(linked).toMatchObject({ account_id: account?.id, subject: account?.id });
    // The sandbox's own first link, at the installation's first start.
    expect((await recordsOf('account.link'))[0]).toMatchObject({ actor: world.sandbox.user_id });
    expect((await recordsOf('client.create'))[0]).toMatchObject({ actor_kind: 'system', actor: 'sandbox' });
  });

  test('an operator who signs in, or fails to, is recorded; an address that nobody has is not kept', async () => {
    const { dashboard } = world.sandbox;
    await openOperator(world);
    for (const email of [dashboard.email, 'secret-typed-here']) {
      expect((await signIn(world, { email, password: 'wrong' })).status).toBeGreaterThanOrEqual(400);
    }
    const signed = await recordsOf('operator.sign_in');
    expect(signed.map(({ actor_kind, actor, outcome }) => [actor_kind, actor, outcome])).toStrictEqual([
      ['operator', dashboard.email, 'signed in'],
      ['operator', dashboard.email, 'password refused'],
      // Whatever was typed there, it may have been the password.
      ['operator', 'unknown', 'password refused'],
    ]);
  });
});

test('after all of this the trail is whole, and holds neither an MRN nor a name', async () => {
  await sealAudit(world.ctx);
  expect(await verifyAudit(world.ctx)).toMatchObject({ ok: true, faults: [] });
  const [text] = await world.owner<{ whole: string }[]>`
    SELECT string_agg(row_to_json(audit_records)::text, '') AS whole FROM audit_records`;
  const planted = await world.owner<{ mrn: string; name: string }[]>`
    SELECT mrn, doc ->> 'last_name' AS name FROM patients WHERE mrn IS NOT NULL`;
  for (const { mrn, name } of planted) {
    expect(text?.whole).not.toContain(mrn);
    expect(text?.whole).not.toContain(name);
  }
});

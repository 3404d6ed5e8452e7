import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { newId } from '../../src/catalog/ids.ts';
import { agent_user_agent } from '../../src/catalog/version.ts';
import { createStamp } from '../../src/product/audit/auditRecords.ts';
import { sealAudit } from '../../src/product/audit/seals.ts';
import type { AuditEntry } from '../../src/product/context.ts';
import { exportAccounting, findAccountedPatient, readAccounting } from '../../src/product/disclosures/accounting.ts';
import { collectDisclosures, recountDisclosures } from '../../src/product/disclosures/disclosures.ts';
import { newClient } from '../api/support.ts';
import { newOperator, signInOperator, type TestOperator } from '../harness/operator.ts';
import { startSandbox, type TestSandbox } from '../harness/sandbox.ts';
import { startReceiver } from '../harness/servers/receiver.ts';
import { until } from '../journeys/support.ts';
import { addClinicRow, type Row } from '../spec/support/emrRecords.ts';

let fixture: TestSandbox;
let operator: TestOperator;
let client_id: string;
let organization_id: string;
beforeAll(async () => {
  fixture = await startSandbox({ small: true });
  operator = await signInOperator(fixture);
  const [row] = await fixture.owner<{ client_id: string; id: string }[]>`SELECT client_id, id FROM organizations`;
  client_id = row?.client_id ?? '';
  organization_id = row?.id ?? '';
});
afterAll(() => fixture.close());

type Listed = {
  kind: string;
  action: string;
  recipient: string;
  count: number;
  account: string | null;
  org_id: string | null;
  destination: string | null;
  event_type: string | null;
  addresses: string[];
  confirmed: boolean;
};

type Page = { rows: Listed[]; next: string | null; patient: object; collected: { complete: boolean } };

/** A page of the accounting, when everything was collected: a worker may be doing so at the same time. */
async function list(body: object, by: TestOperator = operator): Promise<Page> {
  return until<Page>('the collection', async () => {
    const response = await by.post('clients/{client}/disclosures/search', body);
    expect(response.status, JSON.stringify(response.body)).toBe(200);
    const page: Page = response.body;
    return page.collected.complete ? page : undefined;
  });
}

const of = (mrn: string, more: object = {}) => ({ patient_mrn: mrn, organization_id, page_size: 200, ...more });

/** A new patient in the EMR, whom only this test reads. */
async function addPatient(lastName: string): Promise<Row> {
  const chart = await addClinicRow(fixture, 'patients', { firstName: 'Disclosed', lastName, birthDate: '02/28/1980' });
  await fixture.api.sync();
  return chart;
}

const record = (entry: Partial<AuditEntry>) =>
  fixture.ctx.audit.record({
    ...{ client_id, actor_kind: 'client', actor: 'ci_x', action: 'patients.list', outcome: '200' },
    ...entry,
  } as AuditEntry);

describe('the accounting', () => {
  test('lists a bulk read with its application, account, practice and address, for each patient of the page', async () => {
    const { body } = await fixture.api.call('GET', '/v1/patients?page_size=50');
    expect(body.patients.length).toBeGreaterThan(10);
    for (const { mrn } of [body.patients[0], body.patients.at(-1)]) {
      const { rows, patient } = await list(of(mrn));
      expect(patient).toStrictEqual({ standing: 'stored', merged_charts: 0 });
      expect(rows.find(({ action }) => action === 'patients.list')).toMatchObject({
        ...{ kind: 'read', recipient: 'Sandbox', org_id: fixture.sandbox.org_id, confirmed: true },
        account: fixture.sandbox.access_token_reference_id,
        addresses: ['127.0.0.1'],
      });
    }
  });

  test('counts the same reads of a day in one row', async () => {
    const { mrn } = await addPatient('Polled');
    for (let n = 0; n < 3; n++) await fixture.api.call('GET', `/v1/patients?mrn=${mrn}`);
    await list(of(mrn));
    for (let n = 0; n < 2; n++) await fixture.api.call('GET', `/v1/patients?mrn=${mrn}`);
    const { rows } = await list(of(mrn));
    expect(rows.filter(({ action }) => action === 'patients.list').map(({ count }) => count)).toStrictEqual([5]);
  });

  test('lists what went to a webhook by host and event type, to the EMR, to an agent, and to operators', async () => {
    const receiver = await startReceiver();
    onTestFinished(receiver.close);
    const { mrn } = await addPatient('Everywhere');
    const headers = { access_token: null };
    const hook = { body: { webhook_url: receiver.url }, headers };
    const { webhook_id } = (await fixture.api.call('POST', '/v1/webhook', hook)).body;
    const { job_id } = (await fixture.api.callIn({ patient_mrn: mrn })).body;
    await fixture.api.untilEvent(job_id);
    await until('the delivery', async () => {
      const rows =
        await fixture.owner`SELECT FROM audit_records WHERE action = 'webhook.deliver' AND job_id = ${job_id}`;
      return rows.length > 0;
    });
    await fixture.api.call('DELETE', `/v1/webhook/${webhook_id}`, { headers });
    await fixture.api.call('GET', `/v1/patients?mrn=${mrn}`, { headers: { 'user-agent': agent_user_agent } });
    const support = await newOperator(fixture, 'support', { may_reveal: true });
    const reveal = { kind: 'job', id: String(job_id), reason: 'The practice asked about this call.' };
    expect((await support.post('clients/{client}/reveals', reveal)).status).toBe(200);
    expect((await operator.get(`clients/{client}/jobs/${job_id}`)).status).toBe(200);
    expect((await operator.post('clients/{client}/jobs/export.csv', { mrn })).status).toBe(200);

    const { rows } = await list(of(mrn));
    const find = (kind: string) => rows.filter((row) => row.kind === kind);
    expect(find('event')).toMatchObject([
      {
        ...{ event_type: 'telephone_encounter.created', confirmed: true, endpoint_id: webhook_id, count: 1 },
        destination: new URL(receiver.url).host,
      },
    ]);
    expect(find('emr')).toMatchObject([
      { recipient: 'EMR of the practice', destination: new URL(fixture.sandbox.larkspur.url).host },
    ]);
    expect(find('agent')).toMatchObject([{ action: 'patients.list', count: 1 }]);
    expect(find('reveal')).toMatchObject([{ recipient: support.email, count: 1 }]);
    expect(find('view')).toMatchObject([{ recipient: fixture.sandbox.dashboard.email, action: 'dashboard.jobs.get' }]);
    expect(find('export')).toMatchObject([{ action: 'dashboard.jobs.export' }]);
    // What the application sent is not a disclosure.
    expect(rows.filter(({ action }) => action === 'telephone-encounters.create')).toStrictEqual([]);
    expect((await list(of(mrn, { kind: 'event' }))).rows).toHaveLength(1);
  });

  test('lists an event stream, and an attempt to deliver that the receiver may have read', async () => {
    const mrn = newId();
    await record({ action: 'webhook-events.stream', mrns: [mrn] });
    const detail = { event_id: newId(), event_type: 'patient.created', host: 'hooks.example.org', attempt: 1 };
    const worker = { actor_kind: 'worker', actor: 'worker' } as const;
    await record({
      ...worker,
      action: 'webhook.deliver',
      outcome: 'no_response',
      subject: 'wh_1',
      mrns: [mrn],
      detail,
    });
    const { rows } = await list(of(mrn));
    expect(rows.find(({ kind }) => kind === 'stream')).toMatchObject({ confirmed: true });
    expect(rows.find(({ kind }) => kind === 'event')).toMatchObject({
      ...{ confirmed: false, destination: 'hooks.example.org' },
    });
  });

  test('lists neither refused requests, nor what jobs read from the EMR, nor a look at the accounting', async () => {
    const mrn = newId();
    for (const outcome of ['400', '403', '404', '500']) await record({ outcome, mrns: [mrn] });
    for (const action of ['patients.create', 'patients.update', 'patients.fetch', 'appointments.create']) {
      await record({ action, mrns: [mrn] });
    }
    await record({ actor_kind: 'worker', action: 'job.patient.fetch', outcome: 'succeeded', mrns: [mrn] });
    await record({ actor_kind: 'worker', action: 'job.patient.create', outcome: 'failed', mrns: [mrn] });
    expect((await list(of(mrn))).rows).toStrictEqual([]);
    expect((await list(of(mrn))).rows).toStrictEqual([]);
  });

  test('is paginated without gaps or duplicates, newest first, in a period of days', async () => {
    const mrn = newId();
    const { stamp } = createStamp(fixture.ctx.system_keys);
    const mark = stamp({ client_id, actor_kind: 'client', actor: '', action: 'x', outcome: '', mrns: [mrn] })
      .patients[0];
    await fixture.owner`INSERT INTO disclosures (client_id, patient, organization_id, day, key, kind, action, actor_kind,
        actor, confirmed, addresses, count, first_at, last_at)
      SELECT ${client_id}, ${mark ?? ''}::bigint, ${organization_id}, day, md5(n::text)::uuid, 'read', 'a' || n, 'client', '',
             true, '{}', 1, day, day
        FROM generate_series(0, 4) AS n CROSS JOIN generate_series(current_date - 9, current_date, '1 day') AS day`;
    const paged: Listed[] = [];
    for (let before: string | null | undefined; before !== null; ) {
      const page = await list(of(mrn, { page_size: 7, ...(before && { before }) }));
      paged.push(...page.rows);
      before = page.next;
    }
    const all = (await list(of(mrn))).rows;
    expect(all).toHaveLength(50);
    expect(paged).toStrictEqual(all);
    const [first, last] = [-2, -1].map((days) => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10));
    expect((await list(of(mrn, { from: first, to: last }))).rows).toHaveLength(10);
    const wrong = { ...of(mrn), before: '2031-02-31_x' };
    expect((await operator.post('clients/{client}/disclosures/search', wrong)).body).toMatchObject({
      ...{ code: 'invalid_field', field: 'before' },
    });
  });
});

describe('whose disclosures are listed', () => {
  test('those of charts that were merged into the patient’s are listed under either MRN, also after an erasure', async () => {
    const [old, surviving] = [await addPatient('Absorbed'), await addPatient('Absorbing')];
    await fixture.api.call('GET', `/v1/patients?mrn=${old.mrn}`);
    const path = `/control/patients/${old.patientId}/merge`;
    await fixture.api.control('POST', path, { intoPatientId: surviving.patientId });
    await fixture.api.sync();
    await fixture.api.call('GET', `/v1/patients/${surviving.mrn}/insurances`);
    const actions = async (mrn: string) => (await list(of(mrn))).rows.map(({ action }) => action).sort();
    for (const { mrn } of [old, surviving]) {
      expect(await actions(mrn)).toStrictEqual(['patients.insurances.list', 'patients.list']);
      expect((await list(of(mrn))).patient).toStrictEqual({ standing: 'stored', merged_charts: 1 });
    }
    const [stored] = await fixture.owner<{ id: string }[]>`SELECT id FROM patients WHERE mrn = ${surviving.mrn}`;
    const erase = `clients/{client}/organizations/${organization_id}/patients/${stored?.id}/erase`;
    expect((await operator.post(erase, { dry_run: false })).body).toMatchObject({ erasure: { erased: true } });
    expect(await fixture.owner`SELECT FROM merged_charts WHERE mrn = ${old.mrn}`).toHaveLength(0);
    expect((await list(of(surviving.mrn))).patient).toStrictEqual({ standing: 'erased', merged_charts: 1 });
    expect(await actions(surviving.mrn)).toStrictEqual(['patients.insurances.list', 'patients.list']);
  });

  test('those of a patient with the same MRN in another practice are listed only without a practice', async () => {
    const mrn = newId();
    const access_token = await fixture.api.link({ user_id: 'elsewhere', org_id: 'elsewhere', staff: 5 });
    await fixture.api.call('GET', `/v1/orders?patient_mrn=${mrn}`);
    await fixture.api.call('GET', `/v1/claims?patient_mrn=${mrn}`, { headers: { access_token } });
    const actions = async (body: object) => (await list(body)).rows.map(({ action }) => action).sort();
    expect(await actions(of(mrn))).toStrictEqual(['orders.list']);
    expect(await actions({ patient_mrn: mrn })).toStrictEqual(['claims.list', 'orders.list']);
  });

  test('one linked account can be chosen', async () => {
    const mrn = newId();
    const access_token = await fixture.api.link({ user_id: 'second', staff: 6 });
    await fixture.api.call('GET', `/v1/orders?patient_mrn=${mrn}`);
    await fixture.api.call('GET', `/v1/orders?patient_mrn=${mrn}`, { headers: { access_token } });
    const [account] = await fixture.owner<{ id: string }[]>`SELECT id FROM accounts WHERE user_id = 'second'`;
    expect((await list(of(mrn))).rows).toHaveLength(2);
    const { rows } = await list(of(mrn, { account_id: account?.id }));
    expect(rows).toMatchObject([{ user_id: 'second' }]);
  });

  test('a patient is found by the ID that the patient’s page has', async () => {
    const { mrn } = await addPatient('Identified');
    await fixture.api.call('GET', `/v1/patients?mrn=${mrn}`);
    const [{ id: patient_id } = { id: '' }] = await fixture.owner<{ id: string }[]>`
      SELECT id FROM patients WHERE mrn = ${mrn}`;
    expect((await list({ patient_id, organization_id })).rows).toMatchObject([{ action: 'patients.list' }]);
    const unknown = { patient_id: newId(), organization_id };
    expect((await operator.post('clients/{client}/disclosures/search', unknown)).status).toBe(404);
    expect((await operator.post('clients/{client}/disclosures/search', { patient_id })).body).toMatchObject({
      ...{ code: 'invalid_field', field: 'organization_id' },
    });
    expect((await operator.post('clients/{client}/disclosures/search', { organization_id })).status).toBe(400);
  });
});

describe('a look at the accounting', () => {
  test('needs a permission of its own, and is recorded with the patient, even if it is denied', async () => {
    const { mrn } = await addPatient('Guarded');
    const lacking = await newOperator(fixture, 'owner');
    const permitted = await newOperator(fixture, 'support', { may_see_disclosures: true });
    const path = 'clients/{client}/disclosures/search';
    const denied = await lacking.post(path, of(mrn));
    expect([denied.status, denied.body.code]).toStrictEqual([403, 'disclosures_not_allowed']);
    const exported = await lacking.post('clients/{client}/disclosures/export', { patient_mrn: mrn, format: 'csv' });
    expect(exported.status).toBe(403);
    const seen = await permitted.post(path, of(mrn));
    expect(seen.status).toBe(200);
    for (const response of [denied, exported, seen]) {
      const [row] = await fixture.owner`SELECT cardinality(patients) AS patients, detail::text AS detail
        FROM audit_records WHERE request_id = ${response.headers.get('x-request-id')}`;
      expect(row?.patients).toBe(1);
      expect(row?.detail).not.toContain(mrn);
    }
  });

  test('is permitted by an owner, who can take the permission back', async () => {
    const { id, email, password } = await newOperator(fixture, 'support');
    const look = async () => {
      const own = await signInOperator(fixture, { email, password });
      return (await own.post('clients/{client}/disclosures/search', { patient_mrn: 'X' })).status;
    };
    expect(await look()).toBe(403);
    expect((await operator.patch(`operators/${id}`, { may_see_disclosures: true })).status).toBe(200);
    expect(await look()).toBe(200);
    const session = await signInOperator(fixture, { email, password });
    expect((await operator.patch(`operators/${id}`, { may_see_disclosures: false })).status).toBe(200);
    // It ends the sessions.
    expect((await session.post('clients/{client}/disclosures/search', { patient_mrn: 'X' })).status).toBe(401);
    expect(await look()).toBe(403);
  });

  test('is refused for the clients of others, and with an MRN in the URL', async () => {
    const other = await newClient(fixture);
    const limited = await newOperator(fixture, 'support', {
      may_see_disclosures: true,
      clients: [{ client_id: fixture.sandbox.client_id, role: 'support' }],
    });
    const foreign = await limited.post(`clients/${other.client_id}/disclosures/search`, { patient_mrn: 'X' });
    expect(foreign.status).toBe(404);
    const in_practice = { patient_mrn: 'X', organization_id };
    expect((await operator.post(`clients/${other.client_id}/disclosures/search`, in_practice)).status).toBe(404);
    const url = await operator.post('clients/{client}/disclosures/search?patient_mrn=X', { patient_mrn: 'X' });
    expect(url.status).toBe(400);
  });

  test('shows nothing of another client’s patient with the same MRN', async () => {
    const other = await newClient(fixture);
    const mrn = newId();
    await record({ client_id: other.id, mrns: [mrn] });
    await record({ mrns: [mrn], action: 'orders.list' });
    expect((await list({ patient_mrn: mrn })).rows.map(({ action }) => action)).toStrictEqual(['orders.list']);
  });
});

describe('an export', () => {
  const text = async (format: 'csv' | 'json', mrn: string, page_size: number) => {
    const patient = await findAccountedPatient(fixture.ctx, client_id, mrn, organization_id);
    const filters = { from: '2000-01-01', to: '2100-01-01' };
    let written = '';
    for await (const part of exportAccounting(fixture.ctx, patient, { filters, format, page_size }))
      written += part.text;
    return written;
  };

  test('has all rows as CSV, with formulas of spreadsheets as text, or as JSON, across pages', async () => {
    const mrn = newId();
    for (const actor of ['=cmd()', '+1', '@SUM(A1)', 'plain']) {
      await record({ actor_kind: 'operator', actor, action: 'dashboard.records.get', mrns: [mrn] });
    }
    await list(of(mrn));
    const csv = await text('csv', mrn, 2);
    const lines = csv.trimEnd().split('\r\n');
    expect(lines).toHaveLength(5);
    expect(lines[0]).toMatch(/^"first_at","last_at","count","kind","recipient"/);
    for (const cell of [`"'=cmd()"`, `"'+1"`, `"'@SUM(A1)"`, '"plain"']) expect(csv).toContain(cell);
    const document = JSON.parse(await text('json', mrn, 2));
    expect(document).toMatchObject({ patient: { standing: 'unknown' }, collected: { complete: expect.any(Boolean) } });
    expect(document.disclosures).toHaveLength(4);
    expect(JSON.parse(await text('json', newId(), 2)).disclosures).toStrictEqual([]);
  });

  test('is sent as a file', async () => {
    const { patient_mrn } = fixture.sandbox.example;
    await fixture.api.call('GET', `/v1/patients?mrn=${patient_mrn}`);
    await list(of(patient_mrn));
    const body = { ...of(patient_mrn), format: 'json' };
    const { page_size: _, ...sent } = body;
    const response = await operator.post('clients/{client}/disclosures/export', sent);
    expect(response.headers.get('content-disposition')).toBe('attachment; filename="disclosures.json"');
    expect(response.headers.get('content-type')).toContain('application/json');
    expect(response.body.disclosures[0]).toMatchObject({ recipient: 'Sandbox' });
  });
});

describe('the collection', () => {
  const stored = async (mrn: string) => {
    const { marks } = await findAccountedPatient(fixture.ctx, client_id, mrn, undefined);
    const rows = await fixture.owner<{ count: number }[]>`
      SELECT count FROM disclosures WHERE client_id = ${client_id} AND patient = ANY (${[...marks]}::bigint[])`;
    return rows.reduce((sum, { count }) => sum + count, 0);
  };
  const collectAll = () =>
    until('the collection', async () => {
      await sealAudit(fixture.ctx);
      await collectDisclosures(fixture.ctx);
      const page = await readAccounting(
        fixture.ctx,
        { client_id, marks: ['1'], organization_id },
        { filters: { from: '2000-01-01', to: '2100-01-01' }, page_size: 1 },
      );
      return page.collected.complete;
    });

  test('counts every record once, in small batches, by several processes and after an interruption', async () => {
    const mrn = newId();
    for (let n = 0; n < 12; n++) await record({ mrns: [mrn, newId()] });
    await sealAudit(fixture.ctx);
    // A collection that is rolled back leaves neither rows nor progress.
    await fixture.owner`ALTER TABLE disclosure_progress ADD CONSTRAINT broken CHECK (position < 0) NOT VALID`;
    await expect(collectDisclosures(fixture.ctx)).rejects.toMatchObject({ code: '23514' });
    await fixture.owner`ALTER TABLE disclosure_progress DROP CONSTRAINT broken`;
    await Promise.all([1, 2, 3].map(() => collectDisclosures(fixture.ctx, { batch: 5 })));
    await collectAll();
    expect(await stored(mrn)).toBe(12);
    await collectAll();
    expect(await stored(mrn)).toBe(12);
  });

  test('is not stopped by a text that PostgreSQL cannot represent', async () => {
    const mrn = newId();
    const detail = { reason: 'a\u0000b', event_type: '\u0000' };
    await record({
      actor_kind: 'operator',
      actor: 'o@example.test',
      action: 'dashboard.reveals.create',
      mrns: [mrn],
      detail,
    });
    await collectAll();
    expect(await stored(mrn)).toBe(1);
  });

  test('is compared with the audit log, which shows rows that were changed or removed', async () => {
    const mrn = newId();
    for (let n = 0; n < 3; n++) await record({ mrns: [mrn] });
    await collectAll();
    const patient = await findAccountedPatient(fixture.ctx, client_id, mrn, undefined);
    const recount = () =>
      recountDisclosures(fixture.ctx.db.system.pooled, patient, { position: Number.MAX_SAFE_INTEGER });
    const today = new Date().toISOString().slice(0, 10);
    expect(await recount()).toStrictEqual({ records: 3, days: [] });
    const marks = [...patient.marks];
    await fixture.owner`UPDATE disclosures SET count = 2 WHERE patient = ANY (${marks}::bigint[])`;
    expect(await recount()).toStrictEqual({ records: 3, days: [today] });
    await fixture.owner`DELETE FROM disclosures WHERE patient = ANY (${marks}::bigint[])`;
    expect(await recount()).toStrictEqual({ records: 3, days: [today] });
  });

  // Last: it removes records of the audit log.
  test('continues with the records of a log that was replaced', async () => {
    await collectAll();
    await fixture.owner.begin(async (tx) => {
      await tx`DELETE FROM audit_records WHERE position > 3`;
      await tx`UPDATE audit_records SET position = position + 1000000 WHERE position > 0`;
    });
    const mrn = newId();
    await record({ mrns: [mrn] });
    await fixture.owner`UPDATE audit_records SET position = 2000000, chain = '' WHERE position IS NULL`;
    await collectDisclosures(fixture.ctx);
    expect(await stored(mrn)).toBe(1);
  });
});

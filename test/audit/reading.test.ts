import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { exportChain } from '../../src/product/audit/exports.ts';
import { sealAudit } from '../../src/product/audit/seals.ts';
import { exportAudit } from '../../src/surfaces/dashboard/audit/queries.ts';
import type { AuditRow as AuditRecord } from '../../web/dashboard/service/api.gen.ts';
import { newOperator, signInOperator, type TestOperator } from '../harness/operator.ts';
import { startSandbox, type TestSandbox } from '../harness/sandbox.ts';

let fixture: TestSandbox;
let operator: TestOperator;
let mrn: string;
beforeAll(async () => {
  fixture = await startSandbox({ small: true });
  operator = await signInOperator(fixture);
  const { body } = await fixture.api.call('GET', '/v1/patients?page_size=3');
  mrn = body.patients[1].mrn;
  for (let n = 0; n < 5; n++) await fixture.api.call('GET', `/v1/patients?mrn=${mrn}`);
  await fixture.api.call('GET', '/v1/orders?patient_mrn=OTHER');
});
afterAll(() => fixture.close());

const list = async (query = ''): Promise<AuditRecord[]> => {
  const { status, body } = await operator.get(`audit?${query}`);
  expect(status, JSON.stringify(body)).toBe(200);
  return body.rows;
};
const search = async (filters: Record<string, unknown>): Promise<AuditRecord[]> => {
  const { status, body } = await operator.post('audit/search', filters);
  expect(status, JSON.stringify(body)).toBe(200);
  return body.rows;
};

describe('the list', () => {
  test('returns records newest first, with a sentence, the actor’s name and the outcome in words', async () => {
    const response = await operator.get('audit?page_size=200');
    const ids = response.body.rows.map((each: AuditRecord) => each.id);
    expect(ids).toStrictEqual([...ids].sort().reverse());
    const orders = response.body.rows.find((each: AuditRecord) => each.action === 'orders.list');
    expect(orders).toMatchObject({
      client_id: fixture.sandbox.client_id,
      client_name: 'Sandbox',
      account: fixture.sandbox.access_token_reference_id,
      actor_kind: 'client',
      outcome: '200',
      patients: 1,
      sentence: 'Viewed a patient’s orders (1 patient)',
      actor_name: 'Sandbox',
      result: 'Succeeded',
      failed: false,
      reads: true,
    });
    const sign_in = response.body.rows.find((each: AuditRecord) => each.action === 'operator.sign_in');
    expect(sign_in).toMatchObject({
      sentence: 'Signed in to the dashboard',
      actor_name: 'Sandbox owner',
      reads: false,
    });
    await fixture.api.call('GET', '/v1/jobs/999999');
    const [refused] = await list('action=jobs.get');
    expect(refused).toMatchObject({ sentence: 'Tried to retrieve a job', result: 'Not found (404)', failed: true });
  });

  test('is paginated without gaps or duplicates', async () => {
    const complete = await list(`page_size=200&client_id=${fixture.sandbox.client_id}`);
    const paged_ids: string[] = [];
    for (let next: string | null = ''; next !== null; ) {
      const before = next === '' ? '' : `&before=${next}`;
      const { body } = await operator.get(`audit?page_size=4&client_id=${fixture.sandbox.client_id}${before}`);
      paged_ids.push(...body.rows.map((each: AuditRecord) => each.id));
      next = body.next;
    }
    expect(paged_ids).toStrictEqual(complete.map((each) => each.id));
  });

  test('is filtered by actor, action, client and time', async () => {
    const sign_ins = await list('action=operator.sign_in');
    expect(sign_ins.map((each) => each.actor)).toStrictEqual([fixture.sandbox.dashboard.email]);
    const own = await list(`actor=${encodeURIComponent(fixture.sandbox.dashboard.email)}&page_size=200`);
    expect(new Set(own.map((each) => each.actor_kind))).toStrictEqual(new Set(['operator']));
    expect(await list('client_id=ci_test_nobody')).toStrictEqual([]);
    expect(await list(`client_id=${fixture.sandbox.client_id}&actor_kind=operator`)).toStrictEqual([]);
    const at = sign_ins[0]?.at ?? '';
    const later = new Date(Date.parse(at) + 1).toISOString();
    expect((await list(`action=operator.sign_in&from=${at}&to=${later}`)).length).toBe(1);
    expect(await list(`action=operator.sign_in&from=${later}`)).toStrictEqual([]);
    expect(await list(`action=operator.sign_in&to=${at}`)).toStrictEqual([]);
  });

  test('leaves out the operator’s own reading of the log, but not another operator’s, if asked to', async () => {
    const other = await newOperator(fixture, 'owner');
    await other.get('audit');
    await list();
    const readers = async (query: string) =>
      (await list(`action=dashboard.audit.list&${query}`)).map(({ actor }) => actor);
    expect(await readers('')).toContain(fixture.sandbox.dashboard.email);
    const shown = await readers('own_reading=hide');
    expect(shown).toHaveLength(1);
    expect(shown).not.toContain(fixture.sandbox.dashboard.email);
  });

  test('rejects an MRN in its URL', async () => {
    const { status, body } = await operator.get(`audit?patient_mrn=${mrn}`);
    expect([status, body.message]).toStrictEqual([400, 'Unexpected query parameters: patient_mrn']);
  });
});

describe('the search by patient', () => {
  test('finds exactly the records of the patient, for one client or all', async () => {
    for (const filters of [{ patient_mrn: mrn }, { patient_mrn: mrn, client_id: fixture.sandbox.client_id }]) {
      const matches = await search(filters);
      expect(matches.map((each) => [each.action, each.patients])).toStrictEqual([
        ...Array(5).fill(['patients.list', 1]),
        ['patients.list', 3],
      ]);
    }
    expect((await search({ patient_mrn: 'OTHER' })).map((each) => each.action)).toStrictEqual(['orders.list']);
    expect(await search({ patient_mrn: 'NOBODY' })).toStrictEqual([]);
    expect(await search({ patient_mrn: mrn, action: 'orders.list' })).toStrictEqual([]);
  });
});

describe('the CSV export', () => {
  test('has one line per record of the list', async () => {
    const response = await operator.get('audit.csv?action=patients.list');
    expect(response.headers.get('content-type')).toBe('text/csv; charset=utf-8');
    expect(response.headers.get('content-disposition')).toContain('attachment');
    const lines = response.body.trim().split('\r\n');
    expect(lines).toHaveLength(7);
    expect(lines[0]).toMatch(/^"at","client_id","client_name","actor_kind"/);
    expect(lines[1]).toContain(`"${fixture.sandbox.client_id}","Sandbox","client"`);
    const of_patient = await operator.post('audit/search.csv', { patient_mrn: 'OTHER' });
    expect(of_patient.body.trim().split('\r\n')).toHaveLength(2);
  });

  test('escapes spreadsheet formulas and is streamed in parts', async () => {
    const hostile = ['=1+1', '+1', '-1', '@SUM(A1)', '\tx', 'with "quotes", commas\nand lines'];
    for (const actor of hostile) {
      await fixture.ctx.audit.record({
        client_id: null,
        actor_kind: 'system',
        actor,
        action: 'test.csv',
        outcome: 'x',
      });
    }
    let text = '';
    let parts = 0;
    for await (const part of exportAudit(fixture.ctx, 'all', { action: 'test.csv' }, 2)) {
      text += part;
      parts += 1;
    }
    expect(parts).toBe(4);
    for (const actor of hostile.slice(0, 5)) expect(text).toContain(`,"'${actor}",`);
    expect(text).toContain('"with ""quotes"", commas\nand lines"');
  });
});

describe('the export of the chain', () => {
  test('contains every record once, in batches, while records join the chain', async () => {
    await sealAudit(fixture.ctx);
    await fixture.ctx.audit.record({
      ...{ client_id: null, actor_kind: 'system', actor: 'x', action: 'test.late', outcome: 'x' },
    });
    const until = new Date(Date.now() + 1);
    const exported: { id: string; action: string }[] = [];
    for await (const { text, records } of exportChain(fixture.ctx, { until }, 'jsonl', 3)) {
      expect(records).toBeLessThanOrEqual(3);
      const lines = text.split('\n').slice(0, -1);
      expect(lines).toHaveLength(records);
      exported.push(...lines.map((line) => JSON.parse(line)));
      await sealAudit(fixture.ctx);
    }
    const stored = await fixture.owner<{ id: string }[]>`SELECT id FROM audit_records WHERE at < ${until}`;
    expect(exported.map(({ id }) => id).sort()).toStrictEqual(stored.map(({ id }) => id).sort());
    expect(exported.filter(({ action }) => action === 'test.late')).toHaveLength(1);
  });
});

describe('the verification', () => {
  test('reports its progress, then success or the faults', async () => {
    await sealAudit(fixture.ctx);
    const verify = async () => {
      const { base_url } = fixture.sandbox;
      const response = await fetch(`${base_url}/dashboard/api/audit/verify`, {
        method: 'POST',
        headers: {
          cookie: operator.cookie,
          'x-csrf-token': operator.csrf_token,
          origin: base_url,
          'content-type': 'application/json',
        },
        body: '{}',
      });
      expect(response.headers.get('content-type')).toBe('application/x-ndjson');
      const lines = (await response.text())
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line));
      expect(lines[0]).toMatchObject({ checked: expect.any(Number), total: expect.any(Number) });
      return lines.at(-1).verdict;
    };
    expect(await verify()).toMatchObject({ ok: true, faults: [] });
    await fixture.owner`UPDATE audit_records SET outcome = '404' WHERE position = 2`;
    const verdict = await verify();
    expect(verdict).toMatchObject({ ok: false, faults: [{ position: 2, what: 'changed' }] });
  });
});

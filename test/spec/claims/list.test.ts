import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Claim } from '../../../src/model/records/claims.ts';
import { apiAs, expectApiError, expectSchema } from '../../api/support.ts';
import { startSandbox, type TestSandbox } from '../../harness/sandbox.ts';

type Listed = { id: string; service_date: string; claim_status: string; emr_claim_id: string };

let fixture: TestSandbox;
let all: Listed[];
let total: number;
beforeAll(async () => {
  fixture = await startSandbox({ small: true });
  const { body } = await get('page_size=1000');
  total = body.pagination.total_count;
  all = body.claims;
});
afterAll(() => fixture.close());

async function get(query = '') {
  const response = await fixture.api.call('GET', `/v1/claims?${query}`);
  expectSchema('claims.list', response);
  return response;
}

const expectRejected = async (query: string, message: string, field: string) =>
  expectApiError(await fixture.api.call('GET', `/v1/claims?${query}`), 400, message, field);

describe('GET /v1/claims', () => {
  test('lists every claim once, with every field', async () => {
    expect(total).toBeGreaterThan(50);
    expect(all).toHaveLength(total);
    expect(new Set(all.map(({ id }) => id)).size).toBe(total);
    // Only claims with diagnoses that have no ICD code have `other_diagnoses`.
    const fields = Object.keys(Claim.properties)
      .filter((name) => name !== 'other_diagnoses')
      .sort();
    for (const claim of all) expect(Object.keys(claim).sort()).toStrictEqual(fields);
    const [stored] = await fixture.owner<{ n: number }[]>`SELECT count(*) AS n FROM claims`;
    expect(stored?.n).toBe(total);
  });

  test('returns the latest service date first, then sorts by id', async () => {
    const { body } = await get();
    expect(Object.keys(body)).toStrictEqual(['success', 'claims', 'pagination']);
    expect(body.pagination).toStrictEqual({
      page: 1,
      current_page: 1,
      page_size: 100,
      total_count: total,
      total_pages: Math.ceil(total / 100),
    });
    expect(body.claims).toStrictEqual(all);
    const sorted = [...all].sort((a, b) => b.service_date.localeCompare(a.service_date) || (a.id < b.id ? -1 : 1));
    expect(all.map(({ id }) => id)).toStrictEqual(sorted.map(({ id }) => id));
  });

  test('returns amounts as numbers, and as decimal strings in balances', async () => {
    for (const claim of all as (Listed & Record<string, unknown>)[]) {
      for (const name of ['total_charge', 'total_payment', 'net_payment', 'balance', 'net_adjustment']) {
        expect(claim[name]).toBeTypeOf('number');
      }
      const { on_plan: _plan, ...amounts } = claim.balances as Record<string, string>;
      for (const amount of Object.values(amounts)) expect(amount).toMatch(/^-?\d+\.\d\d$/);
      expect(Number(amounts.balance)).toBe(claim.balance);
    }
  });

  test('returns payments with and without ERA data, line items, insurances and an activity log', async () => {
    const parts = (name: string) =>
      (all as unknown as Record<string, Record<string, unknown>[]>[]).flatMap((claim) => claim[name] ?? []);
    for (const name of ['insurances', 'line_items', 'payments', 'billing_activity_log']) {
      expect(parts(name).length, name).toBeGreaterThan(0);
    }
    const codes = parts('payments').map((payment) => payment.era_adjustment_codes);
    expect(codes).toContain(null);
    expect(codes.some((each) => each !== null && Object.keys(each as object).length > 0)).toBe(true);
  });

  test.each(['2026-02-30', '02/01/2026', '2026-2-1', 'yesterday', ''])('rejects the date "%s"', async (day) => {
    const rule = 'must be a date that exists, in the form YYYY-MM-DD';
    await expectRejected(`start_date=${encodeURIComponent(day)}`, `start_date ${rule}`, 'start_date');
    await expectRejected(`end_date=${encodeURIComponent(day)}`, `end_date ${rule}`, 'end_date');
  });

  test('rejects a range that ends before it starts, and accepts a single day', async () => {
    await expectRejected(
      'start_date=2026-02-02&end_date=2026-02-01',
      'end_date must not be before start_date',
      'end_date',
    );
    expect((await get('start_date=2026-02-01&end_date=2026-02-01')).status).toBe(200);
  });

  test('rejects an unknown parameter, so that a mistyped filter does not return all claims', async () => {
    await expectRejected('mrn=LK100001', 'Unexpected query parameters: mrn', 'mrn');
  });

  test('does not list claims of another organization', async () => {
    const access_token = await fixture.api.link({ user_id: 'elsewhere', org_id: 'elsewhere', staff: 1 });
    const other_api = apiAs(fixture, { ...fixture.sandbox, access_token });
    await expect.poll(async () => (await other_api.call('GET', '/v1/claims')).body.pagination.total_count).toBe(total);
    const other_claims = (await other_api.call('GET', '/v1/claims?page_size=1000')).body.claims;
    const own_ids = new Set(all.map(({ id }) => id));
    expect(other_claims.filter(({ id }: Listed) => own_ids.has(id))).toStrictEqual([]);
    expect((await get()).body.pagination.total_count).toBe(total);
  });
});

describe('a sync', () => {
  test('updates a changed claim, removes a deleted one, and leaves the others as they are', async () => {
    const [changed, removed] = all.slice(0, 2) as [Listed, Listed];
    const control = (method: string, id: string, body?: object) =>
      fixture.api.control(method, `/control/claims/${id}`, body);
    expect((await control('PATCH', changed.emr_claim_id, { billingNotes: 'Called the payer' })).status).toBe(200);
    expect((await control('DELETE', removed.emr_claim_id)).status).toBeLessThan(300);
    await fixture.api.sync();
    const now = (await get('page_size=1000')).body;
    expect(now.pagination.total_count).toBe(total - 1);
    const find = (id: string) => now.claims.find((each: Listed) => each.id === id);
    expect(find(removed.id)).toBeUndefined();
    expect(find(changed.id)).toStrictEqual({
      ...changed,
      billing_notes: 'Called the payer',
      synced_at: expect.any(String),
      updated_at: expect.any(String),
    });
    const rest = all.filter(({ id }) => id !== changed.id && id !== removed.id).slice(0, 500);
    expect(now.claims.slice(0, 501).filter(({ id }: Listed) => id !== changed.id)).toStrictEqual(rest);
  });
});

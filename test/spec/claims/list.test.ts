import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Claim } from '../../../src/model/claim.ts';
import { startSandbox, type TestSandbox } from '../../harness/sandbox.ts';
import { apiOf, expectRefusal, expectSchema } from '../../api/support.ts';

type Listed = { id: string; service_date: string; claim_status: string; emr_claim_id: string };

let world: TestSandbox;
let all: Listed[];
let total: number;
beforeAll(async () => {
  world = await startSandbox();
  const first = (await get('page_size=1000')).body;
  total = first.pagination.total_count;
  all = first.claims;
  for (let page = 2; page <= first.pagination.total_pages; page += 1) {
    all.push(...(await get(`page_size=1000&page=${page}`)).body.claims);
  }
});
afterAll(() => world.close());

async function get(query = '') {
  const answer = await world.api.call('GET', `/v1/claims?${query}`);
  expectSchema('claims.list', answer);
  return answer;
}

async function ids(query: string): Promise<string[]> {
  const { body } = await get(`${query}&page_size=1000`);
  expect(body.pagination.total_count).toBe(body.claims.length);
  return body.claims.map((claim: Listed) => claim.id);
}

const refused = async (query: string, message: string, field: string) =>
  expectRefusal(await world.api.call('GET', `/v1/claims?${query}`), 400, message, field);

describe('claims', () => {
  test('are listed whole: a few thousand, each once, every element with every field', async () => {
    expect(total).toBeGreaterThan(1000);
    expect(all).toHaveLength(total);
    expect(new Set(all.map(({ id }) => id)).size).toBe(total);
    const fields = Object.keys(Claim.properties).sort();
    for (const claim of all) expect(Object.keys(claim).sort()).toStrictEqual(fields);
    const [kept] = await world.owner<{ n: number }[]>`SELECT count(*) AS n FROM claims`;
    expect(kept?.n).toBe(total);
  });

  test('come 100 to a page unless told, latest service date first, then by id', async () => {
    const { body } = await get();
    expect(Object.keys(body)).toStrictEqual(['success', 'claims', 'pagination']);
    expect(body.pagination).toStrictEqual({
      page: 1,
      current_page: 1,
      page_size: 100,
      total_count: total,
      total_pages: Math.ceil(total / 100),
    });
    expect(body.claims).toStrictEqual(all.slice(0, 100));
    const sorted = [...all].sort((a, b) => b.service_date.localeCompare(a.service_date) || (a.id < b.id ? -1 : 1));
    expect(all.map(({ id }) => id)).toStrictEqual(sorted.map(({ id }) => id));
  });

  test('beyond the last page are none', async () => {
    const { body } = await get('page=1000000');
    expect(body.claims).toStrictEqual([]);
    expect(body.pagination).toMatchObject({ page: 1_000_000, total_count: total });
  });

  test('carry money as numbers, and as decimal strings in their balances', async () => {
    for (const claim of all as (Listed & Record<string, unknown>)[]) {
      for (const name of ['total_charge', 'total_payment', 'net_payment', 'balance', 'net_adjustment']) {
        expect(claim[name]).toBeTypeOf('number');
      }
      const { on_plan: _plan, ...amounts } = claim.balances as Record<string, string>;
      for (const amount of Object.values(amounts)) expect(amount).toMatch(/^-?\d+\.\d\d$/);
      expect(Number(amounts.balance)).toBe(claim.balance);
    }
  });

  test('hold payments with ERA data and without, lines, insurances and an activity log', async () => {
    const parts = (name: string) =>
      (all as unknown as Record<string, Record<string, unknown>[]>[]).flatMap((claim) => claim[name] ?? []);
    for (const name of ['insurances', 'line_items', 'payments', 'billing_activity_log']) {
      expect(parts(name).length, name).toBeGreaterThan(0);
    }
    const codes = parts('payments').map((payment) => payment.era_adjustment_codes);
    expect(codes).toContain(null);
    expect(codes.some((each) => each !== null && Object.keys(each as object).length > 0)).toBe(true);
  });

  test('are narrowed by days of service, the named days included', async () => {
    const days = [...new Set(all.map(({ service_date }) => service_date))].sort();
    const [before = '', day = '', after = ''] = days.slice(days.length - 5);
    const on = (from: string, to: string) =>
      all.filter((each) => each.service_date >= from && each.service_date <= to).map(({ id }) => id);
    expect(await ids(`start_date=${day}&end_date=${day}`)).toStrictEqual(on(day, day));
    expect(on(day, day).length).toBeGreaterThan(0);
    expect(await ids(`start_date=${before}&end_date=${after}`)).toStrictEqual(on(before, after));
    expect(await ids(`start_date=${day}`)).toStrictEqual(on(day, '9999-12-31'));
    const until = await get(`end_date=${before}`);
    expect(until.body.pagination.total_count).toBe(on('0000-01-01', before).length);
    expect(await ids('start_date=2999-01-01')).toStrictEqual([]);
  });

  test('are narrowed by patient, by status, and by both', async () => {
    const [sample] = await world.owner<{ patient_mrn: string; claim_status: string }[]>`
      SELECT patient_mrn, claim_status FROM claims ORDER BY service_date DESC LIMIT 1`;
    const { patient_mrn = '', claim_status = '' } = sample ?? {};
    const of = await world.owner<{ id: string; patient_mrn: string }[]>`SELECT id, patient_mrn FROM claims`;
    const mrns = new Map(of.map((row) => [row.id, row.patient_mrn]));
    const patients = all.filter(({ id }) => mrns.get(id) === patient_mrn);
    expect(patients.length).toBeGreaterThan(0);
    expect(await ids(`patient_mrn=${patient_mrn}`)).toStrictEqual(patients.map(({ id }) => id));
    const both = patients.filter((each) => each.claim_status === claim_status).map(({ id }) => id);
    expect(await ids(`patient_mrn=${patient_mrn}&claim_status=${claim_status}`)).toStrictEqual(both);
    const status = all.filter((each) => each.claim_status === claim_status);
    const { pagination } = (await get(`claim_status=${claim_status}`)).body;
    expect(pagination.total_count).toBe(status.length);
    expect(status.length).toBeLessThan(total);
    expect(await ids('patient_mrn=nobody')).toStrictEqual([]);
    expect(await ids('claim_status=NOTHING')).toStrictEqual([]);
    expect(await ids(`patient_mrn=${patient_mrn.slice(0, -1)}`)).toStrictEqual([]);
  });

  test('1000 to a page are taken, 1001 are not', async () => {
    expect((await get('page_size=1000')).body.claims).toHaveLength(Math.min(1000, total));
    await refused('page_size=1001', 'page_size must be at most 1000', 'page_size');
    await refused('page_size=0', 'page_size must be at least 1', 'page_size');
    await refused('page=0', 'page must be at least 1', 'page');
  });

  test.each(['2026-02-30', '02/01/2026', '2026-2-1', 'yesterday', '2026-02-01T00:00:00Z', ''])(
    'start_date=%s and end_date=%s are refused',
    async (day) => {
      const rule = 'must be a date that exists, in the form YYYY-MM-DD';
      await refused(`start_date=${encodeURIComponent(day)}`, `start_date ${rule}`, 'start_date');
      await refused(`end_date=${encodeURIComponent(day)}`, `end_date ${rule}`, 'end_date');
    },
  );

  test('a range that ends before it starts is refused, one of a day is not', async () => {
    await refused('start_date=2026-02-02&end_date=2026-02-01', 'end_date must not be before start_date', 'end_date');
    expect((await get('start_date=2026-02-01&end_date=2026-02-01')).status).toBe(200);
  });

  test('an unknown parameter is refused: a mistyped filter must not return everyone', async () => {
    await refused('mrn=LK100001', 'Unexpected query parameters: mrn', 'mrn');
  });

  test('of another organization are not among them', async () => {
    const access_token = await world.api.link({ user_id: 'elsewhere', org_id: 'elsewhere', staff: 1 });
    const elsewhere = apiOf(world, { ...world.sandbox, access_token });
    await expect.poll(async () => (await elsewhere.call('GET', '/v1/claims')).body.pagination.total_count).toBe(total);
    const theirs = (await elsewhere.call('GET', '/v1/claims?page_size=1000')).body.claims;
    const ours = new Set(all.map(({ id }) => id));
    expect(theirs.filter(({ id }: Listed) => ours.has(id))).toStrictEqual([]);
    expect((await get()).body.pagination.total_count).toBe(total);
  });
});

describe('a sync', () => {
  const sync = async () => {
    const { job_id } = (await world.api.call('POST', '/v1/sync')).body;
    expect((await world.api.untilEvent(job_id)).event_type).toBe('sync.completed');
  };

  test('brings a changed claim, leaves the others as they are, and takes away what was removed', async () => {
    const [changed, removed] = all.slice(0, 2) as [Listed, Listed];
    const control = (method: string, id: string, body?: object) =>
      world.api.control(method, `/control/claims/${id}`, body);
    expect((await control('PATCH', changed.emr_claim_id, { billingNotes: 'Called the payer' })).status).toBe(200);
    expect((await control('DELETE', removed.emr_claim_id)).status).toBeLessThan(300);
    await sync();
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

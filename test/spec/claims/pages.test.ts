import { afterAll, beforeAll, expect, test } from 'vitest';
import { expectApiError } from '../../api/support.ts';
import { row } from '../../harness/row.ts';
import { startSandbox, type TestSandbox } from '../../harness/sandbox.ts';
import { clinicRows, isoDay, type Row } from '../support/emrRecords.ts';

let fixture: TestSandbox;
/** The claims in Larkspur. */
let filed: { id: string; day: string; mrn: string; status: string }[];
/** Three consecutive days of service among the claims. */
let days: [before: string, day: string, after: string];
beforeAll(async () => {
  fixture = await startSandbox();
  filed = (await clinicRows(fixture, 'claims')).map((row) => ({
    id: row.claimId,
    day: isoDay(row.serviceDate),
    mrn: row.mrn,
    status: row.statusCode,
  }));
  const all = [...new Set(filed.map(({ day }) => day))].sort();
  const [before = '', day = '', after = ''] = all.slice(100);
  days = [before, day, after];
});
afterAll(() => fixture.close());

const get = (query: string) => fixture.api.call('GET', `/v1/claims?${query}`);

/** The EMR ids of all claims that a query returns, over all pages. */
async function findIds(query: string): Promise<string[]> {
  const ids: string[] = [];
  for (let page = 1; ; page += 1) {
    const { status, body } = await get(`${query}&page_size=1000&page=${page}`);
    expect(status, JSON.stringify(body)).toBe(200);
    ids.push(...body.claims.map((claim: Row) => claim.emr_claim_id));
    if (page >= body.pagination.total_pages) return ids.sort();
  }
}

/** The EMR ids of the matching claims. Must be some but not all, or the filter would prove nothing. */
function filedWhere(holds: (claim: (typeof filed)[number]) => boolean): string[] {
  const ids = filed.filter(holds).map(({ id }) => id);
  expect(ids.length).toBeGreaterThan(0);
  expect(ids.length).toBeLessThan(filed.length);
  return ids.sort();
}

test(row('CLM-40'), async () => {
  const [before, day, after] = days;
  expect(await findIds(`start_date=${day}`)).toStrictEqual(filedWhere((claim) => claim.day >= day));
  expect(await findIds(`start_date=${before}&end_date=${before}`)).not.toStrictEqual([]);
  expect(await findIds(`start_date=${after}`)).toStrictEqual(filedWhere((claim) => claim.day > day));
  expect(await findIds(`start_date=${day}T23:30:00-05:00`)).toStrictEqual(await findIds(`start_date=${day}`));
  for (const other of [day.replaceAll('-', '/'), '2026-02-30']) {
    expectApiError(await get(`start_date=${other}`), 400, /^start_date must be/, 'start_date');
  }
});

test(row('CLM-41'), async () => {
  const [before, day, after] = days;
  expect(await findIds(`end_date=${day}`)).toStrictEqual(filedWhere((claim) => claim.day <= day));
  expect(await findIds(`end_date=${before}`)).toStrictEqual(filedWhere((claim) => claim.day < day));
  expect(await findIds(`start_date=${before}&end_date=${after}`)).toStrictEqual(
    filedWhere((claim) => days.includes(claim.day)),
  );
  expect(await findIds(`end_date=${day}T23:30:00-05:00`)).toStrictEqual(await findIds(`end_date=${day}`));
  for (const other of [day.replaceAll('-', '/'), '2026-02-30']) {
    expectApiError(await get(`end_date=${other}`), 400, /^end_date must be/, 'end_date');
  }
});

test(row('CLM-42'), async () => {
  const { patient_mrn } = fixture.sandbox.example;
  expect(await findIds(`patient_mrn=${patient_mrn}`)).toStrictEqual(filedWhere(({ mrn }) => mrn === patient_mrn));
  expect(await findIds(`patient_mrn=${patient_mrn.slice(0, -1)}`)).toStrictEqual([]);
});

test(row('CLM-43'), async () => {
  for (const code of ['DEN', 'PAT', 'VOI']) {
    expect(await findIds(`claim_status=${code}`)).toStrictEqual(filedWhere(({ status }) => status === code));
  }
  expect(await findIds('claim_status=NONE')).toStrictEqual([]);
});

test(row('CLM-44'), async () => {
  const first_claims = (await get('page_size=12')).body.claims;
  expect(first_claims).toHaveLength(12);
  for (const [page, page_size] of [
    [1, 1],
    [12, 1],
    [2, 5],
    [3, 4],
  ] as const) {
    const { body } = await get(`page=${page}&page_size=${page_size}`);
    expect(body.claims).toStrictEqual(first_claims.slice((page - 1) * page_size, page * page_size));
    expect(body.claims).toHaveLength(page_size);
  }
});

test(row('CLM-46'), async () => {
  const total = filed.length;
  for (const [query, page, page_size, length] of [
    ['page_size=7', 1, 7, 7],
    ['page_size=1000&page=3', 3, 1000, Math.min(1000, total - 2000)],
    [`page_size=1&page=${total}`, total, 1, 1],
    [`page_size=1&page=${total + 1}`, total + 1, 1, 0],
  ] as const) {
    const { body } = await get(query);
    const total_pages = Math.ceil(total / page_size);
    expect(body.pagination).toMatchObject({ page, page_size, total_count: total, total_pages });
    expect(body.claims).toHaveLength(length);
  }
  const [, day] = days;
  const some = filedWhere((claim) => claim.day === day).length;
  const { pagination } = (await get(`start_date=${day}&end_date=${day}&page_size=2`)).body;
  expect(pagination).toMatchObject({ page: 1, page_size: 2, total_count: some, total_pages: Math.ceil(some / 2) });
});

test(row('DEC-263'), async () => {
  const { patient_mrn } = fixture.sandbox.example;
  const own = filed.filter(({ mrn }) => mrn === patient_mrn).sort((a, b) => a.day.localeCompare(b.day));
  const [first, , , fourth] = own;
  if (!first || !fourth) throw new Error('The example patient has too few claims.');
  const query = {
    start_date: first.day,
    end_date: fourth.day,
    patient_mrn,
    claim_status: fourth.status,
  };
  const expected = filedWhere(
    ({ mrn, day, status }) => mrn === patient_mrn && day >= first.day && day <= fourth.day && status === fourth.status,
  );
  expect(await findIds(`${new URLSearchParams(query)}`)).toStrictEqual(expected);
});

test(row('DEC-264'), async () => {
  const plain = (await get('')).body;
  expect(plain.pagination).toMatchObject({ page: 1, page_size: 100 });
  expect(plain.claims).toHaveLength(100);
  expect((await get('page=1&page_size=100')).body).toStrictEqual(plain);
  for (const page_size of [999, 1000]) {
    expect((await get(`page_size=${page_size}`)).body.claims).toHaveLength(page_size);
  }
  expectApiError(await get('page_size=1001'), 400, /^page_size .*1000/, 'page_size');
  expectApiError(await get('page_size=0'), 400, /^page_size /, 'page_size');
  expectApiError(await get('page=0'), 400, /^page /, 'page');
});

test(row('DEC-265'), async () => {
  const { claims } = (await get('page_size=1000')).body as { claims: { id: string; service_date: string }[] };
  const same_day = claims.filter(({ service_date }) => service_date === claims[500]?.service_date);
  expect(same_day.length).toBeGreaterThan(1);
  const sorted = [...claims].sort(
    (a, b) => b.service_date.localeCompare(a.service_date) || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0),
  );
  expect(claims.map(({ id }) => id)).toStrictEqual(sorted.map(({ id }) => id));
});

test(row('DEC-268'), async () => {
  const [, day] = days;
  const on_day = filedWhere((claim) => claim.day === day);
  expect(await findIds(`start_date=${day}&end_date=${day}`)).toStrictEqual(on_day);
  expect(await findIds(`start_date=${day}`)).toEqual(expect.arrayContaining(on_day));
  expect(await findIds(`end_date=${day}`)).toEqual(expect.arrayContaining(on_day));
});

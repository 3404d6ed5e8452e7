import { afterAll, beforeAll, expect, test } from 'vitest';
import { endpoints } from '../../../src/surfaces/api/endpoints.ts';
import { expectApiError, expectSchema } from '../../api/support.ts';
import { row } from '../../harness/row.ts';
import { startSandbox, type TestSandbox } from '../../harness/sandbox.ts';

let fixture: TestSandbox;
beforeAll(async () => {
  fixture = await startSandbox();
  await fixture.api.sync();
});
afterAll(() => fixture.close());

type Listed = { id: string } & Record<string, unknown>;
type Paging = { page_size: number; next_cursor: string | null };

/** The paged lists of the API, with the parameters that they require. */
const required: Record<string, Record<string, string>> = {
  '/v1/appointments': { start_date: '2026-11-01', end_date: '2027-01-01' },
  '/v1/referrals': { start_date: '2020-01-01', end_date: '2030-01-01' },
};
const paged = endpoints.filter(
  ({ id, response }) =>
    // The lines of an insurer's answer are no records, and have no ids.
    id !== 'eligibility-checks.benefits.list' && Object.hasOwn(Object(response).properties ?? {}, 'pagination'),
);
const lists = paged.filter(({ method, path }) => method === 'GET' && !path.includes('{'));

async function get(path: string, query: Record<string, string | number> = {}) {
  const parameters = Object.entries({ ...required[path], ...query }).map(([name, value]): [string, string] => [
    name,
    String(value),
  ]);
  return fixture.api.call('GET', `${path}?${new URLSearchParams(parameters)}`);
}

/** The list in a response. */
function records(body: Record<string, unknown>): Listed[] {
  const list = Object.values(body).find(Array.isArray);
  if (!list) throw new Error('The response has no list.');
  return list;
}

/** Follows `next_cursor` to the end. */
async function walk(
  path: string,
  query: Record<string, string | number> = {},
  onPage: (position: number) => Promise<void> = async () => {},
): Promise<Listed[]> {
  const all: Listed[] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const { status, body } = await get(path, { ...query, cursor });
    expect(status, JSON.stringify(body)).toBe(200);
    all.push(...records(body));
    cursor = (body.pagination as Paging).next_cursor;
    await onPage(all.length);
  }
  return all;
}

const ids = (list: readonly Listed[]) => list.map(({ id }) => id);

test(row('CUR-01'), async () => {
  expect(lists.map(({ path }) => path)).toStrictEqual(
    expect.arrayContaining(['/v1/patients', '/v1/claims', '/v1/insurance-providers', '/v1/webhook-events']),
  );
  // The account has events, in several pages.
  for (let n = 0; n < 3; n++) await fixture.api.untilEvent((await fixture.api.callIn()).body.job_id);
  for (const { id, path } of lists) {
    const first = await get(path, { cursor: '', page_size: 2 });
    expectSchema(id, first);
    expect(first.body.pagination, path).toStrictEqual({ page_size: 2, next_cursor: expect.any(String) });
    const shown = ids(records(first.body));
    expect(shown, path).toStrictEqual([...shown].sort());
    const second = ids(records((await get(path, { cursor: first.body.pagination.next_cursor, page_size: 2 })).body));
    expect((second[0] ?? '') > (shown[1] ?? ''), path).toBe(true);
  }
  for (const { query, body, path } of paged) {
    expect({ ...query?.properties, ...body?.properties }, path).toHaveProperty('cursor');
  }
});

test(row('CUR-02'), async () => {
  for (const { path } of lists) {
    const page_size = path === '/v1/webhook-events' ? 2 : 97;
    const walked = ids(await walk(path, { page_size }));
    const { total_count } = (await get(path)).body.pagination;
    expect([path, new Set(walked).size]).toStrictEqual([path, total_count]);
    expect(walked).toStrictEqual([...new Set(walked)].sort());
  }
  // A last page that is full.
  const { body } = await get('/v1/claims', { cursor: '', page_size: 1, patient_mrn: 'nobody' });
  expect([body.claims, body.pagination.next_cursor]).toStrictEqual([[], null]);
  const one = (await get('/v1/patients', { cursor: '', page_size: 1, mrn: fixture.sandbox.example.patient_mrn })).body;
  expect([one.patients.length, one.pagination.next_cursor]).toStrictEqual([1, null]);
});

test(row('CUR-03'), async () => {
  const filters = [
    ['/v1/claims', { start_date: '2026-06-01' }],
    ['/v1/claims', { start_date: '2026-06-01', end_date: '2026-07-15' }],
    ['/v1/claims', { claim_status: 'PAID' }],
    ['/v1/patients', { last_name: 'son' }],
    ['/v1/patients', { last_name: 'a' }],
    ['/v1/patients', { last_name: 'son', first_name: 'a' }],
    ['/v1/insurance-providers', { status: 'active' }],
    ['/v1/webhook-events', { event_type: 'telephone_encounter.created' }],
  ] as const;
  for (const [path, filter] of filters) {
    const matches: Listed[] = [];
    for (let page = 1, pages = 1; page <= pages; page++) {
      const { body } = await get(path, { ...filter, page, page_size: 100 });
      matches.push(...records(body));
      pages = body.pagination.total_pages;
    }
    const walked = await walk(path, { ...filter, page_size: 13 });
    expect([path, filter, ids(walked)]).toStrictEqual([path, filter, ids(matches).sort()]);
    // The same records, field by field.
    const byId = (left: Listed, right: Listed) => (left.id < right.id ? -1 : 1);
    expect(walked).toStrictEqual([...matches].sort(byId));
  }
});

test(row('CUR-04'), async () => {
  const filters = { start_date: '2026-01-01', patient_mrn: fixture.sandbox.example.patient_mrn };
  const { next_cursor } = (await get('/v1/claims', { start_date: '2026-01-01', cursor: '', page_size: 2 })).body
    .pagination;
  const rule = /^cursor must be the next_cursor of a page of this list with the same filters/;
  for (const other of [
    {},
    { start_date: '2026-01-02' },
    filters,
    { start_date: '2026-01-01', end_date: '2029-01-01' },
  ]) {
    expectApiError(await get('/v1/claims', { ...other, cursor: next_cursor }), 400, rule, 'cursor');
  }
  // Another page size is no other filter, nor is one that matches every record.
  expect((await get('/v1/claims', { page_size: 7, start_date: '2026-01-01', cursor: next_cursor })).status).toBe(200);
  const all = (await get('/v1/insurance-providers', { cursor: '', status: 'all', page_size: 2 })).body.pagination;
  expect((await get('/v1/insurance-providers', { cursor: all.next_cursor })).status).toBe(200);
});

test(row('CUR-05'), async () => {
  const { next_cursor } = (await get('/v1/patients', { cursor: '', page_size: 2 })).body.pagination;
  const other = await fixture.api.link({ user_id: 'cursor-user', org_id: 'cursor-org', staff: 1 });
  const rule = /^cursor must be the next_cursor/;
  const query = `cursor=${next_cursor}`;
  const as_other = { headers: { access_token: other } };
  expectApiError(await fixture.api.call('GET', `/v1/patients?${query}`, as_other), 400, rule, 'cursor');
  expectApiError(await fixture.api.call('GET', `/v1/claims?${query}`), 400, rule, 'cursor');
  const flipped = next_cursor.slice(0, -1) + (next_cursor.endsWith('A') ? 'B' : 'A');
  for (const forged of [
    flipped,
    `${next_cursor}AA`,
    next_cursor.slice(0, 20),
    'null',
    '0',
    '%00',
    'latest',
    `${next_cursor}=`,
  ]) {
    expectApiError(await get('/v1/patients', { cursor: forged }), 400, rule, 'cursor');
  }
  expectApiError(
    await get('/v1/patients', { cursor: 'x'.repeat(1001) }),
    400,
    /^cursor exceeds maximum length/,
    'cursor',
  );
});

test(row('CUR-06'), async () => {
  for (const page of [1, 2]) {
    expectApiError(await get('/v1/claims', { page, cursor: '' }), 400, 'page and cursor cannot be combined', 'cursor');
  }
  expectApiError(
    await get('/v1/webhook-events', { page: 1, cursor: '' }),
    400,
    'page and cursor cannot be combined',
    'cursor',
  );
});

test(row('CUR-07'), async () => {
  const all = new Set(ids(await walk('/v1/claims', { page_size: 1000 })));
  const removed = new Set<string>();
  const { owner } = fixture;
  const seen = await walk('/v1/claims', { page_size: 200 }, async (position) => {
    // As syncs do: claims move to the end and the start of the list by date, and others leave it.
    await owner`UPDATE claims SET service_date = service_date + (CASE WHEN random() < 0.5 THEN 4000 ELSE -4000 END)
      WHERE id IN (SELECT id FROM claims ORDER BY random() LIMIT 300)`;
    const gone = await owner<{ id: string }[]>`
      DELETE FROM claims WHERE id IN (SELECT id FROM claims ORDER BY id OFFSET ${position % 700} LIMIT 3) RETURNING id`;
    for (const { id } of gone) removed.add(id);
  });
  expect(removed.size).toBeGreaterThan(10);
  const shown = ids(seen);
  expect(new Set(shown).size).toBe(shown.length);
  expect([...all].filter((id) => !removed.has(id) && !shown.includes(id))).toStrictEqual([]);
});

test(row('CUR-08'), async () => {
  const search = (body: Record<string, unknown>) => fixture.api.call('POST', '/v1/patients/search', { body });
  const listed = await walk('/v1/patients', { last_name: 'son', page_size: 20 });
  const searched: Listed[] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const { status, body } = await search({ last_name: 'son', page_size: 20, cursor });
    expect(status, JSON.stringify(body)).toBe(200);
    searched.push(...body.patients);
    cursor = body.pagination.next_cursor;
  }
  expect(searched).toStrictEqual(listed);
  expect(listed.length).toBeGreaterThan(20);
  expectApiError(await search({ cursor: null }), 400, /^cursor must be a string/, 'cursor');
});

test(row('CUR-09'), async () => {
  const url = `${fixture.sandbox.base_url}/cursor-receiver`;
  const { body: webhook } = await fixture.api.call('POST', '/v1/webhook', { body: { webhook_url: url } });
  for (let n = 0; n < 3; n++) await fixture.api.untilEvent((await fixture.api.callIn()).body.job_id);
  const path = `/v1/webhook/${webhook.webhook_id}/deliveries`;
  const listed = (await fixture.api.call('GET', `${path}?page_size=100`)).body.deliveries as Listed[];
  const walked: Listed[] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const { status, body } = await fixture.api.call('GET', `${path}?page_size=1&cursor=${cursor}`);
    expect(status, JSON.stringify(body)).toBe(200);
    walked.push(...body.deliveries);
    cursor = body.pagination.next_cursor;
  }
  expect(walked.length).toBeGreaterThan(2);
  expect(ids(walked)).toStrictEqual(ids(listed).sort());
  const { next_cursor } = (await fixture.api.call('GET', `${path}?page_size=1&cursor=`)).body.pagination;
  const other_filter = await fixture.api.call('GET', `${path}?status=failed&cursor=${next_cursor}`);
  expectApiError(other_filter, 400, /^cursor must be the next_cursor/, 'cursor');
});

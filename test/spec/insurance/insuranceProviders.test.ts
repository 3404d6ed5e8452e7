import { afterAll, beforeAll, expect, test } from 'vitest';
import { expectApiError } from '../../api/support.ts';
import type { ApiResponse } from '../../harness/api.ts';
import { row } from '../../harness/row.ts';
import { startSandbox, type TestSandbox } from '../../harness/sandbox.ts';

type Body = ApiResponse['body'];

let fixture: TestSandbox;
/** The insurance companies in Larkspur. */
let known: Body[];
beforeAll(async () => {
  fixture = await startSandbox({ small: true });
  // More than one page, some of them inactive.
  const add = (n: number) =>
    fixture.api.control('POST', '/control/insurance-companies', {
      name: `Added Mutual ${n}`,
      activeFlag: n % 9 ? 'Y' : 'N',
    });
  await Promise.all(Array.from({ length: 90 }, (_, n) => add(n)));
  await fixture.api.sync();
  known = (await fixture.api.control('GET', '/control/insurance-companies')).body.rows;
});
afterAll(() => fixture.close());

const search = (query: Record<string, string>) =>
  fixture.api.call('GET', `/v1/insurance-providers?${new URLSearchParams(query)}`);
const ids = (list: Body[]) => list.map((each) => each.ehr_id ?? each.companyId).sort();

test(row('DEC-195'), async () => {
  for (const part of ['Added Mutual 1', 'mutual', 'MUTUAL 8', 'are Go']) {
    const expected = known.filter(({ name }) => name.toLowerCase().includes(part.toLowerCase()));
    const { body } = await search({ name: part });
    expect(ids(body.insurance_providers), part).toStrictEqual(ids(expected));
    expect(expected.length).toBeGreaterThan(0);
    expect(expected.length).toBeLessThan(known.length);
  }
  for (const [active, activeFlag] of [
    ['true', 'Y'],
    ['false', 'N'],
  ] as const) {
    const expected = known.filter((each) => each.activeFlag === activeFlag);
    const { body } = await search({ active });
    expect(ids(body.insurance_providers)).toStrictEqual(ids(expected));
    expect(expected.length).toBeGreaterThan(0);
    for (const each of body.insurance_providers) expect(each.active).toBe(active === 'true');
    const status = active === 'true' ? 'active' : 'inactive';
    expect((await search({ status })).body).toStrictEqual(body);
  }
  expect((await search({ status: 'all' })).body).toStrictEqual((await search({})).body);
  expectApiError(await search({ status: 'gone' }), 400, 'status must be one of: active, inactive, all', 'status');
  const both = known.filter(({ name, activeFlag }) => name.includes('Mutual') && activeFlag === 'N');
  expect(ids((await search({ name: 'mutual', active: 'false' })).body.insurance_providers)).toStrictEqual(ids(both));
});

test(row('DEC-196'), async () => {
  const { pagination, insurance_providers } = (await search({})).body;
  expect(pagination).toMatchObject({ page: 1, page_size: 100, total_count: known.length, total_pages: 2 });
  expect(insurance_providers).toHaveLength(100);
  const second = (await search({ page: '2' })).body.insurance_providers;
  expect(ids([...insurance_providers, ...second])).toStrictEqual(ids(known));
  for (const page_size of [1, 99, 100]) {
    const { status, body } = await search({ page_size: `${page_size}` });
    expect([status, body.insurance_providers.length]).toStrictEqual([200, page_size]);
  }
  expectApiError(await search({ page_size: '101' }), 400, 'page_size must be at most 100', 'page_size');
  expectApiError(await search({ page_size: '0' }), 400, 'page_size must be at least 1', 'page_size');
  expectApiError(await search({ page: '0' }), 400, 'page must be at least 1', 'page');
});

test(row('DEC-197'), async () => {
  const list = [(await search({})).body, (await search({ page: '2' })).body].flatMap(
    (body) => body.insurance_providers,
  );
  expect(list).toHaveLength(known.length);
  for (const each of list) {
    const { name, payerId, activeFlag, address, createdAt } = known.find(({ companyId }) => companyId === each.ehr_id);
    expect(each).toStrictEqual({
      id: expect.stringMatching(/^[0-9a-f]{32}$/),
      ehr_id: each.ehr_id,
      name,
      payer_id: payerId,
      active: activeFlag === 'Y',
      status: activeFlag === 'Y' ? 'active' : 'inactive',
      address: address.line1 || null,
      city: address.city || null,
      state: address.state || null,
      created_at: createdAt,
    });
  }
  expect(list.some(({ address, city, state, payer_id }) => address && city && state && payer_id)).toBe(true);
});

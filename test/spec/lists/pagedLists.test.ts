import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { InsuranceProvider } from '../../../src/model/records/insuranceProviders.ts';
import { ReferringProvider } from '../../../src/model/records/referringProviders.ts';
import { expectApiError, expectSchema } from '../../api/support.ts';
import { startSandbox, type TestSandbox } from '../../harness/sandbox.ts';

type Listed = Record<string, string | boolean | null> & { id: string; name: string };

let fixture: TestSandbox;
beforeAll(async () => {
  fixture = await startSandbox({ small: true });
  const records = [
    ['insurance-companies', { name: 'Älpine Mutual_100%', payerId: 'ALP01', carrierId: null, activeFlag: 'N' }],
    ['insurance-companies', { name: 'Alpine Mutual', payerId: 'ALP02', carrierId: 'C77', address: { city: 'Bern' } }],
    [
      'referring-providers',
      { firstName: 'Zoë', middleInitial: 'Q', lastName: 'Müller-Ångström', phone: '999-555-0100', fax: '999-555-0101' },
    ],
    ['referring-providers', { firstName: 'Per%cent', lastName: 'Under_score', npi: '9999999999' }],
  ] as const;
  for (const [kind, values] of records) {
    const response = await fixture.api.control('POST', `/control/${kind}`, values);
    expect(response.status, JSON.stringify(response.body)).toBe(201);
  }
  await fixture.api.sync();
});
afterAll(() => fixture.close());

async function page(kind: 'insurance_providers' | 'referring_providers', query = '') {
  const path = kind.replace('_', '-');
  const response = await fixture.api.call('GET', `/v1/${path}?${query}`);
  expectSchema(`${path}.list`, response);
  expect(Object.keys(response.body)).toStrictEqual(['success', kind, 'pagination']);
  return response.body as { pagination: Record<string, number> } & Record<typeof kind, Listed[]>;
}

const find = async (kind: Parameters<typeof page>[0], query: Record<string, string>) => {
  const body = await page(kind, `${new URLSearchParams(query)}`);
  expect(body.pagination.total_count).toBe(body[kind].length);
  return body[kind].map(({ name }) => name);
};

describe.each([
  ['insurance_providers', InsuranceProvider, 100],
  ['referring_providers', ReferringProvider, 1000],
] as const)('%s', (kind, schema, page_size_max) => {
  const expectRejected = async (query: string, message: string, field: string) =>
    expectApiError(await fixture.api.call('GET', `/v1/${kind.replace('_', '-')}?${query}`), 400, message, field);

  test('are listed with every field and the total count, 100 per page', async () => {
    const body = await page(kind);
    const [stored] = await fixture.owner<{ n: number }[]>`SELECT count(*) AS n FROM ${fixture.owner(kind)}`;
    const total = stored?.n ?? 0;
    expect(total).toBeGreaterThan(4);
    expect(body[kind]).toHaveLength(Math.min(100, total));
    expect(body.pagination).toStrictEqual({
      page: 1,
      current_page: 1,
      page_size: 100,
      total_count: total,
      total_pages: Math.ceil(total / 100),
    });
    for (const each of body[kind]) {
      expect(Object.keys(each).sort()).toStrictEqual(Object.keys(schema.properties).sort());
    }
  });

  test('are complete over small pages, without duplicates', async () => {
    const all = (await page(kind, 'page_size=100'))[kind];
    const paged = [];
    for (let n = 1; paged.length < all.length && n <= 100; n += 1) {
      paged.push(...(await page(kind, `page_size=3&page=${n}`))[kind]);
    }
    expect(paged.slice(0, all.length)).toStrictEqual(all);
  });

  test(`accept a page size of up to ${page_size_max}`, async () => {
    await page(kind, `page_size=${page_size_max}`);
    await expectRejected(`page_size=${page_size_max + 1}`, `page_size must be at most ${page_size_max}`, 'page_size');
    await expectRejected('page_size=0', 'page_size must be at least 1', 'page_size');
    await expectRejected('page=0', 'page must be at least 1', 'page');
    await expectRejected('ehr_id=1', 'Unexpected query parameters: ehr_id', 'ehr_id');
  });
});

describe('insurance providers', () => {
  test('are found by any part of their name, ignoring case and accents', async () => {
    const both = ['Alpine Mutual', 'Älpine Mutual_100%'];
    for (const name of ['alpine', 'ÄLPINE', 'pine mut']) {
      expect(await find('insurance_providers', { name })).toStrictEqual(both);
    }
    for (const name of ['%', '_', '100%']) {
      expect(await find('insurance_providers', { name })).toStrictEqual(['Älpine Mutual_100%']);
    }
    expect(await find('insurance_providers', { name: 'no such company' })).toStrictEqual([]);
  });

  test('are found by status', async () => {
    expect(await find('insurance_providers', { name: 'alpine', active: 'true' })).toStrictEqual(['Alpine Mutual']);
    expect(await find('insurance_providers', { name: 'alpine', active: 'false' })).toStrictEqual([
      'Älpine Mutual_100%',
    ]);
    const all = (await page('insurance_providers')).pagination.total_count ?? 0;
    const [yes, no] = await Promise.all(
      ['true', 'false'].map(async (active) => (await find('insurance_providers', { active })).length),
    );
    expect((yes ?? 0) + (no ?? 0)).toBe(all);
    const response = await fixture.api.call('GET', '/v1/insurance-providers?active=yes');
    expectApiError(response, 400, 'active must be a boolean', 'active');
  });

  test('have the fields of the EMR, except the carrier id, which is only stored', async () => {
    const [alpine] = (await page('insurance_providers', 'name=alpine&active=true')).insurance_providers;
    expect(alpine).toMatchObject({ payer_id: 'ALP02', active: true, address: null, city: 'Bern', state: null });
    const [row] =
      await fixture.owner`SELECT carrier_id, payer_id FROM insurance_providers WHERE id = ${alpine?.id ?? ''}`;
    expect(row).toStrictEqual({ carrier_id: 'C77', payer_id: 'ALP02' });
  });
});

describe('referring providers', () => {
  const zoe = ['Zoë Q Müller-Ångström'];

  test('are found by any part of a name, ignoring case and accents', async () => {
    for (const last_name of ['muller', 'ÅNGSTRÖM', 'ller-ang']) {
      expect(await find('referring_providers', { last_name })).toStrictEqual(zoe);
    }
    expect(await find('referring_providers', { first_name: 'zoe', last_name: 'muller' })).toStrictEqual(zoe);
    expect(await find('referring_providers', { first_name: 'per', last_name: 'muller' })).toStrictEqual([]);
    expect(await find('referring_providers', { first_name: '%' })).toStrictEqual(['Per%cent Under_score']);
  });

  test('are found by exact phone, fax and NPI, numbers by their digits', async () => {
    for (const phone of ['9995550100', '(999) 555-0100', '+1 999.555.0100']) {
      expect(await find('referring_providers', { phone })).toStrictEqual(zoe);
    }
    expect(await find('referring_providers', { phone: '999-555-0100' })).toStrictEqual(zoe);
    expect(await find('referring_providers', { fax: '999-555-0101' })).toStrictEqual(zoe);
    expect(await find('referring_providers', { npi: '9999999999' })).toStrictEqual(['Per%cent Under_score']);
    for (const query of [{ phone: '999-555-010' }, { phone: '-' }, { fax: '999-555-0100' }, { npi: '999999999' }]) {
      expect(await find('referring_providers', query)).toStrictEqual([]);
    }
  });
});

describe('codes and settings', () => {
  test.each(['visit_types', 'visit_statuses'])('%s have a code and a description', async (kind) => {
    const path = kind.replace('_', '-');
    const response = await fixture.api.call('GET', `/v1/${path}`);
    expectSchema(`${path}.list`, response);
    expect(Object.keys(response.body)).toStrictEqual(['success', kind]);
    expect(response.body[kind].length).toBeGreaterThan(2);
    for (const code of response.body[kind]) expect(Object.keys(code)).toStrictEqual(['code', 'description']);
    const unknown = await fixture.api.call('GET', `/v1/${path}?code=NP`);
    expectApiError(unknown, 400, 'Unexpected query parameters: code', 'code');
  });

  test('settings list what the EMR instance accepts, and identify the access token', async () => {
    const response = await fixture.api.call('GET', '/v1/settings');
    expectSchema('settings.get', response);
    expect(Object.keys(response.body)).toStrictEqual(['success', 'data']);
    const { data } = response.body;
    const [types, statuses] = await Promise.all(
      ['visit-types', 'visit-statuses'].map(async (path) => (await fixture.api.call('GET', `/v1/${path}`)).body),
    );
    expect(data).toMatchObject({
      access_token_reference_id: fixture.sandbox.access_token_reference_id,
      emr_name: 'larkspur',
      timezone: 'America/New_York',
      visit_types: types.visit_types,
      visit_statuses: statuses.visit_statuses,
      required_patient_fields: ['first_name', 'last_name', 'dob', 'sex'],
    });
    for (const list of ['languages', 'races', 'ethnicities']) {
      expect(data[list].length, list).toBeGreaterThan(1);
      for (const code of data[list]) expect(Object.keys(code)).toStrictEqual(['code', 'name']);
    }
    expectApiError(await fixture.api.call('GET', '/v1/settings?x=1'), 400, 'Unexpected query parameters: x', 'x');
  });

  test('settings have empty lists before the first sync', async () => {
    await fixture.owner`UPDATE organizations SET code_lists = NULL`;
    await fixture.owner`DELETE FROM visit_types`;
    const response = await fixture.api.call('GET', '/v1/settings');
    expectSchema('settings.get', response);
    expect(response.body.data).toMatchObject({
      visit_types: [],
      languages: [],
      required_patient_fields: ['first_name', 'last_name', 'dob', 'sex'],
    });
  });
});

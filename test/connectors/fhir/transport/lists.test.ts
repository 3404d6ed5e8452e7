import type * as fhir from 'fhir/r4.js';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { fhir as fhirConnector } from '../../../../src/emr/fhir/fhir.ts';
import { createClient, type FhirClient } from '../../../../src/emr/fhir/transport/client.ts';
import { type FhirServer, startFhirServer } from '../../../harness/fhir/startFhirServer.ts';
import { awaitFailure, createEndpoint, type FakeResponse, startFakeServer } from '../../larkspur/fixture.ts';
import { linkedClient, listPaths, type TestEndpoint } from '../fixture.ts';

let server: FhirServer;
let client: FhirClient;
let endpoint: TestEndpoint;
const many = 250;
beforeAll(async () => {
  server = await startFhirServer();
  for (let n = 0; n < many; n++) {
    const name = [{ family: n % 2 ? 'Odd' : 'Even' }];
    await server.storeUnchecked({ resourceType: 'Patient', id: `p${n}`, name, identifier: [{ value: `N-${n}` }] });
  }
  await server.storeUnchecked({ resourceType: 'Organization', id: 'o1', name: 'Examplecare' });
  await server.storeUnchecked({
    resourceType: 'Coverage',
    id: 'c1',
    status: 'active',
    beneficiary: { reference: 'Patient/p1' },
    payor: [{ reference: 'Organization/o1' }],
  });
  ({ client, endpoint } = await linkedClient(server));
});
afterEach(() => {
  server.reset();
  endpoint.calls.length = 0;
});
afterAll(() => server.close());

async function readPages(of: FhirClient = client, params = {}) {
  const pages: { matches: fhir.Patient[]; included: fhir.FhirResource[] }[] = [];
  for await (const page of of.search<fhir.Patient>('Patient', params)) pages.push(page);
  return pages;
}

async function readIds(of: FhirClient = client, params = {}): Promise<Set<string>> {
  return new Set((await readPages(of, params)).flatMap(({ matches }) => matches.map(({ id }) => id ?? '')));
}

describe('a list is read to its end', () => {
  test('page by page, following the links', async () => {
    expect((await readPages()).map(({ matches }) => matches.length)).toEqual([100, 100, 50]);
    expect(await readIds()).toHaveProperty('size', many);
  });

  const behaviors: [string, Partial<FhirServer['faults']>][] = [
    ['without totals', { total: false }],
    ['along links without a host', { paging: 'relative_links' }],
    ['in one bundle without a link', { paging: 'whole' }],
    ['in one bundle without link or total', { paging: 'whole', total: false }],
    ['in bundles of type collection', { bundle_type: 'collection' }],
  ];
  test.each(behaviors)('%s', async (_name, behaviors) => {
    Object.assign(server.faults, behaviors);
    expect(await readIds()).toHaveProperty('size', many);
  });

  test('a list is read to its end, with included records separate from the matches', async () => {
    const pages: { matches: fhir.Coverage[]; included: fhir.FhirResource[] }[] = [];
    for await (const page of client.search<fhir.Coverage>('Coverage', { _include: 'Coverage:payor' })) pages.push(page);
    expect(pages.flatMap(({ matches }) => matches)).toMatchObject([{ id: 'c1' }]);
    expect(pages.flatMap(({ included }) => included)).toMatchObject([{ resourceType: 'Organization', id: 'o1' }]);
  });

  test('a list may be empty', async () => {
    expect(await client.searchAll<fhir.Patient>('Patient', { family: 'Nobody' })).toEqual([]);
  });
});

describe('a list that was cut off fails, because missing records would be deleted', () => {
  test.each([true, false])('a list that was cut off fails (with a total: %s)', async (total) => {
    Object.assign(server.faults, { paging: 'cut', total });
    const failure = await awaitFailure(readIds());
    expect(failure).toMatchObject({ kind: 'unavailable', message: 'The EMR returned an incomplete list.' });
  });

  test('if the server counts only on request', async () => {
    const entry = Array.from({ length: 20 }, (_, n) => ({ resource: { resourceType: 'Patient', id: String(n) } }));
    const fake = await fakeFhirServer((path) =>
      path.includes('_summary=count')
        ? { json: { ...bundle(), entry: [], total: 21 } }
        : { json: { ...bundle(), entry } },
    );
    expect(await awaitFailure(readIds(fake.client))).toMatchObject({ message: 'The EMR returned an incomplete list.' });
    await fake.close();
  });

  test('a list that was cut off in the middle, or whose search the server has dropped, fails', async () => {
    for (const kind of ['error_500', 'reset', 'truncated', 'html_200', 'empty', 'not_fhir', 'too_many'] as const) {
      server.fail({ kind, path: '_getpages' });
      expect([kind, (await awaitFailure(readIds())).kind]).toEqual([kind, 'unavailable']);
    }
  });
});

describe('a criterion that identifies a person', () => {
  const criteria = { family: 'Odd', given: 'Zelda', birthdate: 'ge1980-02-03' };
  const addresses = (from: number) => server.ledger.slice(from).map(({ method, path }) => `${method} ${path}`);

  test('is sent in the body and not in the URL', async () => {
    const from = server.ledger.length;
    await client.searchAll<fhir.Patient>('Patient', criteria);
    expect(await readIds(client, { family: 'Odd' })).toHaveProperty('size', many / 2);
    expect(addresses(from)[0]).toBe('POST /fhir/R4/Patient/_search');
    expect(addresses(from).join()).not.toMatch(/Odd|Zelda|1980/);
  });

  test.each(['unknown', 'unread', 'unheard'] as const)(
    'is sent in the URL to a server where searches by POST are %s',
    async (way) => {
      server.faults.search_by_form = way;
      const other = await linkedClient(server);
      const from = server.ledger.length;
      expect(await readIds(other.client, { family: 'Odd' })).toHaveProperty('size', many / 2);
      expect(addresses(from)[0]).toBe('GET /fhir/R4/Patient?_count=100&family=Odd');
    },
  );

  test('still works after a server stops supporting searches by POST', async () => {
    server.faults.search_by_form = 'unknown';
    expect(await readIds(client, { family: 'Odd' })).toHaveProperty('size', many / 2);
  });

  test('stays in the body if the server was unavailable during the last probe', async () => {
    const { access } = await linkedClient(server);
    const addressed = async (faulty: () => void) => {
      faulty();
      const refreshed = await fhirConnector.refreshCapabilities?.(createEndpoint(server.url), access);
      return JSON.parse(refreshed?.grant.server ?? access.grant.server ?? '').searches_by_form;
    };
    for (const kind of ['error_500', 'reset', 'too_many'] as const) {
      expect(await addressed(() => server.fail({ kind, method: 'POST', path: '/_search' }))).toBe(true);
    }
    expect(await addressed(() => server.fail({ kind: 'html_200', method: 'POST', path: '/_search' }))).toBe(false);
  });

  test('is not in the URL if it may be an MRN or an id', async () => {
    const { access } = await linkedClient(server);
    const from = server.ledger.length;
    const { findPatient } = fhirConnector.open(createEndpoint(server.url), access);
    expect(await findPatient?.('MRN-5150')).toBeUndefined();
    expect(addresses(from).join()).not.toContain('MRN-5150');
    expect(addresses(from)).toHaveLength(2);
  });

  test('does not prevent linking if the server fails on a search by POST', async () => {
    for (const kind of ['error_500', 'html_200', 'reset', 'not_fhir'] as const) {
      server.fail({ kind, path: '/_search' });
      const other = await linkedClient(server);
      expect(other.client.capabilities.searches_by_form).toBe(false);
    }
  });
});

describe('a search by a parameter that the server does not support', () => {
  test.each(['empty', 'refuse', 'ignore'] as const)('is never sent to a server that handles it as: %s', async (way) => {
    server.faults.unknown_parameter = way;
    const failure = await awaitFailure(client.searchAll<fhir.Patient>('Patient', { shoe_size: '44' }));
    expect(failure).toMatchObject({
      kind: 'refused',
      code: 'not_supported',
      message: 'The EMR does not support searching Patient records by shoe_size.',
    });
    expect(endpoint.calls).toEqual([]);
  });

  test('is refused if the server ignores a parameter that it declared', async () => {
    server.fail({ kind: 'forbidden', path: 'Patient' });
    expect((await awaitFailure(client.searchAll<fhir.Patient>('Patient', { family: 'Odd' }))).kind).toBe('refused');
  });

  test('is repeated without the parameter if it only affects the form of the response', async () => {
    const fake = await fakeFhirServer((path) =>
      path.includes('_count') ? { status: 400, json: bad } : { json: bundle() },
    );
    expect(await fake.client.searchAll<fhir.Patient>('Patient', { family: 'A' })).toMatchObject([{ id: '1' }]);
    expect(fake.paths.at(-1)).toContain('family=A');
    await fake.close();
  });

  test('is refused if a warning next to the matches names the parameter', async () => {
    const warning = { severity: 'warning', code: 'not-supported', diagnostics: 'family is not supported' };
    const entry = [{ resource: { resourceType: 'OperationOutcome', issue: [warning] }, search: { mode: 'outcome' } }];
    const fake = await fakeFhirServer(() => ({ json: { ...bundle(), entry: [...bundle().entry, ...entry] } }));
    expect(await awaitFailure(fake.client.searchAll('Patient', { family: 'A' }))).toMatchObject({ kind: 'refused' });
    await fake.close();
  });

  test('ignores a hint next to the matches', async () => {
    const entry = [
      { resource: { resourceType: 'OperationOutcome', issue: [{ severity: 'information', code: 'informational' }] } },
      {},
      null,
    ];
    const fake = await fakeFhirServer(() => ({ json: { ...bundle(), entry: [...bundle().entry, ...entry] } }));
    expect(await fake.client.searchAll('Patient', { family: 'A' })).toHaveLength(1);
    await fake.close();
  });
});

describe('the next page of a list', () => {
  test('the next page of a list under an internal host name is read at the linked address', async () => {
    const other_server = await startFakeServer(() => ({ json: bundle() }));
    server.faults.link_origin = other_server.url;
    expect(await readIds()).toHaveProperty('size', many);
    expect(listPaths(endpoint).filter((path) => path === 'GET ')).toHaveLength(2);
    await other_server.close();
  });

  test('a next page at another host and path is not followed, and gets no token', async () => {
    const headers_received: unknown[] = [];
    const other_server = await startFakeServer(({ headers }) => {
      headers_received.push(headers);
      return { json: bundle() };
    });
    const fake = await fakeFhirServer(() => ({ json: bundle(`${other_server.url}/elsewhere?page=2`) }));
    expect(await awaitFailure(readIds(fake.client))).toMatchObject({ kind: 'unavailable' });
    expect(headers_received).toEqual([]);
    await fake.close();
    await other_server.close();
  });

  test.each(['the same page', 'a page before', 'ever new addresses of the same records', 'nothing readable'])(
    'the next page of a list at %s fails instead of continuing forever',
    async (where) => {
      let page = 0;
      const fake = await fakeFhirServer((_path, base) => {
        page += 1;
        const next: Record<string, string> = {
          'the same page': `${base}/Patient?_count=100`,
          'a page before': `${base}/Patient?page=${page % 3}`,
          'ever new addresses of the same records': `${base}/Patient?page=${page}`,
          'nothing readable': 'http://[',
        };
        const id = where === 'a page before' ? String(page) : '1';
        return { json: bundle(next[where], id) };
      });
      expect(await awaitFailure(readIds(fake.client))).toMatchObject({ kind: 'unavailable' });
      expect(page).toBeLessThan(10);
      await fake.close();
    },
  );
});

test('too many matches are refused rather than cut off', async () => {
  for (let n = 0; n < 1001; n++)
    await server.storeUnchecked({ resourceType: 'Flag', id: `f${n}`, status: 'active' } as fhir.Flag);
  const failure = await awaitFailure(client.searchAll<fhir.Flag>('Flag', {}));
  const message = 'More than 1000 records match in the EMR.';
  expect(failure).toMatchObject({ kind: 'refused', code: 'too_many_matches', message });
});

const bad = { resourceType: 'OperationOutcome', issue: [{ severity: 'error', code: 'not-supported' }] };

function bundle(next?: string, id = '1') {
  return {
    resourceType: 'Bundle',
    type: 'searchset',
    ...(next !== undefined && { link: [{ relation: 'next', url: next }] }),
    entry: [{ resource: { resourceType: 'Patient', id } }] as object[],
  };
}

/** A client of a server with arbitrary responses. */
async function fakeFhirServer(response: (path: string, base: string) => FakeResponse) {
  const paths: string[] = [];
  let base = '';
  const fake = await startFakeServer(({ url = '' }) => {
    paths.push(url);
    return response(url, base);
  });
  base = `${fake.url}/r4`;
  const facts = { interactions: ['read', 'search-type'], params: ['family'], conditional_create: false };
  const grant = {
    access_token: 'a-token',
    server: JSON.stringify({ fhir_version: '4.0.1', software: '', types: { Patient: { ...facts, versioned: true } } }),
  };
  const access = { credentials: { way: 'bearer_token' }, grant, saveGrant: async () => {} };
  return { client: createClient(createEndpoint(base), access), paths, close: fake.close };
}

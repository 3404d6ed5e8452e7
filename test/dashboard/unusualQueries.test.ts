import { afterAll, beforeAll, expect, test } from 'vitest';
import { endpoints } from '../../src/surfaces/api/endpoints.ts';
import { link_endpoints } from '../../src/surfaces/linkpage/endpoints.ts';
import { signInOperator, type TestOperator } from '../harness/operator.ts';
import { startSandbox, type TestSandbox } from '../harness/sandbox.ts';
import { findRecords, listPaths, operator_endpoints, type Records } from './walkEndpoints.ts';

let fixture: TestSandbox;
let operator: TestOperator;
let records: Records;
beforeAll(async () => {
  fixture = await startSandbox({ small: true });
  operator = await signInOperator(fixture);
  records = await findRecords(fixture, fixture.sandbox.client_id);
});
afterAll(() => fixture.close());

const unusual = [
  ...['0001-01-01T00:00:00Z', '2016-12-31T23:59:60Z', '9999-12-31T23:59:59-12:00', '9999-12-31', '2026-13-45'],
  ...['-1', '2147483648', '999999999999999', '99999999999999999999', '1e400', '0x10'],
  ...['', ' ', '\0', '\u{1F600}', '%', "'", '__proto__', 'a,b'],
];

/** Other required parameters, without which nothing is read. */
const required: Record<string, string> = {
  ...{ range: '1h', code: 'internal', reason: 'none', since: '2026-01-01T00:00:00Z' },
  ...{ start_date: '2026-11-16', end_date: '2026-11-20' },
};

// An export that fails has sent its status by then: reading it to the end throws.
test('no query of a dashboard endpoint, however unusual, causes a server error', async () => {
  const failed: string[] = [];
  for (const { path, method, query, stream } of operator_endpoints) {
    if (method !== 'GET' || stream || query === undefined) continue;
    const [first = ''] = listPaths({ path }, records);
    const others = Object.entries(required).filter(([name]) => query.required?.includes(name));
    for (const name of Object.keys(query.properties)) {
      for (const value of unusual) {
        const search = new URLSearchParams({ ...Object.fromEntries(others), [name]: value });
        const status = await operator.get(`${first}?${search}`).then(
          (response) => response.status,
          () => 'ended early',
        );
        if (typeof status === 'string' || status >= 500) failed.push(`${path} ${name}=${value}: ${status}`);
      }
    }
  }
  expect(failed).toStrictEqual([]);
});

type Node = { type?: string; maximum?: number; properties?: Record<string, Node>; items?: Node; anyOf?: Node[] };

function listUnlimited({ type, maximum, properties = {}, items, anyOf = [] }: Node, at: string): string[] {
  return [
    ...((type === 'integer' || type === 'number') && maximum === undefined ? [at] : []),
    ...Object.entries(properties).flatMap(([name, each]) => listUnlimited(each, `${at}.${name}`)),
    ...(items ? listUnlimited(items, `${at}[]`) : []),
    ...anyOf.flatMap((each) => listUnlimited(each, at)),
  ];
}

test('every number in the body of an endpoint has a maximum, as the columns of the database have', async () => {
  const all = [...endpoints, ...link_endpoints, ...operator_endpoints];
  expect(all.flatMap(({ id, body }) => listUnlimited(body ?? {}, id))).toStrictEqual([]);
  const response = await fixture.api.call('POST', '/sandbox/larkspur/open', { body: { job_id: 1e20 } });
  expect([response.status, response.body.code]).toStrictEqual([400, 'invalid_field']);
});

import { afterAll, beforeAll, expect, test } from 'vitest';
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

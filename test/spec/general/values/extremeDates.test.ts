import { afterAll, beforeAll, expect, test } from 'vitest';
import { expectApiError } from '../../../api/support.ts';
import type { ApiResponse } from '../../../harness/api.ts';
import { row } from '../../../harness/row.ts';
import { startSandbox, type TestSandbox } from '../../../harness/sandbox.ts';

let fixture: TestSandbox;
beforeAll(async () => {
  fixture = await startSandbox({ small: true });
});
afterAll(() => fixture.close());

type Parameter = { name: string; in: string; required?: boolean; schema: { format?: string }; example?: unknown };

const times = [
  '9999-12-31',
  '0001-01-01',
  '9999-12-31T23:59:59-12:00',
  '9999-12-31T23:59:59Z',
  '0001-01-01T00:00:00+14:00',
  '0001-01-01T00:00:00Z',
];

const isTime = (name: string) => /(^|_)(date|datetime|dob|at|on|after|before|since|until)(_|$)/.test(name);

test(row('ATT-03'), async () => {
  const { paths } = (await fixture.api.call('GET', '/openapi.json')).body;
  const lists = Object.entries<Record<string, { parameters: Parameter[] }>>(paths).flatMap(([path, { get }]) => {
    const filters = (get?.parameters ?? []).filter((each) => each.in === 'query' && isTime(each.name));
    return filters.length > 0 && !path.includes('{') ? [{ path, filters }] : [];
  });
  expect(lists.map(({ path }) => path)).toEqual(
    expect.arrayContaining(['/v1/webhook-events', '/v1/jobs', '/v1/appointments', '/v1/availability', '/v1/claims']),
  );
  const server_errors: string[] = [];
  const note = (request: string, { status }: ApiResponse) => {
    if (status >= 500) server_errors.push(`${request}: ${status}`);
  };
  for (const { path, filters } of lists) {
    for (const time of times) {
      const query = new URLSearchParams(Object.fromEntries(filters.map(({ name }) => [name, time])));
      note(`${path}?${query}`, await fixture.api.call('GET', `${path}?${query}`));
    }
  }
  for (const time of times) {
    for (const body of [{ date: time, time: '11:00 pm' }, { datetime: time }]) {
      const visit = { mrn: 'LK100002', location: '11', provider: '501', type: 'OV', ...body };
      note(`appointment ${time}`, await fixture.api.call('POST', '/v1/appointments', { body: visit }));
    }
    const days = { start_date: time, end_date: time };
    note(`fetch ${time}`, await fixture.api.call('POST', '/v1/appointments/fetch', { body: days }));
    const free = { ...days, provider_ids: ['501'] };
    note(`availability ${time}`, await fixture.api.call('POST', '/v1/availability/fetch', { body: free }));
    const search = { dob: time };
    note(`search ${time}`, await fixture.api.call('POST', '/v1/patients/search', { body: search }));
    const payment = { patient_mrn: 'LK100001', payment_method: 'Check', reference_number: '1', location: '11' };
    const paid = { ...payment, amount: 1, deposit_date: time };
    note(`payment ${time}`, await fixture.api.call('POST', '/v1/payments?dry_run=true', { body: paid }));
  }
  expect(server_errors).toStrictEqual([]);
  for (const time of ['9999-12-31', '9999-12-31T23:59:59-12:00', '0001-01-01T00:00:00+14:00']) {
    const query = new URLSearchParams({ start_date: time, end_date: time });
    const rule = 'start_date must be a date (YYYY-MM-DD) or an ISO 8601 date-time.';
    expectApiError(await fixture.api.call('GET', `/v1/webhook-events?${query}`), 400, rule, 'start_date');
  }
});

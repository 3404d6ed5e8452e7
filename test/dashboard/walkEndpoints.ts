import type { Endpoint } from '../../src/http/endpoint.ts';
import { record_kinds } from '../../src/model/records/kinds.ts';
import { dashboardEndpoints } from '../../src/surfaces/dashboard/endpoints.ts';
import type { ApiResponse } from '../harness/api.ts';
import type { TestOperator } from '../harness/operator.ts';
import type { TestSandbox } from '../harness/sandbox.ts';

const dashboard_kinds = record_kinds.filter(({ dashboard_columns }) => dashboard_columns !== undefined);

const unused = () => {
  throw new Error('Only the declarations are read.');
};

/** Every dashboard endpoint that needs an operator. */
export const operator_endpoints: readonly Endpoint[] = dashboardEndpoints({
  live: { open: unused },
  findSandboxEmr: unused,
}).filter(({ auth }) => auth !== 'none');

export const endpoints_in_client = operator_endpoints.filter(({ auth }) => auth === 'operator_in_client');

/** The ids of a client's records, by the path segment before the parameter. */
export type Records = Record<string, readonly string[]>;

/** Finds all records of a client that a path can name. */
export async function findRecords({ owner }: Pick<TestSandbox, 'owner'>, client_id: string): Promise<Records> {
  const [client] = await owner<{ id: string }[]>`SELECT id FROM clients WHERE public_id = ${client_id}`;
  const id = client?.id ?? '';
  const ids = async (table: string) => {
    const rows = await owner<{ id: string | number }[]>`
      SELECT id FROM ${owner(table)} WHERE client_id = ${id} ORDER BY id DESC LIMIT 20`;
    return rows.map((row) => String(row.id));
  };
  const some = async (table: string) => (await ids(table)).slice(0, 3);
  return {
    clients: [client_id],
    accounts: await ids('accounts'),
    organizations: await ids('organizations'),
    jobs: await ids('jobs'),
    events: await ids('events'),
    webhooks: await ids('webhook_endpoints'),
    // Of the receiver.
    requests: await ids('received_requests'),
    patients: await some('patients'),
    providers: await some('providers'),
    locations: await some('locations'),
    'connection-reports': await ids('connection_reports'),
    'emr-apps': await ids('emr_apps'),
    keys: await ids('client_secrets'),
    records: dashboard_kinds.map(({ name }) => name),
    removals: ['patients'],
    ...Object.fromEntries(
      await Promise.all(dashboard_kinds.map(async ({ name }) => [`records/${name}`, await some(name)] as const)),
    ),
  };
}

/** The endpoint's paths with every combination of these records. */
export function listPaths({ path }: Pick<Endpoint, 'path'>, records: Records): string[] {
  let paths = [''];
  for (const part of path.split('/').slice(1)) {
    const isParameter = part.startsWith('{');
    paths = paths.flatMap((before) => {
      if (!isParameter) return [`${before}/${part}`];
      const [segment = '', parent] = before.split('/').reverse();
      const values = records[`${parent}/${segment}`] ?? records[segment] ?? ['0'.repeat(32)];
      return values.map((value) => `${before}/${encodeURIComponent(value)}`);
    });
  }
  return paths;
}

/** Sends a request as the page does. The live stream has no end, so only its beginning is read. */
export async function callEndpoint(
  { sandbox }: Pick<TestSandbox, 'sandbox'>,
  operator: TestOperator,
  { id, method }: Endpoint,
  path: string,
  body: unknown = {},
): Promise<ApiResponse> {
  const query = queries[id] ?? '';
  if (id === 'dashboard.live.get') {
    const ending = new AbortController();
    const response = await fetch(sandbox.base_url + path, {
      headers: { cookie: operator.cookie },
      signal: ending.signal,
    });
    const first = await response.body?.getReader().read();
    ending.abort();
    return { status: response.status, headers: response.headers, body: Buffer.from(first?.value ?? []).toString() };
  }
  if (method === 'GET') return operator.get(path + query);
  return operator[method === 'POST' ? 'post' : method === 'PATCH' ? 'patch' : 'delete'](path, body);
}

export function toText({ body }: ApiResponse): string {
  return typeof body === 'string' ? body : JSON.stringify(body);
}

/** Required query parameters. */
const queries: Record<string, string> = {
  'dashboard.overview.history': '?range=7d',
  'dashboard.overview.repeatable': '?code=rejected&reason=none',
  'dashboard.failedEvents.count': '?since=2026-01-01T00:00:00Z',
  'dashboard.availability.list': '?start_date=2026-11-16&end_date=2026-11-20',
  'dashboard.jobs.list': '?page_size=200',
  'dashboard.events.list': '?page_size=200',
  'dashboard.requests.list': '?page_size=200',
  'dashboard.audit.list': '?page_size=200',
};

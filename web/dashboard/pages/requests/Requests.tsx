import { Text } from '@mantine/core';
import { DocsLink, PageTitle } from '../../parts/layout.tsx';
import { type Column, PagedTable } from '../../parts/lists/DataTable.tsx';
import { type Filter, FilterBar, useFilters } from '../../parts/lists/FilterBar.tsx';
import { PeriodFilter, usePeriod } from '../../parts/lists/Period.tsx';
import { formatBytes } from '../../parts/PayloadViewer.tsx';
import { Timestamp } from '../../parts/Timestamp.tsx';
import { api_routes } from '../../service/api.gen.ts';
import type { RowOf } from '../../service/api.ts';
import { usePages } from '../../service/queries.ts';
import { useSession } from '../../service/session.tsx';
import { useClientOptions } from '../../service/useClientOptions.ts';
import { useUrlFilters } from '../../service/useUrlFilters.ts';
import { RequestDrawer } from './RequestDrawer.tsx';
import { findPath } from './requestPath.ts';
import { StatusCode } from './StatusCode.tsx';

type RequestRow = RowOf<'requests.list'>;

const columns: Column<RequestRow>[] = [
  { head: 'Time', cell: (request) => <Timestamp at={request.at} show="exact" /> },
  { head: 'Status', cell: (request) => <StatusCode status={request.status} /> },
  {
    head: 'Request',
    phone: 'line',
    cell: (request) => (
      <div className="reason">
        <Text size="sm" component="code">
          {request.method} {findPath(request)}
        </Text>
        {request.code && (
          <div className="secondary">
            {request.code}
            {request.field && ` · ${request.field}`}
          </div>
        )}
      </div>
    ),
  },
  { head: 'Client', cell: (request) => request.client_name ?? 'Unauthenticated' },
  {
    head: 'Duration',
    cell: (request) => <span className="nowrap">{request.duration_ms.toLocaleString()} ms</span>,
    align: 'right',
  },
  {
    head: 'Response',
    cell: ({ response_bytes }) => (
      <span className="nowrap">{response_bytes === null ? '–' : formatBytes(response_bytes)}</span>
    ),
    align: 'right',
    phone: 'hidden',
  },
  {
    head: 'Request ID',
    cell: (request) => <code className="secondary own-id">{request.id}</code>,
    phone: 'hidden',
  },
];

const endpoint_options = [
  ...Object.entries(api_routes).map(([value, { method, path }]) => ({ value, label: `${method} ${path}` })),
  { value: 'unknown', label: 'Unknown routes' },
];

/** Recent API requests. Bodies and IP addresses are not stored. */
export default function Requests() {
  const { get, set } = useUrlFilters();
  const { sandbox } = useSession();
  const filters: Filter[] = [
    { name: 'search', label: 'Path or request ID' },
    { name: 'client_id', label: 'Client', options: useClientOptions() },
    { name: 'endpoint', label: 'Endpoint', options: endpoint_options, searchable: true },
    {
      name: 'status',
      label: 'Status',
      options: [
        { value: '2xx', label: 'Success (2xx)' },
        { value: '4xx', label: 'Client error (4xx)' },
        { value: '5xx', label: 'Server error (5xx)' },
        { value: 'failed', label: 'Any error' },
      ],
    },
    { name: 'duration_ms_min', label: 'Min. duration (ms)', type: 'number' },
  ];
  const values = { ...useFilters(filters), ...usePeriod('from', 'to') };
  const filtered = Object.values(values).some(Boolean);
  const requests = usePages('requests.list', {}, { filters: values });
  const shown = requests.data?.find(({ id }) => id === get('request'));
  return (
    <>
      <PageTitle
        subtitle={`Recent API requests. Bodies, query strings and addresses are not stored${sandbox ? '' : ', and paths only as patterns'}.`}
      >
        Requests
      </PageTitle>
      <FilterBar filters={filters}>
        <PeriodFilter from="from" to="to" />
      </FilterBar>
      <PagedTable
        query={requests}
        label="Requests"
        columns={columns}
        rowKey={(request) => request.id}
        href={(request) => `?${withRequest(request.id)}`}
        empty={
          filtered ? (
            'No matching requests. Change or clear the filters. Requests are kept for a few days.'
          ) : (
            <>
              No requests yet. Requests to the API appear here. <DocsLink path="">Send your first one</DocsLink>.
            </>
          )
        }
      />
      <RequestDrawer request={shown} onClose={() => set('request', '')} />
    </>
  );
}

/** The current filters, with this request opened. */
function withRequest(id: string): URLSearchParams {
  const params = new URLSearchParams(window.location.search);
  params.set('request', id);
  return params;
}

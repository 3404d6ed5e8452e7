import { Text } from '@mantine/core';
import { type Column, PagedTable } from '../../parts/DataTable.tsx';
import { type Filter, FilterBar, useFilters } from '../../parts/FilterBar.tsx';
import { PageTitle } from '../../parts/layout.tsx';
import { Timestamp } from '../../parts/Timestamp.tsx';
import type { RowOf } from '../../service/api.ts';
import { usePages } from '../../service/queries.ts';
import { useClientOptions } from '../../service/useClientOptions.ts';

const columns: Column<RowOf<'requests.list'>>[] = [
  { head: 'Time', cell: (request) => <Timestamp at={request.at} /> },
  { head: 'Client', cell: (request) => request.client_name ?? 'Unauthenticated' },
  { head: 'Endpoint', cell: (request) => `${request.method} ${request.endpoint}` },
  {
    head: 'Status',
    cell: (request) => (
      <>
        {request.status}
        {request.code && (
          <Text size="xs" c="dimmed">
            {request.code}
          </Text>
        )}
      </>
    ),
  },
  { head: 'Duration', cell: (request) => `${request.duration_ms} ms`, align: 'right' },
  { head: 'Request ID', cell: (request) => <Text size="xs">{request.id}</Text> },
];

/** Recent API requests. Bodies and IP addresses are not stored. */
export default function Requests() {
  const filters: Filter[] = [
    { name: 'id', label: 'Request ID' },
    { name: 'client_id', label: 'Client', options: useClientOptions() },
    { name: 'endpoint', label: 'Endpoint' },
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
  const requests = usePages('requests.list', {}, { filters: useFilters(filters) });
  return (
    <>
      <PageTitle>Requests</PageTitle>
      <FilterBar filters={filters} />
      <PagedTable
        query={requests}
        label="Requests"
        columns={columns}
        keyOf={(request) => request.id}
        empty="No matching requests. Requests from the last few days appear here."
      />
    </>
  );
}

import { Text } from '@mantine/core';
import type { ClientRow } from '../../../../src/model/dashboard/clients.ts';
import type { RequestRow } from '../../../../src/model/dashboard/requests.ts';
import { type Filter, FilterBar, useFilters } from '../../parts/FilterBar.tsx';
import { Moment } from '../../parts/Moment.tsx';
import { PageTitle } from '../../parts/PageTitle.tsx';
import { type Column, PagedRows } from '../../parts/Rows.tsx';
import { usePages } from '../../service/usePages.ts';
import { useAnswer } from '../../service/useService.ts';

const columns: Column<RequestRow>[] = [
  { head: 'When', cell: (request) => <Moment at={request.at} /> },
  { head: 'Client', cell: (request) => request.client_name ?? 'Nobody known' },
  { head: 'Endpoint', cell: (request) => `${request.method} ${request.endpoint}` },
  {
    head: 'Answer',
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
  { head: 'Took', cell: (request) => `${request.duration_ms} ms`, align: 'right' },
  { head: 'Request id', cell: (request) => <Text size="xs">{request.id}</Text> },
];

/** What applications asked for lately. Bodies and addresses are not kept. */
export default function Requests() {
  const clients = useAnswer<{ clients: ClientRow[] }>('clients', { live: ['accounts'] });
  const known = clients.data?.clients.map(({ client_id, name }) => ({ value: client_id, label: name })) ?? [];
  const filters: Filter[] = [
    { name: 'id', label: 'Request id' },
    { name: 'client_id', label: 'Client', choices: known },
    { name: 'endpoint', label: 'Endpoint, exactly' },
    {
      name: 'status',
      label: 'Answer',
      choices: [
        { value: '2xx', label: 'Succeeded' },
        { value: '4xx', label: 'Refused (4xx)' },
        { value: '5xx', label: 'Failed (5xx)' },
        { value: 'failed', label: 'Not succeeded' },
      ],
    },
    { name: 'duration_ms_min', label: 'At least, in ms', type: 'number' },
  ];
  const requests = usePages<RequestRow>('requests', { filters: useFilters(filters) });
  return (
    <>
      <PageTitle>Requests</PageTitle>
      <FilterBar filters={filters} />
      <PagedRows
        of={requests}
        label="Requests"
        columns={columns}
        keyOf={(request) => request.id}
        empty="No request matches. Requests of the last days are listed here as soon as an application calls."
      />
    </>
  );
}

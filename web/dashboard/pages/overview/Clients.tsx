import { Anchor, Paper, Title } from '@mantine/core';
import { Link } from 'wouter';
import type { ClientLoad } from '../../../../src/model/dashboard/overview.ts';
import { Moment } from '../../parts/Moment.tsx';
import { type Column, Rows } from '../../parts/Rows.tsx';

/** The whole installation: what waits for each client. */
export function Clients({ clients }: { clients: readonly ClientLoad[] }) {
  return (
    <Paper withBorder p="md" component="section" aria-label="All clients">
      <Title order={2} size="h4">
        All clients
      </Title>
      <Rows
        label="All clients"
        rows={clients}
        columns={columns}
        keyOf={(client) => client.client_id}
        empty="There is no client yet. Make one in the settings."
      />
    </Paper>
  );
}

const columns: Column<ClientLoad>[] = [
  {
    head: 'Client',
    cell: ({ client_id, name }) => (
      <Anchor component={Link} size="sm" href={`~/dashboard/clients/${client_id}/overview`}>
        {name}
      </Anchor>
    ),
  },
  { head: 'Queued', align: 'right', cell: ({ queued }) => queued.toLocaleString() },
  { head: 'Oldest since', align: 'right', cell: ({ oldest_queued_at }) => <Moment at={oldest_queued_at} /> },
  { head: 'Running', align: 'right', cell: ({ running }) => running.toLocaleString() },
  { head: 'Waiting for re-linking', align: 'right', cell: ({ parked }) => parked.toLocaleString() },
  { head: 'Need review', align: 'right', cell: ({ needs_review }) => needs_review.toLocaleString() },
  { head: 'Accounts to re-link', align: 'right', cell: ({ relink }) => relink.toLocaleString() },
];

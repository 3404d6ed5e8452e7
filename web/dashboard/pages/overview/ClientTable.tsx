import { Anchor } from '@mantine/core';
import { Link } from 'wouter';
import { Section } from '../../parts/layout.tsx';
import { type Column, DataTable } from '../../parts/lists/DataTable.tsx';
import { Timestamp } from '../../parts/Timestamp.tsx';
import { useSession } from '../../service/session.tsx';
import type { ClientLoad } from '../../service/types.ts';

/** Unfinished jobs of every client. */
export function ClientTable({ clients }: { clients: readonly ClientLoad[] }) {
  const { may } = useSession();
  return (
    <Section title="All clients">
      <DataTable
        label="All clients"
        rows={clients}
        columns={columns}
        rowKey={(client) => client.client_id}
        empty={
          may('owner') ? 'No clients yet. Add one under Settings.' : 'You have no clients yet. Ask an owner for access.'
        }
      />
    </Section>
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
  { head: 'Oldest', align: 'right', cell: ({ oldest_queued_at }) => <Timestamp at={oldest_queued_at} /> },
  { head: 'Running', align: 'right', cell: ({ running }) => running.toLocaleString() },
  { head: 'Waiting for re-linking', align: 'right', cell: ({ parked }) => parked.toLocaleString() },
  { head: 'Needs review', align: 'right', cell: ({ needs_review }) => needs_review.toLocaleString() },
  { head: 'Accounts to re-link', align: 'right', cell: ({ relink }) => relink.toLocaleString() },
];

import { Group, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { type Column, PagedTable } from '../../parts/lists/DataTable.tsx';
import { deliveryStatus, Status } from '../../parts/Status.tsx';
import { Timestamp } from '../../parts/Timestamp.tsx';
import { AccountName, EventName } from '../../parts/values.tsx';
import type { Query } from '../../service/api.ts';
import { useClient } from '../../service/client.tsx';
import { usePages } from '../../service/queries.ts';
import type { EventRow } from '../../service/types.ts';

/** Events with the state of their delivery: to all endpoints, or to the one in the filters. */
export function EventTable({ filters, empty }: { filters: Query<'events.list'>; empty: ReactNode }) {
  const { client_id } = useClient();
  const events = usePages('events.list', { client_id }, { live: ['events'], filters });
  return (
    <PagedTable
      query={events}
      label="Events"
      // The attempts at one endpoint; a sum over several says nothing about any of them.
      columns={filters.webhook_id ? columns.toSpliced(2, 0, attempts) : columns}
      rowKey={(event) => event.id}
      href={(event) => `/${event.id}`}
      empty={empty}
    />
  );
}

const attempts: Column<EventRow> = { head: 'Attempts', cell: (event) => event.tries, align: 'right' };

const columns: Column<EventRow>[] = [
  { head: 'Type', cell: (event) => <EventName name={event.type} /> },
  {
    head: 'Delivery',
    phone: 'end',
    cell: (event) => (
      <>
        <Group gap="xs" className="delivery">
          <Status of={deliveryStatus({ status: event.delivery_status, tries: event.tries })} />
          {event.endpoints > 1 && (
            <Text size="xs" component="span">
              {event.delivered} of {event.endpoints} delivered
            </Text>
          )}
        </Group>
        {event.next_try_at && event.tries > 0 && (
          <Text size="xs" c="dimmed" mt={2}>
            Next attempt: <Timestamp at={event.next_try_at} />
          </Text>
        )}
      </>
    ),
  },
  { head: 'Job', cell: (event) => event.job_id ?? '–', align: 'right' },
  {
    head: 'Account',
    cell: ({ account }) => <AccountName account={account} />,
  },
  { head: 'Created', cell: (event) => <Timestamp at={event.created_at} /> },
];

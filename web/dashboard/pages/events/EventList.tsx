import { Button, Group, NativeSelect, Text, TextInput } from '@mantine/core';
import { type Column, PagedTable } from '../../parts/DataTable.tsx';
import { Status } from '../../parts/Status.tsx';
import { Timestamp, TimestampInput } from '../../parts/Timestamp.tsx';
import { useClient } from '../../service/client.tsx';
import { usePages } from '../../service/queries.ts';
import { useSession } from '../../service/session.tsx';
import type { EventRow } from '../../service/types.ts';
import { useAccountOptions } from '../../service/useAccountOptions.ts';
import { useUrlFilters } from '../../service/useUrlFilters.ts';
import { useEventTypes } from './EndpointForm.tsx';
import { ResendFailed } from './ResendFailed.tsx';

const url_filters = ['event_type', 'delivery_status', 'job_id', 'account_id', 'start_date', 'end_date'] as const;

export function EventList() {
  const { client_id } = useClient();
  const { may } = useSession();
  const { get } = useUrlFilters();
  const filters = Object.fromEntries(url_filters.map((name) => [name, get(name)]));
  const filtered = Object.values(filters).some(Boolean);
  const events = usePages('events.list', { client_id }, { live: ['events'], filters });
  return (
    <>
      <Group justify="space-between" align="flex-end" gap="sm" mb="sm">
        <Filters filtered={filtered} />
        {may('operator') && <ResendFailed />}
      </Group>
      <PagedTable
        query={events}
        label="Events"
        columns={columns}
        keyOf={(event) => event.id}
        href={(event) => `/${event.id}`}
        empty={
          filtered
            ? 'No matching events in the last 30 days. Change or clear the filters.'
            : 'No events yet. Every write request and every requested sync sends one.'
        }
      />
    </>
  );
}

const columns: Column<EventRow>[] = [
  { head: 'Type', cell: (event) => event.type },
  {
    head: 'Delivery',
    cell: (event) => (
      <>
        <Status of={event.delivery_status ?? 'none'} />
        {event.next_try_at && event.tries > 0 && (
          <Text size="xs">
            Next attempt: <Timestamp at={event.next_try_at} />
          </Text>
        )}
      </>
    ),
  },
  { head: 'Attempts', cell: (event) => event.tries, align: 'right' },
  { head: 'Job', cell: (event) => event.job_id ?? '–', align: 'right' },
  {
    head: 'Account',
    cell: ({ account }) => <span className="nowrap">{`${account.org_id} · ${account.user_id}`}</span>,
  },
  { head: 'Created', cell: (event) => <Timestamp at={event.created_at} /> },
];

const delivery_states = [
  { value: 'success', label: 'Delivered' },
  { value: 'failed', label: 'Failed' },
  { value: 'pending', label: 'Pending' },
  { value: 'none', label: 'No endpoints' },
];

function Filters({ filtered }: { filtered: boolean }) {
  const { get, set, clear } = useUrlFilters();
  const select = (name: string, label: string, options: (string | { value: string; label: string })[]) => (
    <NativeSelect
      label={label}
      data={[{ value: '', label: 'All' }, ...options]}
      value={get(name)}
      onChange={({ currentTarget }) => set(name, currentTarget.value)}
    />
  );
  return (
    <Group align="flex-end" gap="sm">
      {select('event_type', 'Type', useEventTypes())}
      {select('delivery_status', 'Delivery', delivery_states)}
      {select('account_id', 'Account', useAccountOptions())}
      <TextInput
        label="Job"
        inputMode="numeric"
        w={100}
        value={get('job_id')}
        onChange={({ currentTarget }) => set('job_id', currentTarget.value.replaceAll(/\D/g, '').slice(0, 15))}
      />
      <TimestampInput label="From" value={get('start_date')} onChange={(time) => set('start_date', time)} />
      <TimestampInput label="To" value={get('end_date')} onChange={(time) => set('end_date', time)} />
      {filtered && (
        <Button variant="subtle" onClick={clear}>
          Clear filters
        </Button>
      )}
    </Group>
  );
}

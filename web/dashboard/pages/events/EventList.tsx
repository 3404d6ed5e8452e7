import { Button, Group, NativeSelect, Text, TextInput } from '@mantine/core';
import type { EventRow } from '../../../../src/model/dashboard/events.ts';
import { Moment } from '../../parts/Moment.tsx';
import { MomentInput } from '../../parts/MomentInput.tsx';
import { type Column, PagedRows } from '../../parts/Rows.tsx';
import { Status } from '../../parts/Status.tsx';
import { useClient } from '../../service/client.tsx';
import { useSession } from '../../service/session.tsx';
import { useAccountChoices } from '../../service/useAccountChoices.ts';
import { useAddressFilters } from '../../service/useAddressFilters.ts';
import { usePages } from '../../service/usePages.ts';
import { ResendFailed } from './ResendFailed.tsx';
import { useEventTypes } from './useEventTypes.ts';

const filters = ['event_type', 'delivery_status', 'job_id', 'account_id', 'start_date', 'end_date'] as const;

export function EventList() {
  const { of } = useClient();
  const { may } = useSession();
  const { get } = useAddressFilters();
  const asked = Object.fromEntries(filters.map((name) => [name, get(name)]));
  const filtered = Object.values(asked).some(Boolean);
  const events = usePages<EventRow>(of('events'), { live: ['events'], filters: asked });
  return (
    <>
      <Group justify="space-between" align="flex-end" gap="sm" mb="sm">
        <Filters filtered={filtered} />
        {may('operator') && <ResendFailed />}
      </Group>
      <PagedRows
        of={events}
        label="Events"
        columns={columns}
        keyOf={(event) => event.id}
        href={(event) => `/${event.id}`}
        empty={
          filtered
            ? 'No event of the last 30 days fits these filters.'
            : 'There is no event yet. Every write and every requested sync ends in one.'
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
            Next try <Moment at={event.next_try_at} />
          </Text>
        )}
      </>
    ),
  },
  { head: 'Tries', cell: (event) => event.tries, align: 'right' },
  { head: 'Job', cell: (event) => event.job_id ?? '–', align: 'right' },
  { head: 'Account', cell: ({ account }) => <span className="whole">{`${account.org_id} · ${account.user_id}`}</span> },
  {
    head: 'Created',
    cell: (event) => (
      <span className="whole">
        <Moment at={event.created_at} />
      </span>
    ),
  },
];

const states = [
  { value: '', label: 'Any' },
  { value: 'success', label: 'Delivered' },
  { value: 'failed', label: 'Failed' },
  { value: 'pending', label: 'Pending' },
  { value: 'none', label: 'Nobody to tell' },
];

function Filters({ filtered }: { filtered: boolean }) {
  const { get, set, clear } = useAddressFilters();
  const types = useEventTypes();
  const accounts = useAccountChoices();
  return (
    <Group align="flex-end" gap="sm">
      <NativeSelect
        label="Type"
        data={[{ value: '', label: 'Any' }, ...types.map(({ type }) => type)]}
        value={get('event_type')}
        onChange={({ currentTarget }) => set('event_type', currentTarget.value)}
      />
      <NativeSelect
        label="Delivery"
        data={states}
        value={get('delivery_status')}
        onChange={({ currentTarget }) => set('delivery_status', currentTarget.value)}
      />
      <NativeSelect
        label="Account"
        data={[{ value: '', label: 'Any' }, ...accounts]}
        value={get('account_id')}
        onChange={({ currentTarget }) => set('account_id', currentTarget.value)}
      />
      <TextInput
        label="Job"
        inputMode="numeric"
        w={100}
        value={get('job_id')}
        onChange={({ currentTarget }) => set('job_id', currentTarget.value.replaceAll(/\D/g, '').slice(0, 15))}
      />
      <MomentInput label="From" value={get('start_date')} choose={(moment) => set('start_date', moment)} />
      <MomentInput label="To" value={get('end_date')} choose={(moment) => set('end_date', moment)} />
      {filtered && (
        <Button variant="subtle" onClick={clear}>
          Clear
        </Button>
      )}
    </Group>
  );
}

import { Button, Group, NativeSelect, Text, TextInput } from '@mantine/core';
import { useSearchParams } from 'wouter';
import type { OrganisationRow } from '../../../../src/model/dashboard/accounts.ts';
import type { EventRow } from '../../../../src/model/dashboard/events.ts';
import { Moment } from '../../parts/Moment.tsx';
import { type Column, PagedRows } from '../../parts/Rows.tsx';
import { Status } from '../../parts/Status.tsx';
import { useClient } from '../../service/client.tsx';
import { useSession } from '../../service/session.tsx';
import { usePages } from '../../service/usePages.ts';
import { useAnswer } from '../../service/useService.ts';
import { fromLocal, toLocal } from './localTime.ts';
import { ResendFailed } from './ResendFailed.tsx';
import { useEventTypes } from './useEventTypes.ts';

const filters = ['event_type', 'delivery_status', 'job_id', 'account_id', 'start_date', 'end_date'] as const;

export function EventList() {
  const { of } = useClient();
  const { may } = useSession();
  const [params] = useSearchParams();
  const asked = Object.fromEntries(filters.map((name) => [name, params.get(name) ?? undefined]));
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
  const { of } = useClient();
  const [params, setParams] = useSearchParams();
  const types = useEventTypes();
  const linked = useAnswer<{ organisations: OrganisationRow[] }>(of('accounts'), { live: ['accounts'] });
  const accounts = (linked.data?.organisations ?? []).flatMap(({ org_id, accounts }) =>
    accounts.map(({ id, user_id }) => ({ value: id, label: `${org_id} · ${user_id}` })),
  );
  const chosen = (name: (typeof filters)[number]) => params.get(name) ?? '';
  const choose = (name: (typeof filters)[number], value: string) =>
    setParams(
      (before) => {
        const next = new URLSearchParams(before);
        if (value === '') next.delete(name);
        else next.set(name, value);
        return next;
      },
      { replace: true },
    );
  return (
    <Group align="flex-end" gap="sm">
      <NativeSelect
        label="Type"
        data={[{ value: '', label: 'Any' }, ...types.map(({ type }) => type)]}
        value={chosen('event_type')}
        onChange={({ currentTarget }) => choose('event_type', currentTarget.value)}
      />
      <NativeSelect
        label="Delivery"
        data={states}
        value={chosen('delivery_status')}
        onChange={({ currentTarget }) => choose('delivery_status', currentTarget.value)}
      />
      <NativeSelect
        label="Account"
        data={[{ value: '', label: 'Any' }, ...accounts]}
        value={chosen('account_id')}
        onChange={({ currentTarget }) => choose('account_id', currentTarget.value)}
      />
      <TextInput
        label="Job"
        inputMode="numeric"
        w={100}
        value={chosen('job_id')}
        onChange={({ currentTarget }) => choose('job_id', currentTarget.value.replaceAll(/\D/g, '').slice(0, 15))}
      />
      <TextInput
        label="From"
        type="datetime-local"
        value={toLocal(chosen('start_date'))}
        onChange={({ currentTarget }) => choose('start_date', fromLocal(currentTarget.value))}
      />
      <TextInput
        label="To"
        type="datetime-local"
        value={toLocal(chosen('end_date'))}
        onChange={({ currentTarget }) => choose('end_date', fromLocal(currentTarget.value))}
      />
      {filtered && (
        <Button variant="subtle" onClick={() => setParams(new URLSearchParams(), { replace: true })}>
          Clear
        </Button>
      )}
    </Group>
  );
}

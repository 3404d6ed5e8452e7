import { Group, NativeSelect } from '@mantine/core';
import { DocsLink } from '../../parts/layout.tsx';
import { Filters, TextFilter } from '../../parts/lists/FilterBar.tsx';
import { countPeriod, PeriodFilter, usePeriod } from '../../parts/lists/Period.tsx';
import { useClient } from '../../service/client.tsx';
import { useQuery } from '../../service/queries.ts';
import { useSession } from '../../service/session.tsx';
import { useAccountOptions } from '../../service/useAccountOptions.ts';
import { useUrlFilters } from '../../service/useUrlFilters.ts';
import { EventTable } from './EventTable.tsx';
import { useEventTypes } from './EventTypes.tsx';
import { ResendFailed } from './ResendFailed.tsx';

const url_filters = ['event_type', 'delivery_status', 'job_id', 'account_id', 'webhook_id'] as const;

export function EventList() {
  const { may } = useSession();
  const { get } = useUrlFilters();
  const filters = {
    ...Object.fromEntries(url_filters.map((name) => [name, get(name)])),
    ...usePeriod('start_date', 'end_date'),
  };
  const filtered = Object.values(filters).some(Boolean);
  return (
    <>
      <Group justify="space-between" align="flex-end" gap="sm" mb="md">
        <EventFilters />
        {may('operator') && <ResendFailed />}
      </Group>
      <EventTable
        filters={filters}
        empty={
          filtered ? (
            'No matching events in the last 30 days. Change or clear the filters.'
          ) : (
            <>
              No events yet. Every write request and every requested sync sends one.{' '}
              <DocsLink path="/webhooks">Learn how to receive webhooks</DocsLink>.
            </>
          )
        }
      />
    </>
  );
}

const delivery_states = [
  { value: 'success', label: 'Delivered' },
  { value: 'failed', label: 'Failed' },
  { value: 'pending', label: 'Pending' },
  { value: 'none', label: 'No endpoints' },
];

function EventFilters() {
  const { get, set, clear } = useUrlFilters();
  const { client_id } = useClient();
  const webhooks = useQuery('webhooks.list', { client_id }, { live: ['events'] }).data?.webhooks ?? [];
  const endpoints = webhooks.map(({ id, url }) => ({ value: id, label: url }));
  const select = (name: string, label: string, options: (string | { value: string; label: string })[]) => (
    <NativeSelect
      label={label}
      w={165}
      data={[{ value: '', label: 'All' }, ...options]}
      value={get(name)}
      onChange={({ currentTarget }) => set(name, currentTarget.value)}
    />
  );
  const period = usePeriod('start_date', 'end_date');
  const used = url_filters.filter((name) => get(name) !== '').length + countPeriod(period);
  return (
    <Filters used={used} onClear={clear}>
      {select(
        'event_type',
        'Type',
        useEventTypes().map(({ type }) => type),
      )}
      {select('delivery_status', 'Delivery', delivery_states)}
      {select('account_id', 'Account', useAccountOptions())}
      {select('webhook_id', 'Endpoint', endpoints)}
      <TextFilter
        label="Job number"
        width={120}
        maxLength={20}
        value={get('job_id')}
        onChange={(value) => set('job_id', value.replaceAll(/\D/g, '').slice(0, 15))}
      />
      <PeriodFilter from="start_date" to="end_date" />
    </Filters>
  );
}

import { Checkbox, Group, NativeSelect, Paper, Text, Title } from '@mantine/core';
import { useState } from 'react';
import { QueryResult } from '../../../parts/QueryResult.tsx';
import { useQuery } from '../../../service/queries.ts';
import { useOrganization } from '../organization.tsx';
import { AvailabilityWeek } from './AvailabilityWeek.tsx';
import type { Options } from './useOptions.ts';

type Props = {
  provider_ehr_id: string;
  options: Options;
  /** The initial state of the checkbox. */
  use_default_hours: boolean;
};

/** A provider's availability as the API returns it, based on the saved hours. */
export function AvailabilityPreview({ provider_ehr_id, options, use_default_hours }: Props) {
  const { params, organization } = useOrganization();
  const [days, setDays] = useState('7');
  const [visit_type, setVisitType] = useState('');
  const [location, setLocation] = useState('');
  const [fallback, setFallback] = useState(use_default_hours);
  const dates = Array.from({ length: Number(days) }, (_, n) => dateIn(organization.timezone, n));
  const query = {
    start_date: dateIn(organization.timezone, 0),
    end_date: dateIn(organization.timezone, Number(days) - 1),
    provider_ids: provider_ehr_id,
    visit_type,
    calculation_method: visit_type === '' ? '' : 'slots',
    location_ids: location,
    fallback_to_default_hours: fallback ? 'true' : '',
    explain: 'true',
  };
  const locations = new Map(options.locations.map(({ value, label }) => [value, label]));
  const visit_types = new Map(options.visit_types.map(({ value, label }) => [value, label]));
  const availability = useQuery('availability.list', params, { query, live: ['jobs'] });
  return (
    <Paper withBorder p="md" component="section" aria-label="Availability">
      <Title order={3} size="h5">
        Availability
      </Title>
      <Text size="sm" c="dimmed" mb="sm">
        As returned by the API, based on the saved hours. Time zone: {organization.timezone}
      </Text>
      <Group gap="sm" align="flex-end" mb="sm">
        <NativeSelect
          label="Days"
          value={days}
          data={['7', '14', '28']}
          onChange={(event) => setDays(event.currentTarget.value)}
        />
        <NativeSelect
          label="Visit type"
          value={visit_type}
          data={[{ value: '', label: 'All' }, ...options.visit_types]}
          onChange={(event) => setVisitType(event.currentTarget.value)}
        />
        <NativeSelect
          label="Location"
          value={location}
          data={[{ value: '', label: 'All' }, ...options.locations]}
          onChange={(event) => setLocation(event.currentTarget.value)}
        />
        <Checkbox
          label="Fall back to default hours"
          checked={fallback}
          onChange={(event) => setFallback(event.currentTarget.checked)}
        />
      </Group>
      <QueryResult query={availability}>
        {({ results }) => (
          <AvailabilityWeek results={results} dates={dates} locations={locations} visit_types={visit_types} />
        )}
      </QueryResult>
    </Paper>
  );
}

/** The date in the EMR's time zone, some days from now. */
function dateIn(timeZone: string, days: number): string {
  const today = new Intl.DateTimeFormat('en-CA', { timeZone, year: 'numeric', month: '2-digit', day: '2-digit' });
  const date = new Date(`${today.format(new Date())}T00:00:00Z`);
  date.setUTCDate(date.getUTCDate() + days);
  return date.toISOString().slice(0, 10);
}

import { Checkbox, Group, NativeSelect, Paper, Text, Title } from '@mantine/core';
import { useState } from 'react';
import { EmptyState } from '../../../parts/layout.tsx';
import { QueryResult } from '../../../parts/QueryResult.tsx';
import type { ResponseOf } from '../../../service/api.ts';
import { useQuery } from '../../../service/queries.ts';
import { useOrganization } from '../organization.tsx';
import { timeRange } from './times.ts';
import type { Options } from './useOptions.ts';

type Slot = ResponseOf<'availability.list'>['results']['availability'][number];
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
  const query = {
    start_date: dateIn(organization.timezone, 0),
    end_date: dateIn(organization.timezone, Number(days) - 1),
    provider_ids: provider_ehr_id,
    visit_type,
    calculation_method: visit_type === '' ? '' : 'slots',
    location_ids: location,
    fallback_to_default_hours: fallback ? 'true' : '',
  };
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
      <QueryResult query={availability}>{({ results }) => <Slots slots={results.availability} />}</QueryResult>
    </Paper>
  );
}

function Slots({ slots }: { slots: readonly Slot[] }) {
  if (slots.length === 0) return <EmptyState>No availability. Select more days or add hours.</EmptyState>;
  const dates = [...new Set(slots.map(({ date }) => date))];
  return (
    <ul className="slots" aria-label="Available times">
      {dates.map((date) => (
        <li key={date}>
          <Text span fw={600} size="sm">
            {day_format.format(new Date(`${date}T00:00:00Z`))}
          </Text>
          <SlotsByLocation slots={slots.filter((slot) => slot.date === date)} />
        </li>
      ))}
    </ul>
  );
}

/** Each location is named once: with every time, it would not fit in the line. */
function SlotsByLocation({ slots }: { slots: readonly Slot[] }) {
  const locations = [...new Set(slots.map(({ facility_name }) => facility_name))];
  return locations.map((location) => (
    <div key={location}>
      {location && (
        <Text size="xs" c="dimmed">
          {location}
        </Text>
      )}
      {slots
        .filter(({ facility_name }) => facility_name === location)
        .map((slot) => (
          <Text key={JSON.stringify(slot)} size="sm">
            {timeRange(slot.range_start.slice(11, 16), slot.range_end.slice(11, 16))}
            {slot.available_appointments === null ? '' : ` · ${slot.available_appointments} of ${slot.max_visits} left`}
          </Text>
        ))}
    </div>
  ));
}

/** The date in the EMR's time zone, some days from now. */
function dateIn(timeZone: string, days: number): string {
  const today = new Intl.DateTimeFormat('en-CA', { timeZone, year: 'numeric', month: '2-digit', day: '2-digit' });
  const date = new Date(`${today.format(new Date())}T00:00:00Z`);
  date.setUTCDate(date.getUTCDate() + days);
  return date.toISOString().slice(0, 10);
}

const day_format = new Intl.DateTimeFormat(undefined, {
  weekday: 'short',
  month: 'short',
  day: 'numeric',
  timeZone: 'UTC',
});

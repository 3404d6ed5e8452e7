import { Checkbox, Group, NativeSelect, Paper, Text, Title } from '@mantine/core';
import { useState } from 'react';
import type { AvailabilityResponse } from '../../../../src/model/availability.ts';
import { Answer } from '../../parts/Answer.tsx';
import { Empty } from '../../parts/Empty.tsx';
import { useAnswer } from '../../service/useService.ts';
import { useOrganization } from './organization.tsx';
import type { Choices } from './week/draft.ts';

type Offer = AvailabilityResponse['results']['availability'][number];

/** What applications are told of a provider's free time, as of what is saved. */
export function AvailabilityPreview({
  provider_ehr_id,
  choices,
  fallback,
}: {
  provider_ehr_id: string;
  choices: Choices;
  /** Whether default hours stand in at first. */
  fallback: boolean;
}) {
  const { of, organization } = useOrganization();
  const [days, setDays] = useState('7');
  const [visit_type, setVisitType] = useState('');
  const [location, setLocation] = useState('');
  const [defaults, setDefaults] = useState(fallback);
  const query = new URLSearchParams({
    start_date: dayAhead(organization.timezone, 0),
    end_date: dayAhead(organization.timezone, Number(days) - 1),
    provider_ids: provider_ehr_id,
    ...(visit_type === '' ? {} : { visit_type, calculation_method: 'slots' }),
    ...(location === '' ? {} : { location_ids: location }),
    ...(defaults ? { fallback_to_default_hours: 'true' } : {}),
  });
  const asked = useAnswer<AvailabilityResponse>(of(`availability?${query}`), { live: ['jobs'] });
  return (
    <Paper withBorder p="md" component="section" aria-label="Availability">
      <Title order={3} size="h5">
        Availability
      </Title>
      <Text size="sm" c="dimmed" mb="sm">
        What applications are told, by what is saved. Times of {organization.timezone}.
      </Text>
      <Group gap="sm" align="flex-end" mb="sm">
        <NativeSelect
          label="Days ahead"
          value={days}
          data={['7', '14', '28']}
          onChange={(event) => setDays(event.currentTarget.value)}
        />
        <NativeSelect
          label="Visit type"
          value={visit_type}
          data={[{ value: '', label: 'Any: free time' }, ...choices.visit_types]}
          onChange={(event) => setVisitType(event.currentTarget.value)}
        />
        <NativeSelect
          label="Location"
          value={location}
          data={[{ value: '', label: 'Any' }, ...choices.locations]}
          onChange={(event) => setLocation(event.currentTarget.value)}
        />
        <Checkbox
          label="Default hours where there are none"
          checked={defaults}
          onChange={(event) => setDefaults(event.currentTarget.checked)}
        />
      </Group>
      <Answer to={asked}>{({ results }) => <Offers offers={results.availability} />}</Answer>
    </Paper>
  );
}

function Offers({ offers }: { offers: readonly Offer[] }) {
  if (offers.length === 0) {
    return <Empty>Nothing is offered in these days. Look further ahead, or add hours.</Empty>;
  }
  const dates = [...new Set(offers.map(({ date }) => date))];
  return (
    <ul className="offers" aria-label="Free time">
      {dates.map((date) => (
        <li key={date}>
          <Text span fw={600} size="sm">
            {dayWord(date)}
          </Text>
          {offers
            .filter((offer) => offer.date === date)
            .map((offer) => (
              <Text key={JSON.stringify(offer)} size="sm">
                {offer.range_start.slice(11, 16)}–{offer.range_end.slice(11, 16)}
                {offer.available_appointments === null
                  ? ''
                  : ` · ${offer.available_appointments} of ${offer.max_visits} left`}
                {offer.facility_name && (
                  <Text span size="xs" c="dimmed">
                    {` ${offer.facility_name}`}
                  </Text>
                )}
              </Text>
            ))}
        </li>
      ))}
    </ul>
  );
}

/** A day as the clock of the EMR instance shows it, so many days from now. */
function dayAhead(timeZone: string, days: number): string {
  const today = new Intl.DateTimeFormat('en-CA', { timeZone, year: 'numeric', month: '2-digit', day: '2-digit' });
  const day = new Date(`${today.format(new Date())}T00:00:00Z`);
  day.setUTCDate(day.getUTCDate() + days);
  return day.toISOString().slice(0, 10);
}

const in_words = new Intl.DateTimeFormat(undefined, {
  weekday: 'short',
  month: 'short',
  day: 'numeric',
  timeZone: 'UTC',
});

function dayWord(date: string): string {
  return in_words.format(new Date(`${date}T00:00:00Z`));
}

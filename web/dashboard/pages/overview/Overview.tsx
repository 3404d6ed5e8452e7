import { SegmentedControl, Stack, Title } from '@mantine/core';
import { useSearchParams } from 'wouter';
import { PageTitle } from '../../parts/layout.tsx';
import { QueryResult } from '../../parts/QueryResult.tsx';
import { ranges } from '../../service/api.gen.ts';
import { useClient } from '../../service/client.tsx';
import { useQuery } from '../../service/queries.ts';
import { Attention } from './Attention.tsx';
import { ClientTable } from './ClientTable.tsx';
import { DurationChart, FinishedJobsChart, type Range } from './JobCharts.tsx';
import { QueueNumbers } from './QueueNumbers.tsx';
import { RestoreNotice } from './RestoreNotice.tsx';

/** The charts aggregate many jobs, so they refresh at this interval; the numbers refresh with every change. */
const charts_ms = 10_000;

export default function Overview() {
  const { client_id } = useClient();
  const [search, setSearch] = useSearchParams();
  const range = readRange(search.get('range'));
  const overview = useQuery('overview.get', { client_id }, { live: ['jobs', 'events', 'accounts'] });
  const history = useQuery('overview.history', { client_id }, { query: { range }, refresh_ms: charts_ms });
  return (
    <>
      <PageTitle>Overview</PageTitle>
      <Stack gap="lg">
        <QueryResult query={overview}>
          {({ overview: { clients, attention, restore } }) => {
            const load = clients.find((each) => each.client_id === client_id);
            return (
              <Stack gap="lg">
                {restore && <RestoreNotice restore={restore} />}
                {load && <QueueNumbers load={load} />}
                <Attention attention={attention} review_count={load?.needs_review ?? 0} />
                {clients.length > 1 && <ClientTable clients={clients} />}
              </Stack>
            );
          }}
        </QueryResult>
        <section aria-label="Jobs over time">
          <Title order={2} size="h4" mb="xs">
            Jobs over time
          </Title>
          <SegmentedControl
            aria-label="Period"
            mb="sm"
            data={Object.entries(ranges).map(([value, label]) => ({ value, label }))}
            value={range}
            onChange={(value) => setSearch({ range: value }, { replace: true })}
          />
          <QueryResult query={history}>
            {({ bins }) => (
              <div className="tiles wide">
                <FinishedJobsChart bins={bins} range={range} />
                <DurationChart bins={bins} range={range} />
              </div>
            )}
          </QueryResult>
        </section>
      </Stack>
    </>
  );
}

function readRange(value: string | null): Range {
  return value === '1h' || value === '7d' ? value : '24h';
}

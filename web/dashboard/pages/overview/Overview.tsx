import { Group, SegmentedControl, Stack, Title } from '@mantine/core';
import { useSearchParams } from 'wouter';
import { list_rows } from '../../parts/Loading.tsx';
import { PageTitle } from '../../parts/layout.tsx';
import { QueryResult } from '../../parts/QueryResult.tsx';
import { ranges } from '../../service/api.gen.ts';
import { useClient } from '../../service/client.tsx';
import { useQuery } from '../../service/queries.ts';
import { Attention, isClear } from './Attention.tsx';
import { ClientTable } from './ClientTable.tsx';
import { FirstSteps, useFirstSteps } from './FirstSteps.tsx';
import { Flow } from './Flow.tsx';
import { DurationChart, FinishedJobsChart, type Range } from './JobCharts.tsx';
import { RestoreNotice } from './RestoreNotice.tsx';
import { Tiles } from './Tiles.tsx';
import './overview.css';

/** The charts aggregate many jobs, so they refresh at this interval; the numbers refresh with every change. */
const charts_ms = 10_000;

/** The queue's age changes by itself. */
const ages_ms = 30_000;

export default function Overview() {
  const { client_id } = useClient();
  const [search, setSearch] = useSearchParams();
  const overview = useQuery(
    'overview.get',
    { client_id },
    { live: ['jobs', 'events', 'accounts'], refresh_ms: ages_ms },
  );
  const { first_steps = null } = overview.data?.overview ?? {};
  // Right after the first write, one would see one bar in an empty day.
  const range = readRange(search.get('range')) ?? (first_steps === null ? '24h' : '1h');
  const { steps, ...first } = useFirstSteps(first_steps);
  // Zeros and empty charts say nothing.
  const blank = steps !== null && steps.write === null;
  const history = useQuery(
    'overview.history',
    { client_id },
    { query: { range }, refresh_ms: charts_ms, enabled: overview.data !== undefined && !blank },
  );
  return (
    <>
      <PageTitle>Overview</PageTitle>
      <Stack gap="lg">
        <QueryResult query={overview} rows={list_rows}>
          {({ overview: data }) => {
            const { clients, attention } = data;
            const load = clients.find((each) => each.client_id === client_id);
            return (
              <Stack gap="lg">
                {data.restore && <RestoreNotice restore={data.restore} />}
                {steps && <FirstSteps steps={steps} {...first} />}
                {!blank && <Tiles overview={data} />}
                {!(blank && isClear(attention)) && (
                  <Attention attention={attention} review_count={load?.needs_review ?? 0} />
                )}
                {!blank && <Flow overview={data} />}
                {clients.length > 1 && <ClientTable clients={clients} />}
              </Stack>
            );
          }}
        </QueryResult>
        {/* Below what is loaded first, so that it does not move down. */}
        {overview.data && !blank && (
          <section aria-label="Jobs over time">
            <Group justify="space-between" mb="sm">
              <Title order={2} size="h4">
                Jobs over time
              </Title>
              <SegmentedControl
                size="xs"
                aria-label="Period"
                data={Object.entries(ranges).map(([value, label]) => ({ value, label }))}
                value={range}
                onChange={(value) => setSearch({ range: value }, { replace: true })}
              />
            </Group>
            <QueryResult query={history}>
              {({ bins }) => (
                <div className="tiles wide">
                  <FinishedJobsChart bins={bins} range={range} />
                  <DurationChart bins={bins} range={range} />
                </div>
              )}
            </QueryResult>
          </section>
        )}
      </Stack>
    </>
  );
}

function readRange(value: string | null): Range | undefined {
  return value === '1h' || value === '24h' || value === '7d' ? value : undefined;
}

import { SegmentedControl, Stack, Title } from '@mantine/core';
import { useSearchParams } from 'wouter';
import type { Overview as Answered, HistoryBin } from '../../../../src/model/dashboard/overview.ts';
import { type Range, ranges } from '../../../../src/model/dashboard/ranges.ts';
import { Answer } from '../../parts/Answer.tsx';
import { PageTitle } from '../../parts/PageTitle.tsx';
import { useClient } from '../../service/client.tsx';
import { useAnswer } from '../../service/useService.ts';
import { Attention } from './Attention.tsx';
import { Clients } from './Clients.tsx';
import { EndedChart } from './EndedChart.tsx';
import { Numbers } from './Numbers.tsx';
import { TakenChart } from './TakenChart.tsx';

/** The charts sum up many jobs: they follow at this pace, while the numbers beside them follow every change. */
const charts_ms = 10_000;

export default function Overview() {
  const { client, of } = useClient();
  const [search, setSearch] = useSearchParams();
  const range = readRange(search.get('range'));
  const overview = useAnswer<{ overview: Answered }>(of('overview'), { live: ['jobs', 'events', 'accounts'] });
  const history = useAnswer<{ bins: HistoryBin[] }>(of(`overview/history?range=${range}`), { refresh_ms: charts_ms });
  return (
    <>
      <PageTitle>Overview</PageTitle>
      <Stack gap="lg">
        <Answer to={overview}>
          {({ overview: { clients, attention } }) => {
            const own = clients.find((each) => each.client_id === client.client_id);
            return (
              <Stack gap="lg">
                {own && <Numbers of={own} />}
                <Attention of={attention} reviews={own?.needs_review ?? 0} />
                {clients.length > 1 && <Clients clients={clients} />}
              </Stack>
            );
          }}
        </Answer>
        <section aria-label="Jobs over time">
          <Title order={2} size="h4" mb="xs">
            Jobs over time
          </Title>
          <SegmentedControl
            aria-label="Time shown"
            mb="sm"
            data={Object.entries(ranges).map(([value, { words }]) => ({ value, label: words }))}
            value={range}
            onChange={(value) => setSearch({ range: value }, { replace: true })}
          />
          <Answer to={history}>
            {({ bins }) => (
              <div className="tiles wide">
                <EndedChart bins={bins} range={range} />
                <TakenChart bins={bins} range={range} />
              </div>
            )}
          </Answer>
        </section>
      </Stack>
    </>
  );
}

function readRange(asked: string | null): Range {
  return asked === '1h' || asked === '7d' ? asked : '24h';
}

import { Paper, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { Link } from 'wouter';
import type { ResponseOf } from '../../service/api.ts';
import { useClient } from '../../service/client.tsx';
import { age } from '../jobs/labels.ts';

type Props = { overview: ResponseOf<'overview.get'>['overview'] };

/** The numbers that call for action. Each tile opens the list that it counts. */
export function Tiles({ overview: { clients, failed_day, partial_day, attention } }: Props) {
  const { client_id } = useClient();
  const load = clients.find((each) => each.client_id === client_id);
  if (!load) return null;
  const { oldest_queued_at, queued, running } = load;
  const failing = attention.endpoints.length;
  const retrying = attention.outages.reduce((total, outage) => total + outage.retrying, 0);
  return (
    <section className="tiles" aria-label="Current state">
      <Tile label="Failed (24 h)" value={failed_day} href="/jobs?state=unfixed&period=24h">
        {describeFailed(failed_day, partial_day)}
      </Tile>
      <Tile label="Needs review" value={load.needs_review} href="/jobs?state=unresolved">
        {load.needs_review === 0 ? 'No unknown outcomes' : 'Check in the EMR'}
      </Tile>
      <Tile
        label="Waiting for re-linking"
        value={load.relink}
        href={load.parked === 0 ? '/accounts' : '/jobs?state=parked'}
      >
        {load.relink === 0 ? 'All accounts are linked' : `${counted(load.parked, 'job')} waiting`}
      </Tile>
      <Tile
        label="Failing webhooks"
        value={failing}
        href={failing === 1 ? `/events/endpoints/${attention.endpoints[0]?.id}` : '/events/endpoints'}
      >
        {failing === 0
          ? 'All deliveries are succeeding'
          : `${counted(
              attention.endpoints.reduce((total, { pending }) => total + pending, 0),
              'event',
            )} waiting`}
      </Tile>
      <Tile
        label="Queue age"
        value={oldest_queued_at === null ? 'None' : age(oldest_queued_at)}
        alarm={oldest_queued_at !== null && Date.now() - Date.parse(oldest_queued_at) > slow_ms}
        href="/jobs?state=queued"
      >
        {[
          `${queued.toLocaleString()} queued`,
          `${running.toLocaleString()} running`,
          ...(retrying > 0 ? [`${retrying.toLocaleString()} retrying`] : []),
        ].join(', ')}
      </Tile>
    </section>
  );
}

/** The tile counts failed jobs alone, like the chart; the list that it opens has the partial ones too. */
function describeFailed(failed: number, partial: number): string {
  if (partial > 0) return `${counted(partial, 'partial job')} besides`;
  return failed === 0 ? 'No open failures' : 'Not run again yet';
}

/** A queue that is worked on starts every job within a minute, retries aside. */
const slow_ms = 5 * 60_000;

type TileProps = { label: string; value: number | string; href: string; alarm?: boolean; children: ReactNode };

function Tile({ label, value, href, alarm = typeof value === 'number' && value > 0, children }: TileProps) {
  const { linkTo } = useClient();
  return (
    <Paper withBorder p="md" component={Link} href={linkTo(href)} className={alarm ? 'tile alarm' : 'tile'}>
      <Text size="sm" fw={500}>
        {label}
      </Text>
      <div className="tile-value">{value.toLocaleString()}</div>
      <div className="secondary">{children}</div>
    </Paper>
  );
}

export function counted(count: number, noun: string): string {
  return `${count.toLocaleString()} ${noun}${count === 1 ? '' : 's'}`;
}

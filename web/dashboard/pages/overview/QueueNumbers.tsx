import { Anchor, Paper, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { Link } from 'wouter';
import { Timestamp } from '../../parts/Timestamp.tsx';
import { useClient } from '../../service/client.tsx';
import type { ClientLoad } from '../../service/types.ts';

/** Unfinished jobs by state. Each number links to its jobs. */
export function QueueNumbers({ load }: { load: ClientLoad }) {
  return (
    <section className="tiles" aria-label="Current jobs">
      <Tile label="Queued" value={load.queued} state="queued">
        {load.oldest_queued_at === null ? (
          'Queue is empty'
        ) : (
          <>
            Oldest: <Timestamp at={load.oldest_queued_at} />
          </>
        )}
      </Tile>
      <Tile label="Running" value={load.running} state="running">
        In progress at the EMR
      </Tile>
      <Tile label="Waiting for re-linking" value={load.parked} state="parked">
        They resume after re-linking
      </Tile>
      <Tile label="Needs review" value={load.needs_review} state="unresolved">
        Check in the EMR whether they were saved
      </Tile>
    </section>
  );
}

function Tile(props: { label: string; value: number; state: string; children: ReactNode }) {
  const { linkTo } = useClient();
  return (
    <Paper withBorder p="md">
      <Text size="sm">
        <Anchor component={Link} href={`${linkTo('/jobs')}?state=${props.state}`}>
          {props.label}
        </Anchor>
      </Text>
      <Text fz={28} fw={700} lh={1.3}>
        {props.value.toLocaleString()}
      </Text>
      <Text size="xs" c="dimmed">
        {props.children}
      </Text>
    </Paper>
  );
}

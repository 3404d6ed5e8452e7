import { Anchor, Paper, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { Link } from 'wouter';
import type { ClientLoad } from '../../../../src/model/dashboard/overview.ts';
import { Moment } from '../../parts/Moment.tsx';
import { useClient } from '../../service/client.tsx';

/** How much waits now. Each number leads to the jobs it counts. */
export function Numbers({ of }: { of: ClientLoad }) {
  return (
    <section className="tiles" aria-label="Now">
      <Figure label="Queued" value={of.queued} state="queued">
        {of.oldest_queued_at === null ? (
          'Nothing waits'
        ) : (
          <>
            The oldest since <Moment at={of.oldest_queued_at} />
          </>
        )}
      </Figure>
      <Figure label="Running" value={of.running} state="running">
        At the EMR now
      </Figure>
      <Figure label="Waiting for re-linking" value={of.parked} state="parked">
        They go on once it is linked
      </Figure>
      <Figure label="Need review" value={of.needs_review} state="unresolved">
        A person looks into the EMR
      </Figure>
    </section>
  );
}

function Figure(props: { label: string; value: number; state: string; children: ReactNode }) {
  const { at } = useClient();
  return (
    <Paper withBorder p="md">
      <Text size="sm">
        <Anchor component={Link} href={`~/dashboard${at('/jobs')}?state=${props.state}`}>
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

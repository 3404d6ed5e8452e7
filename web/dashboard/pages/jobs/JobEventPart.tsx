import { Anchor, Group, Text } from '@mantine/core';
import { Link } from 'wouter';
import type { JobEvent, JobWhole } from '../../../../src/model/dashboard/jobs.ts';
import { Moment } from '../../parts/Moment.tsx';
import { type Column, Rows } from '../../parts/Rows.tsx';
import { Status } from '../../parts/Status.tsx';
import { useClient } from '../../service/client.tsx';
import { wordDuration } from './words.ts';

type Delivery = JobEvent['deliveries'][number];
type Try = Delivery['tries'][number];

/** The event in which the job ended, and each try to tell the application of it. */
export function JobEventPart({ job }: { job: JobWhole }) {
  const { at } = useClient();
  if (job.event_gone) return <Text size="sm">The event was deleted after its 30 days.</Text>;
  if (!job.event) {
    const none = job.finished_at === null ? 'The event comes with the end of the job.' : 'This job sends no event.';
    return <Text size="sm">{none}</Text>;
  }
  return (
    <>
      <Group gap="xs" mb="xs">
        <Anchor component={Link} href={`~/dashboard${at(`/events/${job.event.id}`)}`} size="sm">
          {job.event.type}
        </Anchor>
        <Text size="sm" c="dimmed">
          <Moment at={job.event.created_at} />
        </Text>
      </Group>
      {job.event.deliveries.length === 0 && <Text size="sm">No webhook endpoint wants it.</Text>}
      {job.event.deliveries.map((delivery) => (
        <DeliveryPart key={delivery.id} delivery={delivery} />
      ))}
    </>
  );
}

function DeliveryPart({ delivery }: { delivery: Delivery }) {
  return (
    <>
      <Group gap="xs" mt="xs">
        <Status of={delivery.status} />
        <Text size="sm" className="breakable">
          {delivery.url}
        </Text>
        {delivery.next_try_at && (
          <Text size="sm" c="dimmed">
            Next try: <Moment at={delivery.next_try_at} />
          </Text>
        )}
      </Group>
      {delivery.tries.length > 0 && (
        <Rows
          label={`Tries to deliver to ${delivery.url}`}
          rows={delivery.tries}
          columns={tries}
          keyOf={(each) => each.attempt}
          empty=""
        />
      )}
    </>
  );
}

const tries: Column<Try>[] = [
  { head: 'Try', cell: (each) => each.attempt },
  { head: 'When', cell: (each) => <Moment at={each.at} /> },
  { head: 'Answer', cell: (each) => each.status_code ?? each.problem ?? 'None' },
  { head: 'Took', cell: (each) => wordDuration(each.duration_ms), align: 'right' },
];

import { Anchor, Group, Stack, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { Link } from 'wouter';
import { type Column, DataTable } from '../../parts/lists/DataTable.tsx';
import { deliveryStatus, Status } from '../../parts/Status.tsx';
import { Timestamp } from '../../parts/Timestamp.tsx';
import { EventName } from '../../parts/values.tsx';
import { useClient } from '../../service/client.tsx';
import type { Delivery, DeliveryAttempt, Job } from '../../service/types.ts';
import { duration } from './labels.ts';

/** The event that reports the job's result, and its deliveries. */
export function JobEvent({ job }: { job: Job }) {
  const { linkTo } = useClient();
  if (job.event_gone) return <Text size="sm">The event was deleted after 30 days.</Text>;
  if (!job.event) {
    const none = job.finished_at === null ? 'Sent when the job finishes.' : 'This job sends no event.';
    return <Text size="sm">{none}</Text>;
  }
  return (
    <>
      <Group gap="xs" mb="xs">
        <Anchor component={Link} href={linkTo(`/events/${job.event.id}`)} size="sm">
          <EventName name={job.event.type} />
        </Anchor>
        <Text size="sm" c="dimmed">
          <Timestamp at={job.event.created_at} />
        </Text>
      </Group>
      {job.event.deliveries.length === 0 && <Text size="sm">No endpoints are subscribed to this event type.</Text>}
      {job.event.deliveries.map((delivery) => (
        <DeliveryRow key={delivery.id} delivery={delivery} />
      ))}
    </>
  );
}

/** One line; the attempts of a delivery that is not healthy are shown, those of a delivered one on request. */
function DeliveryRow({ delivery }: { delivery: Delivery }) {
  const { url, tries, next_try_at } = delivery;
  const delivered = deliveryStatus(delivery) === 'success';
  const [opened, { toggle }] = useDisclosure(!delivered);
  const last = tries.at(-1);
  return (
    <Stack gap="xs" mt="md">
      <Group gap="xs">
        <Status of={deliveryStatus(delivery)} />
        <Text size="sm" className="breakable">
          {url}
        </Text>
        {delivered && last && (
          <Text size="sm" c="dimmed">
            {last.status_code} in {duration(last.duration_ms)} · <Timestamp at={last.at} />
          </Text>
        )}
        {delivered && tries.length > 1 && (
          <Anchor component="button" type="button" size="sm" aria-expanded={opened} onClick={toggle}>
            {tries.length} attempts
          </Anchor>
        )}
        {next_try_at && (
          <Text size="sm" c="dimmed">
            Next attempt: <Timestamp at={next_try_at} />
          </Text>
        )}
      </Group>
      {opened && tries.length > 0 && (
        <DataTable
          label={`Attempts to ${url}`}
          rows={tries}
          columns={columns}
          rowKey={(each) => each.attempt}
          empty=""
        />
      )}
    </Stack>
  );
}

const columns: Column<DeliveryAttempt>[] = [
  { head: 'Attempt', cell: (each) => each.attempt },
  { head: 'Time', cell: (each) => <Timestamp at={each.at} show="exact" /> },
  { head: 'Response', cell: (each) => each.status_code ?? each.problem ?? 'None' },
  { head: 'Duration', cell: (each) => duration(each.duration_ms), align: 'right' },
];

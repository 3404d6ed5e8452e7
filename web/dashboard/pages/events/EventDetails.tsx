import { Alert, Anchor, Code, Group, Paper, Stack, Text, Title } from '@mantine/core';
import { Link } from 'wouter';
import type { DeliveryTry, EventDelivery, EventWhole } from '../../../../src/model/dashboard/events.ts';
import { ActButton } from '../../parts/ActButton.tsx';
import { Answer } from '../../parts/Answer.tsx';
import { Copyable } from '../../parts/Copyable.tsx';
import { Empty } from '../../parts/Empty.tsx';
import { Fields } from '../../parts/Fields.tsx';
import { Moment } from '../../parts/Moment.tsx';
import { Payload } from '../../parts/Payload.tsx';
import { type Column, Rows } from '../../parts/Rows.tsx';
import { Status } from '../../parts/Status.tsx';
import { ask } from '../../service/ask.ts';
import { useClient } from '../../service/client.tsx';
import { useSession } from '../../service/session.tsx';
import { useAnswer } from '../../service/useService.ts';

export function EventDetails({ id }: { id: string }) {
  const { of } = useClient();
  const { may } = useSession();
  const answer = useAnswer<{ event: EventWhole }>(of(`events/${id}`), { live: ['events'] });
  return (
    <Answer to={answer}>
      {({ event }) => (
        <Stack>
          <Group justify="space-between">
            <Title order={2} size="h4" className="breakable">
              {event.type}
            </Title>
            {may('operator') && (
              <Group gap="xs">
                <ActButton act={() => ask<Resent>(of(`events/${id}/resend`), { method: 'POST' })} done={worded}>
                  Resend
                </ActButton>
              </Group>
            )}
          </Group>
          <About event={event} />
          <Title order={3} size="h5">
            Deliveries
          </Title>
          {event.deliveries.length === 0 && (
            <Empty>No endpoint wanted this event when it happened. Add one, then resend the event.</Empty>
          )}
          {event.deliveries.map((delivery) => (
            <Delivery key={delivery.id} delivery={delivery} />
          ))}
          <Title order={3} size="h5">
            Payload
          </Title>
          <Payload text={event.body} label="Payload" />
        </Stack>
      )}
    </Answer>
  );
}

type Resent = { deliveries: number };

function worded({ deliveries }: Resent): string {
  if (deliveries === 0) return 'Nothing to send: it is on its way already, or no enabled endpoint wants it.';
  return deliveries === 1 ? 'On its way to 1 endpoint.' : `On its way to ${deliveries} endpoints.`;
}

function About({ event }: { event: EventWhole }) {
  const { at } = useClient();
  return (
    <Fields
      of={{
        Delivery: <Status of={event.delivery_status ?? 'none'} />,
        Created: <Moment at={event.created_at} />,
        Job:
          event.job_id === null ? null : (
            <Anchor component={Link} href={`~/dashboard${at(`/jobs/${event.job_id}`)}`}>
              Job {event.job_id}
            </Anchor>
          ),
        Account: `${event.account.org_id} · ${event.account.user_id}`,
        'Event ID': <Copyable value={event.id} label="the event ID" />,
      }}
    />
  );
}

function Delivery({ delivery }: { delivery: EventDelivery }) {
  return (
    <Paper withBorder p="md">
      <Group gap="xs" mb="xs">
        <Status of={delivery.status} />
        <Text className="breakable" size="sm" fw={600}>
          {delivery.url}
        </Text>
      </Group>
      {delivery.endpoint_status === 'disabled' && (
        <Alert color="gray" mb="xs">
          This endpoint is disabled: nothing is sent to it until somebody enables it.
        </Alert>
      )}
      {delivery.next_try_at && (
        <Text size="sm">
          Next try <Moment at={delivery.next_try_at} />
        </Text>
      )}
      <Rows
        label={`Tries to ${delivery.url}`}
        rows={delivery.tries}
        columns={columns}
        keyOf={(each) => each.attempt}
        empty="Nothing was sent yet."
      />
    </Paper>
  );
}

const columns: Column<DeliveryTry>[] = [
  { head: 'Try', cell: (each) => each.attempt },
  {
    head: 'At',
    cell: (each) => (
      <span className="whole">
        <Moment at={each.at} />
      </span>
    ),
  },
  { head: 'Status', cell: (each) => each.status_code ?? 'No answer' },
  { head: 'Took', cell: (each) => <span className="whole">{each.duration_ms} ms</span>, align: 'right' },
  {
    head: 'What came back',
    cell: (each) => (
      <Stack gap={4} miw={260}>
        {each.problem && <Text size="sm">{each.problem}</Text>}
        {each.snippet && <Code block>{each.snippet}</Code>}
        {!each.problem && !each.snippet && '–'}
      </Stack>
    ),
  },
];

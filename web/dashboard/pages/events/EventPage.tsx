import { Alert, Anchor, Code, Group, Paper, Stack, Text, Title } from '@mantine/core';
import { Link } from 'wouter';
import { ActionButton } from '../../parts/ActionButton.tsx';
import { type Column, DataTable } from '../../parts/DataTable.tsx';
import { HiddenDetails } from '../../parts/HiddenDetails.tsx';
import { BackLink, EmptyState } from '../../parts/layout.tsx';
import { QueryResult } from '../../parts/QueryResult.tsx';
import { deliveryStatus, Status } from '../../parts/Status.tsx';
import { Timestamp } from '../../parts/Timestamp.tsx';
import { Copyable, Fields, Payload } from '../../parts/values.tsx';
import { call } from '../../service/api.ts';
import { useClient } from '../../service/client.tsx';
import { useQuery } from '../../service/queries.ts';
import { useSession } from '../../service/session.tsx';
import type { Delivery, DeliveryAttempt, EventDetails } from '../../service/types.ts';

export function EventPage({ id }: { id: string }) {
  const { client_id } = useClient();
  const { may } = useSession();
  const query = useQuery('events.get', { client_id, id }, { live: ['events'] });
  return (
    <QueryResult query={query}>
      {({ event, details_hidden }) => (
        <Stack>
          <div>
            <BackLink href="/">All events</BackLink>
            <Group justify="space-between">
              <Title order={2} size="h4" className="breakable">
                {event.type}
              </Title>
              {may('operator') && (
                <ActionButton action={() => call('events.resend', { client_id, id })} done={resendResult}>
                  Resend
                </ActionButton>
              )}
            </Group>
          </div>
          {details_hidden && <HiddenDetails kind="event" id={event.id} />}
          <Summary event={event} />
          <Title order={3} size="h5">
            Deliveries
          </Title>
          {event.deliveries.length === 0 && (
            <EmptyState>
              No endpoints were subscribed to this event type.{' '}
              <Anchor component={Link} href="/endpoints" inherit underline="always">
                Add an endpoint
              </Anchor>
              , then resend the event.
            </EmptyState>
          )}
          {event.deliveries.map((delivery) => (
            <DeliveryCard key={delivery.id} delivery={delivery} />
          ))}
          {!details_hidden && (
            <>
              <Title order={3} size="h5">
                Payload
              </Title>
              <Payload text={event.body} label="Payload" />
            </>
          )}
        </Stack>
      )}
    </QueryResult>
  );
}

function resendResult({ deliveries }: { deliveries: number }): string {
  if (deliveries === 0) return 'Nothing to resend: deliveries are already pending, or no endpoint is enabled.';
  return deliveries === 1 ? 'Resending to 1 endpoint.' : `Resending to ${deliveries} endpoints.`;
}

function Summary({ event }: { event: EventDetails }) {
  const { linkTo } = useClient();
  return (
    <Fields
      of={{
        Delivery: <Status of={deliveryStatus({ status: event.delivery_status, tries: event.tries })} />,
        Created: <Timestamp at={event.created_at} show="exact" />,
        Job:
          event.job_id === null ? null : (
            <Anchor component={Link} href={linkTo(`/jobs/${event.job_id}`)}>
              Job {event.job_id}
            </Anchor>
          ),
        Account: `${event.account.org_id} · ${event.account.user_id}`,
        'Event ID': <Copyable value={event.id} label="event ID" />,
      }}
    />
  );
}

function DeliveryCard({ delivery }: { delivery: Delivery }) {
  return (
    <Paper withBorder p="md">
      <Group gap="xs" mb="xs">
        <Status of={deliveryStatus(delivery)} />
        <Text className="breakable" size="sm" fw={600}>
          {delivery.url}
        </Text>
        {delivery.next_try_at && (
          <Text size="sm" c="dimmed">
            Next attempt: <Timestamp at={delivery.next_try_at} />
          </Text>
        )}
      </Group>
      {delivery.endpoint_status === 'disabled' && (
        <Alert color="gray" mb="xs">
          This endpoint is disabled. Enable it to send events again.
        </Alert>
      )}
      <DataTable
        label={`Attempts to ${delivery.url}`}
        rows={delivery.tries}
        columns={columns}
        rowKey={(each) => each.attempt}
        empty={no_attempts[delivery.endpoint_status]}
      />
    </Paper>
  );
}

const no_attempts: Record<Delivery['endpoint_status'], string> = {
  enabled: 'No attempts yet. The first one starts within seconds.',
  disabled: 'No attempts. Enable the endpoint, then resend the event.',
};

const columns: Column<DeliveryAttempt>[] = [
  { head: 'Attempt', cell: (each) => each.attempt },
  { head: 'Time', cell: (each) => <Timestamp at={each.at} show="exact" /> },
  { head: 'Status', cell: (each) => each.status_code ?? 'No response' },
  { head: 'Duration', cell: (each) => <span className="nowrap">{each.duration_ms} ms</span>, align: 'right' },
  {
    head: 'Response',
    phone: 'line',
    cell: (each) => (
      <Stack gap={4} className="wide-cell">
        {each.problem && <Text size="sm">{each.problem}</Text>}
        {each.snippet && <Code block>{each.snippet}</Code>}
        {!each.problem && !each.snippet && '–'}
      </Stack>
    ),
  },
];

import { Alert, Anchor, Code, Group, Paper, Stack, Text, Title } from '@mantine/core';
import type { ReactNode } from 'react';
import { Link } from 'wouter';
import { ActionButton } from '../../parts/forms/ActionButton.tsx';
import { HiddenDetails } from '../../parts/HiddenDetails.tsx';
import { BackLink, EmptyState } from '../../parts/layout.tsx';
import { type Column, DataTable } from '../../parts/lists/DataTable.tsx';
import { PayloadViewer } from '../../parts/PayloadViewer.tsx';
import { QueryResult } from '../../parts/QueryResult.tsx';
import { deliveryStatus, Status } from '../../parts/Status.tsx';
import { Timestamp } from '../../parts/Timestamp.tsx';
import { Copyable, CopyValue, EventName, Fields } from '../../parts/values.tsx';
import { call } from '../../service/api.ts';
import { useClient } from '../../service/client.tsx';
import { useQuery } from '../../service/queries.ts';
import { useSession } from '../../service/session.tsx';
import type { DeliveryAttempt, EventDetails } from '../../service/types.ts';
import { eventReference } from './eventGroups.ts';
import { toReplay } from './replay.ts';

type Delivery = EventDetails['deliveries'][number];

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
              <Title order={2} size="h3" className="breakable">
                <EventName name={event.type} />
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
            <DeliveryCard key={delivery.id} delivery={delivery} event={event} hidden={details_hidden === true} />
          ))}
          {!details_hidden && (
            <PayloadViewer
              text={event.body}
              label="Payload"
              actions={
                <Anchor href={eventReference(event.type)} size="sm">
                  Field reference
                </Anchor>
              }
            />
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
        Delivery: (
          <Group gap="xs">
            <Status of={deliveryStatus({ status: event.delivery_status, tries: event.tries })} />
            {event.endpoints > 1 && `${event.delivered} of ${event.endpoints} delivered`}
          </Group>
        ),
        Created: <Timestamp at={event.created_at} show="exact" />,
        Job:
          event.job_id === null ? null : (
            <Anchor component={Link} href={linkTo(`/jobs/${event.job_id}`)} inherit>
              Job {event.job_id}
            </Anchor>
          ),
        Account: `${event.account.org_id} · ${event.account.user_id}`,
        'Event ID': <Copyable value={event.id} label="event ID" />,
      }}
    />
  );
}

type CardProps = { delivery: Delivery; event: EventDetails; hidden: boolean };

/** One endpoint. A delivery that succeeded is one line; the attempts of others are open. */
function DeliveryCard({ delivery, event, hidden }: CardProps) {
  const [last] = delivery.tries;
  const delivered = delivery.status === 'success';
  return (
    <Paper withBorder p="md" component="section" aria-label={`Delivery to ${delivery.url}`}>
      <Group gap="xs" justify="space-between">
        <Group gap="xs">
          <Status of={deliveryStatus(delivery)} />
          <Anchor component={Link} href={`/endpoints/${delivery.webhook_id}`} className="breakable" size="sm" fw={600}>
            {delivery.url}
          </Anchor>
        </Group>
        <Group gap="sm">
          <Text size="sm" c="dimmed">
            {delivery.next_try_at ? (
              <>
                Next attempt: <Timestamp at={delivery.next_try_at} />
              </>
            ) : (
              last && (
                <>
                  {describeResponse(last)} · <Timestamp at={last.at} />
                </>
              )
            )}
          </Text>
          {!hidden && <CopyValue value={toReplay({ ...event, url: delivery.url })}>Copy as curl to replay</CopyValue>}
        </Group>
      </Group>
      {delivery.endpoint_status === 'disabled' && (
        <Alert color="gray" mt="xs">
          This endpoint is disabled. Enable it to send events again.
        </Alert>
      )}
      {delivered ? (
        <Disclosure label={delivery.tries.length === 1 ? '1 attempt' : `${delivery.tries.length} attempts`}>
          <Attempts delivery={delivery} />
          <Signature delivery={delivery} />
        </Disclosure>
      ) : (
        <Stack gap={0} mt="xs">
          <Attempts delivery={delivery} />
          {delivery.signed_headers && (
            <Disclosure label="Signature of the last attempt">
              <Signature delivery={delivery} />
            </Disclosure>
          )}
        </Stack>
      )}
    </Paper>
  );
}

function Disclosure({ label, children }: { label: string; children: ReactNode }) {
  return (
    <details className="more">
      <summary>{label}</summary>
      {children}
    </details>
  );
}

function describeResponse({ status_code, duration_ms }: DeliveryAttempt): string {
  return `${status_code ?? 'No response'} in ${duration_ms.toLocaleString()} ms`;
}

function Attempts({ delivery }: { delivery: Delivery }) {
  return (
    <DataTable
      label={`Attempts to ${delivery.url}`}
      rows={delivery.tries}
      columns={columns}
      rowKey={(each) => each.attempt}
      empty={no_attempts[delivery.endpoint_status]}
    />
  );
}

/** What a receiver needs to verify the last attempt, besides the body and the secret. */
function Signature({ delivery: { signed_headers, url } }: { delivery: Delivery }) {
  if (!signed_headers) return null;
  return (
    <section aria-label={`Signature headers of the last attempt to ${url}`}>
      <Stack gap={6} mt="sm">
        {Object.entries(signed_headers).map(([name, value]) => (
          <div key={name} className="item">
            <Text size="sm" c="dimmed">
              {name}
            </Text>
            <Copyable value={value} label={name} />
          </div>
        ))}
      </Stack>
    </section>
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
        {each.snippet && (
          <Code block className="wrapped">
            {each.snippet}
          </Code>
        )}
        {!each.problem && !each.snippet && '–'}
      </Stack>
    ),
  },
];

import { Alert, Anchor, Badge, Code, Group, Stack, Text, Title } from '@mantine/core';
import { Link } from 'wouter';
import { textOr } from '../../parts/labels.ts';
import { BackLink, Section } from '../../parts/layout.tsx';
import { QueryResult } from '../../parts/QueryResult.tsx';
import { Status } from '../../parts/Status.tsx';
import { Timestamp } from '../../parts/Timestamp.tsx';
import { Fields } from '../../parts/values.tsx';
import type { ResponseOf } from '../../service/api.ts';
import { useClient } from '../../service/client.tsx';
import { useQuery } from '../../service/queries.ts';
import { useSession } from '../../service/session.tsx';
import type { Webhook } from '../../service/types.ts';
import { EndpointActions } from './EndpointActions.tsx';
import { EndpointCertificate } from './EndpointCertificate.tsx';
import { EndpointHours } from './EndpointHours.tsx';
import { EventTable } from './EventTable.tsx';
import { ResendFailed } from './ResendFailed.tsx';
import { canSendPending, SendPendingNow } from './SendPendingNow.tsx';

/** One endpoint: whether it works, why not, and what was sent to it. */
export function EndpointPage({ id }: { id: string }) {
  const { client_id } = useClient();
  const query = useQuery('webhooks.get', { client_id, id }, { live: ['events'] });
  return (
    <>
      <BackLink href="/endpoints">All endpoints</BackLink>
      <QueryResult query={query}>{(response) => <Details {...response} />}</QueryResult>
    </>
  );
}

function Details({ webhook, hours }: Pick<ResponseOf<'webhooks.get'>, 'webhook' | 'hours'>) {
  const { may } = useSession();
  return (
    <Stack>
      <Group justify="space-between" align="flex-start">
        <div>
          <Title order={2} size="h3" className="breakable">
            {webhook.url}
          </Title>
          <Group gap="xs" mt={4}>
            <Status of={endpointStatus(webhook)} />
            {webhook.built_in && (
              <Badge color="blue" variant="light">
                Built-in receiver
              </Badge>
            )}
          </Group>
        </div>
        {may('operator') && <EndpointActions webhook={webhook} />}
      </Group>
      {webhook.paused_since !== null && (
        <Alert color="yellow" title="Paused">
          <Text size="sm">
            Since <Timestamp at={webhook.paused_since} show="clock" />. Deliveries wait until the endpoint is resumed.
            Those that have waited longer than 76 hours fail then.
          </Text>
        </Alert>
      )}
      {webhook.failing_since !== null && <LastError webhook={webhook} />}
      <Section title="Last 24 hours" order={3}>
        <EndpointHours hours={hours} />
        <Fields
          of={{
            Attempts: successRate(webhook),
            'Last success': <Timestamp at={webhook.last_success_at} />,
            ...(webhook.pending > 0 && { 'Pending deliveries': <Pending webhook={webhook} /> }),
            'Event types': webhook.event_types ? webhook.event_types.join(', ') : 'All',
            Organizations: webhook.org_ids ? webhook.org_ids.join(', ') : 'All',
            'Sync events': webhook.sync_events ? 'On' : 'Off',
            Added: <Timestamp at={webhook.created_at} />,
          }}
        />
      </Section>
      <EndpointCertificate webhook={webhook} />
      <Group justify="space-between">
        <Title order={3} size="h4">
          Deliveries
        </Title>
        {may('operator') && <ResendFailed webhook={webhook} />}
      </Group>
      <EventTable
        filters={{ webhook_id: webhook.id }}
        empty="No deliveries yet. Send a test event, or send a write request."
      />
    </Stack>
  );
}

export function endpointStatus({ status, failing_since, paused_since }: Webhook): string {
  if (status === 'enabled' && paused_since !== null) return 'paused';
  return status === 'enabled' && failing_since !== null ? 'failing' : status;
}

export function successRate({ tries_day, successes_day }: Webhook): string {
  if (tries_day === 0) return 'None';
  return `${tries_day}, ${Math.floor((100 * successes_day) / tries_day)}% successful`;
}

function Pending({ webhook }: { webhook: Webhook }) {
  const { may } = useSession();
  return (
    <Group gap="xs">
      {webhook.pending.toLocaleString()}
      {canSendPending(webhook) && may('operator') && <SendPendingNow webhook={webhook} />}
    </Group>
  );
}

/** Reading it is in the audit log, because the response may quote the event. So it is read once, without live updates. */
function LastError({ webhook: { id, failing_since, disabled_reason } }: { webhook: Webhook }) {
  const { client_id } = useClient();
  const query = useQuery('webhooks.last-error', { client_id, id });
  const error = query.data?.error;
  return (
    <Alert color="red" title={disabled_reason ?? textOr(error?.problem, 'Deliveries are failing.')}>
      <Text size="sm">
        Failing since <Timestamp at={failing_since} show="clock" />.{' '}
        {disabled_reason
          ? 'Fix the receiver, enable the endpoint, then recover the failed events.'
          : 'Deliveries are retried automatically. Once the receiver is fixed, you can send the pending ones right away.'}
      </Text>
      {error && (
        <>
          <Text size="sm" mt="xs">
            Last error: <Timestamp at={error.at} />,{' '}
            <Anchor component={Link} href={`/${error.event_id}`} size="sm">
              {error.event_type}
            </Anchor>
            . {disabled_reason && error.problem}
          </Text>
          {error.snippet && (
            <Code block mt="xs" className="wrapped">
              {error.snippet}
            </Code>
          )}
        </>
      )}
    </Alert>
  );
}

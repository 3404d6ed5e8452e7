import { Badge, Group, Paper, Stack, Text, Title } from '@mantine/core';
import { Link } from 'wouter';
import { EmptyState } from '../../parts/layout.tsx';
import { QueryResult } from '../../parts/QueryResult.tsx';
import { Status } from '../../parts/Status.tsx';
import { Timestamp } from '../../parts/Timestamp.tsx';
import { Fields } from '../../parts/values.tsx';
import { useClient } from '../../service/client.tsx';
import { useQuery } from '../../service/queries.ts';
import { useSession } from '../../service/session.tsx';
import type { Webhook } from '../../service/types.ts';
import { EndpointActions } from './EndpointActions.tsx';
import { AddEndpoint } from './EndpointForm.tsx';

export function Endpoints() {
  const { client_id } = useClient();
  const { may } = useSession();
  const query = useQuery('webhooks.list', { client_id }, { live: ['events'] });
  return (
    <>
      {may('operator') && (
        <Group justify="flex-end" mb="sm">
          <AddEndpoint />
        </Group>
      )}
      <QueryResult query={query}>
        {({ webhooks }) =>
          webhooks.length === 0 ? (
            <EmptyState>
              No endpoints yet. Add your application’s URL, or <Link href="/receiver">use the built-in receiver</Link>{' '}
              to see which events are sent.
            </EmptyState>
          ) : (
            <Stack>
              {webhooks.map((webhook) => (
                <Endpoint key={webhook.id} webhook={webhook} />
              ))}
            </Stack>
          )
        }
      </QueryResult>
    </>
  );
}

function Endpoint({ webhook }: { webhook: Webhook }) {
  const { may } = useSession();
  const failing = webhook.status === 'enabled' && webhook.failing_since !== null;
  return (
    <Paper withBorder p="md">
      <Group gap="xs" mb="xs">
        <Status of={failing ? 'failing' : webhook.status} />
        {webhook.built_in && (
          <Badge color="blue" variant="light">
            Built-in receiver
          </Badge>
        )}
      </Group>
      <Title order={2} size="h5" className="breakable">
        {webhook.url}
      </Title>
      {webhook.disabled_reason && (
        <Text size="sm" mt={4}>
          {webhook.disabled_reason}
        </Text>
      )}
      <Stack gap="sm" mt="sm">
        <Fields
          of={{
            ...(failing ? { 'Failing since': <Timestamp at={webhook.failing_since} /> } : {}),
            'Last success': <Timestamp at={webhook.last_success_at} />,
            'Attempts (24 h)': successRate(webhook),
            'Pending deliveries': webhook.pending,
            'Event types': webhook.event_types ? webhook.event_types.join(', ') : 'All',
            Added: <Timestamp at={webhook.created_at} />,
          }}
        />
        {may('operator') && <EndpointActions webhook={webhook} />}
      </Stack>
    </Paper>
  );
}

function successRate({ tries_day, successes_day }: Webhook): string {
  if (tries_day === 0) return 'None';
  return `${tries_day}, ${Math.floor((100 * successes_day) / tries_day)}% successful`;
}

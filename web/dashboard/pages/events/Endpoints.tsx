import { Badge, Group, Paper, Stack, Text, Title } from '@mantine/core';
import { Link } from 'wouter';
import type { WebhookRow } from '../../../../src/model/dashboard/webhooks.ts';
import { Answer } from '../../parts/Answer.tsx';
import { Empty } from '../../parts/Empty.tsx';
import { Fields } from '../../parts/Fields.tsx';
import { Moment } from '../../parts/Moment.tsx';
import { Status } from '../../parts/Status.tsx';
import { useClient } from '../../service/client.tsx';
import { useSession } from '../../service/session.tsx';
import { useAnswer } from '../../service/useService.ts';
import { AddEndpoint } from './AddEndpoint.tsx';
import { EndpointActions } from './EndpointActions.tsx';

export function Endpoints() {
  const { of } = useClient();
  const { may } = useSession();
  const answer = useAnswer<{ webhooks: WebhookRow[] }>(of('webhooks'), { live: ['events'] });
  return (
    <>
      {may('operator') && (
        <Group justify="flex-end" mb="sm">
          <AddEndpoint />
        </Group>
      )}
      <Answer to={answer}>
        {({ webhooks }) =>
          webhooks.length === 0 ? (
            <Empty>
              Nobody is told of events yet. Add the address of your application, or{' '}
              <Link href="/receiver">use the built-in receiver</Link> to see what would be sent.
            </Empty>
          ) : (
            <Stack>
              {webhooks.map((webhook) => (
                <Endpoint key={webhook.id} webhook={webhook} />
              ))}
            </Stack>
          )
        }
      </Answer>
    </>
  );
}

function Endpoint({ webhook }: { webhook: WebhookRow }) {
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
            ...(failing ? { 'Failing since': <Moment at={webhook.failing_since} /> } : {}),
            'Last success': <Moment at={webhook.last_success_at} />,
            'Tries of the last day': rateOf(webhook),
            'Waiting deliveries': webhook.pending,
            Types: webhook.event_types ? webhook.event_types.join(', ') : 'All',
            Added: <Moment at={webhook.created_at} />,
          }}
        />
        {may('operator') && <EndpointActions webhook={webhook} />}
      </Stack>
    </Paper>
  );
}

function rateOf({ tries_day, successes_day }: WebhookRow): string {
  if (tries_day === 0) return 'None';
  const percent = Math.floor((100 * successes_day) / tries_day);
  return `${percent} % of ${tries_day} succeeded`;
}

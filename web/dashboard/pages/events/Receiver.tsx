import { Alert, Group, Stack, Text, Title } from '@mantine/core';
import { ActionButton } from '../../parts/forms/ActionButton.tsx';
import { FormDialog, primary } from '../../parts/forms/FormDialog.tsx';
import { EmptyState, Section } from '../../parts/layout.tsx';
import { type Column, PagedTable } from '../../parts/lists/DataTable.tsx';
import { QueryResult } from '../../parts/QueryResult.tsx';
import { Status } from '../../parts/Status.tsx';
import { Timestamp } from '../../parts/Timestamp.tsx';
import { Copyable, EventName } from '../../parts/values.tsx';
import { call } from '../../service/api.ts';
import { useClient } from '../../service/client.tsx';
import { usePages, useQuery } from '../../service/queries.ts';
import { useSession } from '../../service/session.tsx';
import type { ReceivedRow, ReceiverState } from '../../service/types.ts';
import { SendTestEvent } from './EndpointActions.tsx';
import { describeResponse, ReceiverBehavior } from './ReceiverBehavior.tsx';

export function Receiver() {
  const { client_id } = useClient();
  const query = useQuery('receiver.get', { client_id }, { live: ['events'] });
  return (
    <QueryResult query={query}>
      {({ receiver, refused }) => (receiver ? <ReceiverDetails receiver={receiver} /> : <Setup blocked={refused} />)}
    </QueryResult>
  );
}

/** `blocked`: why deliveries to this address would be refused. */
function Setup({ blocked }: { blocked: string | null }) {
  const { client_id } = useClient();
  const { may } = useSession();
  return (
    <Stack>
      {blocked && <Alert color="orange">The built-in receiver is not available here. {blocked}</Alert>}
      <EmptyState
        action={
          may('operator') && (
            <ActionButton
              size="sm"
              variant="filled"
              disabled={blocked !== null}
              action={() => call('receiver.create', { client_id })}
            >
              Set up receiver
            </ActionButton>
          )
        }
      >
        The built-in receiver is an endpoint of this service that shows what your application would receive: headers,
        body and signature. You can also make it fail to test retries.
      </EmptyState>
    </Stack>
  );
}

function ReceiverDetails({ receiver }: { receiver: ReceiverState }) {
  const { client_id } = useClient();
  const { may } = useSession();
  const requests = usePages('received.list', { client_id }, { live: ['events'] });
  return (
    <Stack>
      <Copyable value={receiver.url} label="URL" />
      {receiver.endpoint_status === 'disabled' && (
        <Alert color="gray">
          <Stack align="flex-start" gap="xs">
            <Text size="sm">This endpoint is disabled. Enable it to receive events.</Text>
            {may('operator') && (
              <ActionButton action={() => call('webhooks.enable', { client_id, id: receiver.webhook_id })}>
                Enable
              </ActionButton>
            )}
          </Stack>
        </Alert>
      )}
      <Section title="Response">
        <ReceiverBehavior receiver={receiver} />
      </Section>
      <Group justify="space-between">
        <Title order={2} size="h4">
          Received requests
        </Title>
        {may('operator') && (requests.data?.length ?? 0) > 0 && (
          <FormDialog
            opener="Clear"
            title="Clear received requests"
            submit="Clear"
            action={() => call('received.clear', { client_id })}
            danger
          >
            <Text size="sm">Deletes all requests in this list. Events and deliveries are kept.</Text>
          </FormDialog>
        )}
      </Group>
      <PagedTable
        query={requests}
        label="Received requests"
        columns={columns}
        rowKey={(request) => request.id}
        href={(request) => `/receiver/${request.id}`}
        empty={
          <>
            No requests yet. Send a test event, or send a write request. Requests are kept for one day.
            {may('operator') && (
              <Group justify="center" mt="sm">
                <SendTestEvent id={receiver.webhook_id} look={primary} />
              </Group>
            )}
          </>
        }
      />
    </Stack>
  );
}

const columns: Column<ReceivedRow>[] = [
  {
    head: 'Event type',
    cell: ({ event_type, method, body_bytes }) =>
      event_type === null ? `${method}, ${body_bytes} bytes` : <EventName name={event_type} />,
  },
  { head: 'Signature', cell: (request) => <Status of={request.verdict} />, phone: 'end' },
  { head: 'Attempt', cell: (request) => request.attempt ?? '–', align: 'right' },
  { head: 'Response', cell: describeResponse },
  { head: 'Time', cell: (request) => <Timestamp at={request.at} /> },
];

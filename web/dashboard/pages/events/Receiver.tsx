import { Alert, Group, Paper, Stack, Text, Title } from '@mantine/core';
import type { ReceivedRow, ReceiverState } from '../../../../src/model/dashboard/receiver.ts';
import { ActButton } from '../../parts/ActButton.tsx';
import { Answer } from '../../parts/Answer.tsx';
import { Copyable } from '../../parts/Copyable.tsx';
import { Dialog } from '../../parts/Dialog.tsx';
import { Empty } from '../../parts/Empty.tsx';
import { Moment } from '../../parts/Moment.tsx';
import { type Column, PagedRows } from '../../parts/Rows.tsx';
import { Status } from '../../parts/Status.tsx';
import { ask } from '../../service/ask.ts';
import { useClient } from '../../service/client.tsx';
import { useSession } from '../../service/session.tsx';
import { usePages } from '../../service/usePages.ts';
import { useAnswer } from '../../service/useService.ts';
import { answeredAs } from './answeredAs.ts';
import { ReceiverAnswer } from './ReceiverAnswer.tsx';

type Told = { receiver: ReceiverState | null; refused: string | null };

export function Receiver() {
  const { of } = useClient();
  const answer = useAnswer<Told>(of('receiver'), { live: ['events'] });
  return (
    <Answer to={answer}>
      {({ receiver, refused }) => (receiver ? <Opened receiver={receiver} /> : <NotOpened refused={refused} />)}
    </Answer>
  );
}

function NotOpened({ refused }: { refused: string | null }) {
  const { of } = useClient();
  const { may } = useSession();
  return (
    <Stack align="flex-start">
      <Empty>
        The built-in receiver is an address of this service that shows you what an application would get: headers, body
        and whether the signature is right. It can be told to fail, so that you see what happens then.
      </Empty>
      {refused && <Alert color="orange">It cannot be used here: deliveries would be refused. {refused}</Alert>}
      {may('operator') && (
        <ActButton
          size="sm"
          variant="filled"
          disabled={refused !== null}
          act={() => ask(of('receiver'), { method: 'POST' })}
        >
          Use the built-in receiver
        </ActButton>
      )}
    </Stack>
  );
}

function Opened({ receiver }: { receiver: ReceiverState }) {
  const { of } = useClient();
  const { may } = useSession();
  const requests = usePages<ReceivedRow>(of('receiver/requests'), { live: ['events'] });
  return (
    <Stack>
      <Copyable value={receiver.url} label="the address" />
      {receiver.endpoint_status === 'disabled' && (
        <Alert color="gray">
          <Stack align="flex-start" gap="xs">
            <Text size="sm">This endpoint is disabled: nothing is sent to it.</Text>
            {may('operator') && (
              <ActButton act={() => ask(of(`webhooks/${receiver.webhook_id}/enable`), { method: 'POST' })}>
                Enable
              </ActButton>
            )}
          </Stack>
        </Alert>
      )}
      <Paper withBorder p="md">
        <Title order={2} size="h4" mb="xs">
          How it answers
        </Title>
        <ReceiverAnswer receiver={receiver} />
      </Paper>
      <Group justify="space-between">
        <Title order={2} size="h4">
          What it got
        </Title>
        {may('operator') && (requests.data?.length ?? 0) > 0 && (
          <Dialog
            opener="Clear"
            title="Clear what it got"
            submit="Clear"
            act={() => ask(of('receiver/requests'), { method: 'DELETE' })}
            danger
          >
            <Text size="sm">Every request shown here is forgotten. Events and their deliveries stay.</Text>
          </Dialog>
        )}
      </Group>
      <PagedRows
        of={requests}
        label="Requests to the built-in receiver"
        columns={columns}
        keyOf={(request) => request.id}
        href={(request) => `/receiver/${request.id}`}
        empty="Nothing came yet. Send a test event from Endpoints, or make a write: what arrives is shown here at once, and kept for a day."
      />
    </Stack>
  );
}

const columns: Column<ReceivedRow>[] = [
  { head: 'What', cell: (request) => request.event_type ?? `${request.method}, ${request.body_bytes} bytes` },
  { head: 'Signature', cell: (request) => <Status of={request.verdict} /> },
  { head: 'Try', cell: (request) => request.attempt ?? '–', align: 'right' },
  { head: 'Answered', cell: answeredAs },
  { head: 'At', cell: (request) => <Moment at={request.at} /> },
];

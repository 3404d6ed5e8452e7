import { Group, Progress, Stack, Text, TextInput } from '@mantine/core';
import type { UseQueryResult } from '@tanstack/react-query';
import { useState } from 'react';
import { FormDialog } from '../../parts/forms/FormDialog.tsx';
import { QueryResult } from '../../parts/QueryResult.tsx';
import { toLocal, toUtc } from '../../parts/Timestamp.tsx';
import { type ApiError, call, type ResponseOf } from '../../service/api.ts';
import { useClient } from '../../service/client.tsx';
import { useQuery } from '../../service/queries.ts';
import type { Webhook } from '../../service/types.ts';
import { canSendPending, SendPendingNow } from './SendPendingNow.tsx';

const day_ms = 86_400_000;

/** Resends all failed events since a chosen time, in batches; with an endpoint, only to that one. */
export function ResendFailed({ webhook }: { webhook?: Webhook }) {
  const { client_id } = useClient();
  const webhook_id = webhook?.id;
  const anything = useAnythingFailed(webhook_id);
  const sendable = webhook && canSendPending(webhook) ? webhook : undefined;
  const [since, setSince] = useState(() => toLocal(new Date(Date.now() - day_ms).toISOString()));
  const [opened, setOpened] = useState(false);
  const count = useQuery(
    'failedEvents.count',
    { client_id },
    { query: { since: toUtc(since), webhook_id }, live: ['events'], enabled: opened && since !== '' },
  );
  const [progress, setProgress] = useState<{ resent: number; total: number }>();
  const resendAll = async () => {
    const range = { since: toUtc(since), ...(webhook_id === undefined ? {} : { webhook_id }) };
    const { events: total, until } = await call('failedEvents.count', { client_id }, { query: range });
    let resent = 0;
    setProgress({ resent, total });
    for (let after: string | null | undefined; after !== null; ) {
      const body = { ...range, until, ...(after === undefined ? {} : { after }) };
      const batch = await call('failedEvents.resend', { client_id }, { body });
      resent += batch.resent;
      after = batch.next;
      setProgress({ resent, total });
    }
    return resent;
  };
  return (
    <FormDialog
      opener={webhook_id === undefined ? 'Resend failed' : 'Recover failed'}
      title={webhook_id === undefined ? 'Resend failed events' : 'Recover failed events for this endpoint'}
      submit="Resend"
      disabled={count.data?.events === 0}
      onOpenChange={setOpened}
      look={{ disabled: !anything && !sendable }}
      action={() => resendAll().finally(() => setProgress(undefined))}
      done={(resent) => <Text role="status">Resending {formatCount(resent)}.</Text>}
    >
      <TextInput
        label="Created since"
        type="datetime-local"
        required
        value={since}
        onChange={({ currentTarget }) => setSince(currentTarget.value)}
        data-autofocus
      />
      {since !== '' && <FailedCount query={count} />}
      {sendable && <SendPending webhook={sendable} />}
      {progress && (
        <Stack gap={4}>
          <Text size="sm" role="status">
            {progress.resent} of {progress.total} queued
          </Text>
          <Progress
            value={progress.total === 0 ? 100 : (100 * progress.resent) / progress.total}
            aria-label="Events queued"
          />
        </Stack>
      )}
    </FormDialog>
  );
}

/** Whether an event of the last 30 days is failed now. */
function useAnythingFailed(webhook_id: string | undefined): boolean {
  const { client_id } = useClient();
  // Computed once: every other time would be another query.
  const [since] = useState(() => new Date(Date.now() - 30 * day_ms).toISOString());
  const { data } = useQuery('failedEvents.count', { client_id }, { query: { since, webhook_id }, live: ['events'] });
  return data !== undefined && data.events + data.stuck > 0;
}

/** Pending events are not failed: what an operator who comes to recover an endpoint usually wants is this. */
function SendPending({ webhook }: { webhook: Webhook }) {
  return (
    <Group gap="xs">
      <Text size="sm">
        {webhook.pending === 1 ? '1 delivery waits' : `${webhook.pending.toLocaleString()} deliveries wait`} for the
        next attempt.
      </Text>
      <SendPendingNow webhook={webhook} />
    </Group>
  );
}

function FailedCount({ query }: { query: UseQueryResult<ResponseOf<'failedEvents.count'>, ApiError> }) {
  return (
    <QueryResult query={query}>
      {({ events, stuck }) => (
        <div>
          <Text size="sm">
            {events === 0
              ? 'No failed events in this period.'
              : `${formatCount(events)} failed in this period. Each is resent to the endpoints where it failed.`}
          </Text>
          <Text size="sm" c="dimmed">
            Pending events are retried automatically and are not included.
          </Text>
          {stuck > 0 && (
            <Text size="sm" c="dimmed">
              {formatCount(stuck)} cannot be resent. First enable the endpoint or subscribe it to the event type.
            </Text>
          )}
        </div>
      )}
    </QueryResult>
  );
}

function formatCount(events: number): string {
  return events === 1 ? '1 event' : `${events} events`;
}

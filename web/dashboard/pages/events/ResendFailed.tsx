import { Progress, Stack, Text, TextInput } from '@mantine/core';
import { useState } from 'react';
import { FormDialog } from '../../parts/FormDialog.tsx';
import { QueryResult } from '../../parts/QueryResult.tsx';
import { toLocal, toUtc } from '../../parts/Timestamp.tsx';
import { call } from '../../service/api.ts';
import { useClient } from '../../service/client.tsx';
import { useQuery } from '../../service/queries.ts';

const day_ms = 86_400_000;

/** Resends all failed events since a chosen time, in batches; with an endpoint, only to that one. */
export function ResendFailed({ webhook_id }: { webhook_id?: string }) {
  const { client_id } = useClient();
  const [since, setSince] = useState(() => toLocal(new Date(Date.now() - day_ms).toISOString()));
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
      {since !== '' && <FailedCount since={toUtc(since)} webhook_id={webhook_id} />}
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

function FailedCount({ since, webhook_id }: { since: string; webhook_id: string | undefined }) {
  const { client_id } = useClient();
  const query = useQuery('failedEvents.count', { client_id }, { query: { since, webhook_id }, live: ['events'] });
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
            Pending events are not included: they are retried automatically.
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

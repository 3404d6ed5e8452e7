import { Progress, Stack, Text, TextInput } from '@mantine/core';
import { useState } from 'react';
import type { FailedCount, ResentBatch } from '../../../../src/model/dashboard/events.ts';
import { Answer } from '../../parts/Answer.tsx';
import { Dialog } from '../../parts/Dialog.tsx';
import { fromLocal, toLocal } from '../../parts/localTime.ts';
import { ask } from '../../service/ask.ts';
import { useClient } from '../../service/client.tsx';
import { useAnswer } from '../../service/useService.ts';

const day_ms = 86_400_000;

/** Sends everything again that is failed now, since a moment that is asked for, batch by batch. */
export function ResendFailed() {
  const { of } = useClient();
  const [since, setSince] = useState(() => toLocal(new Date(Date.now() - day_ms).toISOString()));
  const [progress, setProgress] = useState<{ resent: number; total: number }>();
  const path = of(`failed-events?${new URLSearchParams({ since: fromLocal(since) })}`);
  const resendAll = async () => {
    const { events: total, until } = await ask<FailedCount>(path);
    let resent = 0;
    setProgress({ resent, total });
    for (let after: string | null | undefined; after !== null; ) {
      const body = { since: fromLocal(since), until, ...(after === undefined ? {} : { after }) };
      const batch: ResentBatch = await ask(of('failed-events/resend'), { method: 'POST', body });
      resent += batch.resent;
      after = batch.next;
      setProgress({ resent, total });
    }
    return resent;
  };
  return (
    <Dialog
      opener="Resend failed"
      title="Resend failed events"
      submit="Resend"
      act={() => resendAll().finally(() => setProgress(undefined))}
      done={(resent) => <Text role="status">{resent === 1 ? '1 event is' : `${resent} events are`} on the way.</Text>}
    >
      <TextInput
        label="Failed events created since"
        type="datetime-local"
        required
        value={since}
        onChange={({ currentTarget }) => setSince(currentTarget.value)}
        data-autofocus
      />
      {since !== '' && <Count path={path} />}
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
    </Dialog>
  );
}

function Count({ path }: { path: string }) {
  const count = useAnswer<FailedCount>(path, { live: ['events'] });
  return (
    <Answer to={count}>
      {({ events, stuck }) => (
        <div>
          <Text size="sm">
            {events === 0
              ? 'Nothing of that time is failed now.'
              : `${events === 1 ? '1 event is' : `${events} events are`} failed now. Each is sent again to the endpoints it failed at.`}
          </Text>
          <Text size="sm" c="dimmed">
            Events that still wait for their next try are not among them: they are sent by themselves.
          </Text>
          {stuck > 0 && (
            <Text size="sm" c="dimmed">
              {stuck === 1 ? '1 more stays' : `${stuck} more stay`} failed: enable the endpoint first, or have it want
              the type.
            </Text>
          )}
        </div>
      )}
    </Answer>
  );
}

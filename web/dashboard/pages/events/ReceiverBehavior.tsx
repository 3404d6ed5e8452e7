import { Button, Group, NativeSelect, Stack, Text, TextInput } from '@mantine/core';
import { type FormEvent, useState } from 'react';
import { ErrorAlert } from '../../parts/errors.tsx';
import { ActionButton } from '../../parts/forms/ActionButton.tsx';
import { type Body, call } from '../../service/api.ts';
import { useClient } from '../../service/client.tsx';
import { useAction } from '../../service/queries.ts';
import { useSession } from '../../service/session.tsx';
import type { ReceiverState } from '../../service/types.ts';

const responses = [
  { value: '200', label: '200 OK' },
  { value: '500', label: '500 Internal Server Error' },
  { value: '503', label: '503 Service Unavailable' },
  { value: '429', label: '429 Too Many Requests' },
  { value: '404', label: '404 Not Found' },
  { value: '410', label: '410 Gone (disables the endpoint)' },
  { value: '302', label: '302 Found' },
  { value: 'close', label: 'Close the connection' },
  { value: 'other', label: 'Other status' },
];

/** The option that stands for a status; null closes the connection. */
function toOption(status: number | null): string {
  if (status === null) return 'close';
  return responses.some(({ value }) => value === String(status)) ? String(status) : 'other';
}

type Change = (body: Body<'receiver.update'>) => Promise<unknown>;

/** How the receiver responds, and a form to change it. */
export function ReceiverBehavior({ receiver }: { receiver: ReceiverState }) {
  const { client_id } = useClient();
  const { may } = useSession();
  const ok = receiver.status === 200 && receiver.delay_ms === 0;
  const change: Change = (body) => call('receiver.update', { client_id }, { body });
  return (
    <Stack gap="sm">
      <Group gap="xs">
        <Text size="sm" role="status">
          {ok ? 'Responds with 200 OK.' : `${describeResponse(receiver)}, ${duration(receiver)}.`}
        </Text>
        {!ok && may('operator') && (
          <ActionButton action={() => change({ status: 200, delay_ms: 0, times: null })}>Reset to 200</ActionButton>
        )}
      </Group>
      {may('operator') && (
        <ResponseForm
          // Keyed, so that the form starts over from the behavior in force.
          key={JSON.stringify(receiver)}
          receiver={receiver}
          change={change}
        />
      )}
    </Stack>
  );
}

/** A response in a few words: `500 after 2 s`. */
export function describeResponse({ status, delay_ms }: Pick<ReceiverState, 'status' | 'delay_ms'>): string {
  const response = status === null ? 'Connection closed' : String(status);
  return delay_ms > 0 ? `${response} after ${delay_ms / 1000} s` : response;
}

function duration({ times }: ReceiverState): string {
  if (times === null) return 'until changed';
  return times === 1 ? 'for the next request' : `for the next ${times} requests`;
}

/** The behavior in force, and what replaces it. */
function ResponseForm({ receiver: { status, delay_ms, times }, change }: { receiver: ReceiverState; change: Change }) {
  const [response, setResponse] = useState(() => toOption(status));
  const { mutate, isPending, error } = useAction((form: FormData) =>
    change({
      status: response === 'close' ? null : Number(response === 'other' ? form.get('status') : response),
      delay_ms: Math.round(Number(form.get('delay_s') || 0) * 1000),
      times: form.get('times') ? Number(form.get('times')) : null,
    }),
  );
  const onSubmit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    mutate(new FormData(event.currentTarget));
  };
  return (
    <form onSubmit={onSubmit}>
      <Group align="flex-end" gap="sm">
        <NativeSelect
          label="Respond with"
          data={responses}
          value={response}
          onChange={({ currentTarget }) => setResponse(currentTarget.value)}
        />
        {response === 'other' && (
          <TextInput
            label="Status"
            name="status"
            type="number"
            min={200}
            max={599}
            required
            w={100}
            defaultValue={status ?? ''}
          />
        )}
        <TextInput
          label="Delay (s)"
          name="delay_s"
          type="number"
          min={0}
          max={20}
          step="0.1"
          w={110}
          defaultValue={delay_ms === 0 ? '' : delay_ms / 1000}
        />
        <TextInput
          label="Requests"
          name="times"
          type="number"
          min={1}
          max={1_000_000}
          placeholder="All"
          w={110}
          defaultValue={times ?? ''}
        />
        <Button type="submit" variant="light" loading={isPending}>
          Apply
        </Button>
      </Group>
      <Text size="xs" c="dimmed" mt={4}>
        Deliveries time out after 15 seconds.
      </Text>
      {error && <ErrorAlert error={error} />}
    </form>
  );
}

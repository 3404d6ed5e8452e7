import { Button, Group, NativeSelect, Stack, Text, TextInput } from '@mantine/core';
import { type FormEvent, useState } from 'react';
import type { ReceiverState } from '../../../../src/model/dashboard/receiver.ts';
import { ActButton } from '../../parts/ActButton.tsx';
import { Failure } from '../../parts/Failure.tsx';
import { ask } from '../../service/ask.ts';
import { useClient } from '../../service/client.tsx';
import { useSession } from '../../service/session.tsx';
import { useAct } from '../../service/useService.ts';
import { answeredAs } from './answeredAs.ts';

const answers = [
  { value: '500', label: '500 Internal error' },
  { value: '503', label: '503 Unavailable' },
  { value: '429', label: '429 Too many requests' },
  { value: '404', label: '404 Not found' },
  { value: '410', label: '410 Gone (disables the endpoint)' },
  { value: '302', label: '302 Redirect' },
  { value: '200', label: '200 OK' },
  { value: 'close', label: 'Close the connection' },
  { value: 'other', label: 'Another status' },
];

/** How the receiver answers now, and a form that tells it to answer otherwise. */
export function ReceiverAnswer({ receiver }: { receiver: ReceiverState }) {
  const { of } = useClient();
  const { may } = useSession();
  const well = receiver.status === 200 && receiver.delay_ms === 0;
  const tell = (body: unknown) => ask(of('receiver'), { method: 'PATCH', body });
  return (
    <Stack gap="sm">
      <Group gap="xs">
        <Text size="sm" role="status">
          {well ? 'It takes everything: 200.' : `${answeredAs(receiver)}, ${forHowLong(receiver)}.`}
        </Text>
        {!well && may('operator') && (
          <ActButton act={() => tell({ status: 200, delay_ms: 0, times: null })}>Take everything again</ActButton>
        )}
      </Group>
      {may('operator') && <Order tell={tell} />}
    </Stack>
  );
}

function forHowLong({ times }: ReceiverState): string {
  if (times === null) return 'until it is told otherwise';
  return times === 1 ? 'for the next request' : `for the next ${times} requests`;
}

function Order({ tell }: { tell: (body: unknown) => Promise<unknown> }) {
  const [answer, setAnswer] = useState('500');
  const telling = useAct<FormData>((typed) =>
    tell({
      status: answer === 'close' ? null : Number(answer === 'other' ? typed.get('status') : answer),
      delay_ms: Math.round(Number(typed.get('delay_s') || 0) * 1000),
      times: typed.get('times') ? Number(typed.get('times')) : null,
    }),
  );
  const send = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    telling.mutate(new FormData(event.currentTarget));
  };
  return (
    <form onSubmit={send}>
      <Group align="flex-end" gap="sm">
        <NativeSelect
          label="Answer"
          data={answers}
          value={answer}
          onChange={({ currentTarget }) => setAnswer(currentTarget.value)}
        />
        {answer === 'other' && (
          <TextInput label="Status" name="status" type="number" min={200} max={599} required w={100} />
        )}
        <TextInput label="After seconds" name="delay_s" type="number" min={0} max={20} step="0.1" w={130} />
        <TextInput label="Times" name="times" type="number" min={1} max={1_000_000} placeholder="Always" w={110} />
        <Button type="submit" variant="light" loading={telling.isPending}>
          Answer so
        </Button>
      </Group>
      <Text size="xs" c="dimmed" mt={4}>
        Deliveries wait 15 seconds for an answer.
      </Text>
      {telling.error && <Failure problem={telling.error} />}
    </form>
  );
}

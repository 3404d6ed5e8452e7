import { Text } from '@mantine/core';
import { Copyable } from '../../parts/Copyable.tsx';

/** The secret of an endpoint, in the one place where the dashboard shows it. */
export function NewSecret({ secret, note }: { secret: string; note?: string }) {
  return (
    <>
      <Text size="sm">Copy this secret to the application now: the dashboard does not show it again.</Text>
      <Copyable value={secret} label="the secret" />
      {note && (
        <Text size="sm" c="dimmed">
          {note}
        </Text>
      )}
    </>
  );
}

import { Alert, Button, Group, Text } from '@mantine/core';
import type { Problem } from '../service/ask.ts';

/** What went wrong, where it went wrong, with the id to quote and a way to try again. */
export function Failure({ problem, retry }: { problem: Problem; retry?: () => unknown }) {
  return (
    <Alert color="red" role="alert" my="sm">
      <Group justify="space-between" align="flex-start">
        <div>
          <Text size="sm">{problem.message}</Text>
          {problem.status >= 500 && problem.request_id && (
            <Text size="xs" c="dimmed">
              Request {problem.request_id}
            </Text>
          )}
        </div>
        {retry && (
          <Button size="compact-sm" variant="light" color="red" onClick={() => retry()}>
            Try again
          </Button>
        )}
      </Group>
    </Alert>
  );
}

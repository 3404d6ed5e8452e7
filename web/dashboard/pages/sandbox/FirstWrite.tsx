import { Anchor, Button, Stack, Text } from '@mantine/core';
import { Link } from 'wouter';
import { Failure } from '../../parts/Failure.tsx';
import { ask } from '../../service/ask.ts';
import { useAct } from '../../service/useService.ts';

/** What an application would ask for, asked for here: a newcomer sees a job from its beginning. */
export function FirstWrite({ clinic }: { clinic: string }) {
  const write = useAct<void, { client_id: string; job_id: number }>(() =>
    ask('sandbox/first-write', { method: 'POST' }),
  );
  return (
    <Stack gap="xs" align="flex-start">
      <Text size="sm">Records a telephone call in the chart of a patient of {clinic}, as an application would.</Text>
      <Button size="compact-sm" variant="light" loading={write.isPending} onClick={() => write.mutate()}>
        Make a first write
      </Button>
      {write.error && <Failure problem={write.error} />}
      {write.data && (
        <Text size="sm" role="status">
          Accepted.{' '}
          <Anchor
            component={Link}
            href={`~/dashboard/clients/${write.data.client_id}/jobs/${write.data.job_id}`}
            size="sm"
          >
            See job {write.data.job_id}
          </Anchor>
        </Text>
      )}
    </Stack>
  );
}

import { Anchor, List, Progress, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import { Link } from 'wouter';
import { FormDialog } from '../../parts/forms/FormDialog.tsx';
import { ApiError, call } from '../../service/api.ts';
import { useClient } from '../../service/client.tsx';

type Chosen =
  | { job_ids: readonly number[] }
  /** Those that `find` returns when they are to run; about `count`. */
  | { find: () => Promise<readonly number[]>; count: number };
type Result = { queued: number; refused: { job_id: number; reason: string }[] };

type Props = {
  of: Chosen;
  /** The text of the button. */
  opener?: string;
  /** Jobs that were run again leave the list; until the dialog is closed, the page must keep rendering it. */
  onOpenChange: (opened: boolean) => void;
};

/** Runs several jobs again, one request per job: each is checked, locked and recorded as if it were the only one. */
export function RunAgainMany({ of, opener = 'Run again', onOpenChange }: Props) {
  const { client_id } = useClient();
  const [progress, setProgress] = useState<{ done: number; total: number }>();
  const count = 'job_ids' in of ? of.job_ids.length : of.count;
  const runAll = async (): Promise<Result> => {
    const job_ids = 'job_ids' in of ? of.job_ids : await of.find();
    const result: Result = { queued: 0, refused: [] };
    for (const [n, job_id] of job_ids.entries()) {
      setProgress({ done: n, total: job_ids.length });
      await call('jobs.run-again', { client_id, job_id: String(job_id) }).then(
        () => {
          result.queued += 1;
        },
        (error: unknown) => {
          // Only a rule about this one job lets the others continue.
          if (!(error instanceof ApiError) || !rules.includes(error.code)) throw error;
          result.refused.push({ job_id, reason: error.message });
        },
      );
    }
    return result;
  };
  return (
    <FormDialog
      opener={opener}
      title={count === 1 ? 'Run 1 job again' : `Run ${count.toLocaleString()} jobs again`}
      submit="Run again"
      look={{ variant: 'light' }}
      action={() => runAll().finally(() => setProgress(undefined))}
      done={(result) => <Summary result={result} />}
      onOpenChange={onOpenChange}
    >
      <Text size="sm">
        Each job is queued again, unless that would be unsafe. Anything already saved in the EMR is not written again.
        Every new job sends its own event.
      </Text>
      {progress && (
        <Stack gap={4}>
          <Text size="sm" role="status">
            {progress.done} of {progress.total} processed
          </Text>
          <Progress value={(100 * progress.done) / Math.max(1, progress.total)} aria-label="Jobs processed" />
        </Stack>
      )}
    </FormDialog>
  );
}

const rules = ['job_not_repeatable', 'record_not_found'];

function Summary({ result: { queued, refused } }: { result: Result }) {
  const { linkTo } = useClient();
  return (
    <Stack gap="xs" role="status">
      <Text size="sm">{queued === 1 ? '1 job was queued again.' : `${queued} jobs were queued again.`}</Text>
      {refused.length > 0 && (
        <>
          <Text size="sm">{refused.length === 1 ? '1 was not:' : `${refused.length} were not:`}</Text>
          <List size="sm" mah={240} className="overflowing">
            {refused.map(({ job_id, reason }) => (
              <List.Item key={job_id}>
                <Anchor component={Link} href={linkTo(`/jobs/${job_id}`)} inherit>
                  Job {job_id}
                </Anchor>
                : {reason}
              </List.Item>
            ))}
          </List>
        </>
      )}
    </Stack>
  );
}

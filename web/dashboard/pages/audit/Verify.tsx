import { Alert, Button, Group, List, Progress, Text } from '@mantine/core';
import { useState } from 'react';
import { ErrorAlert } from '../../parts/errors.tsx';
import { callForLines, type ResponseOf } from '../../service/api.ts';
import { useAction } from '../../service/queries.ts';

type Line = ResponseOf<'audit.verify'>;
type Verdict = Extract<Line, { verdict: unknown }>['verdict'];

const fault_labels: Record<Verdict['faults'][number]['what'], string> = {
  changed: 'was changed',
  not_linked: 'does not follow the previous record',
  missing: 'is missing',
  beyond_head: 'is after the end of the chain',
  head_broken: 'The end of the chain was changed or removed',
  rolled_back: 'was anchored, but the log ends before it',
  anchor_mismatch: 'is not the record that was anchored at this position',
  anchor_changed: 'An anchor was changed, or belongs to another database',
  trigger: 'can drop or change records before they are stored: remove it',
};

function describeFault({ position, id, what }: Verdict['faults'][number]): string {
  if (what === 'trigger') return `The ${id} ${fault_labels[what]}`;
  if (what === 'head_broken' || what === 'anchor_changed') return fault_labels[what];
  // A record that is missing is known by its id, from the records after it.
  const named = what === 'missing' && id !== null;
  if (position === null) return `${named ? `The new record ${id}` : 'A new record'} ${fault_labels[what]}`;
  return `Record ${position}${named ? ` (${id})` : ''} ${fault_labels[what]}`;
}

type Verification = ReturnType<typeof useVerification>;

/** Verifies the whole hash chain of the audit log. */
export function useVerification() {
  const [progress, setProgress] = useState<{ checked: number; total: number }>();
  const [verdict, setVerdict] = useState<Verdict>();
  const { mutate, isPending, error } = useAction<void>(async () => {
    setProgress(undefined);
    setVerdict(undefined);
    await callForLines('audit.verify', {}, (line) => {
      if ('verdict' in line) setVerdict(line.verdict);
      else setProgress(line);
    });
  });
  return { start: () => mutate(), progress, verdict, isPending, error };
}

export function VerifyButton({ verification: { start, isPending } }: { verification: Verification }) {
  return (
    <Button variant="default" loading={isPending} onClick={start}>
      Verify integrity
    </Button>
  );
}

/** The progress of the verification, then its result. */
export function VerifyResult({ verification }: { verification: Verification }) {
  const { progress, verdict, isPending, error } = verification;
  const percent = progress && progress.total > 0 ? Math.round((progress.checked / progress.total) * 100) : 0;
  return (
    <>
      {isPending && (
        <Group mb="md">
          <Progress.Root w={200} size="lg">
            <Progress.Section value={percent} aria-label="Verification progress" />
          </Progress.Root>
          <Text size="sm" role="status">
            {progress ? `${progress.checked} of ${progress.total}` : 'Starting…'}
          </Text>
        </Group>
      )}
      {error && <ErrorAlert error={error} />}
      {verdict?.ok && (
        <Alert color="green" role="status" mb="md">
          All {verdict.checked} records verified: unchanged, in order and complete.
          {verdict.unsealed > 0 && ` ${verdict.unsealed} new records are not in the chain yet.`}
        </Alert>
      )}
      {verdict && !verdict.ok && (
        <Alert color="red" role="alert" title="The audit log was tampered with" mb="md">
          <List size="sm">
            {verdict.faults.map((fault) => (
              <List.Item key={`${fault.position} ${fault.id} ${fault.what}`}>{describeFault(fault)}</List.Item>
            ))}
          </List>
        </Alert>
      )}
    </>
  );
}

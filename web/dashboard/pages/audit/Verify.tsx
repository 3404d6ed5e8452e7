import { Alert, Button, Group, List, Progress, Text } from '@mantine/core';
import { useState } from 'react';
import type { AuditFault, AuditVerdict, AuditVerifyLine } from '../../../../src/model/dashboard/audit.ts';
import { Failure } from '../../parts/Failure.tsx';
import { askLines } from '../../service/ask.ts';
import { useAct } from '../../service/useService.ts';

const words: Record<AuditFault['what'], string> = {
  changed: 'was changed',
  not_linked: 'does not follow the one before it',
  missing: 'is missing',
  beyond_head: 'stands behind the end of the chain',
  head_broken: 'The end of the chain was changed or removed',
};

/** Checks the whole chain, and shows how far it is. */
export function Verify() {
  const [done, setDone] = useState<{ checked: number; total: number }>();
  const [verdict, setVerdict] = useState<AuditVerdict>();
  const verify = useAct<void>(async () => {
    setDone(undefined);
    setVerdict(undefined);
    await askLines<AuditVerifyLine>('audit/verify', (line) => {
      if ('verdict' in line) setVerdict(line.verdict);
      else setDone(line);
    });
  });
  const percent = done && done.total > 0 ? Math.round((done.checked / done.total) * 100) : 0;
  return (
    <>
      <Group>
        <Button variant="light" size="compact-sm" loading={verify.isPending} onClick={() => verify.mutate()}>
          Verify the chain
        </Button>
        {verify.isPending && (
          <>
            <Progress.Root w={200} size="lg">
              <Progress.Section value={percent} aria-label="Records checked" />
            </Progress.Root>
            <Text size="sm" role="status">
              {done ? `${done.checked} of ${done.total}` : 'Starting'}
            </Text>
          </>
        )}
      </Group>
      {verify.error && <Failure problem={verify.error} />}
      {verdict?.ok && (
        <Alert color="green" role="status">
          All {verdict.checked} records are as they were written, in their order, with none missing.
          {verdict.unsealed > 0 && ` ${verdict.unsealed} of the last second are not in the chain yet.`}
        </Alert>
      )}
      {verdict && !verdict.ok && (
        <Alert color="red" role="alert" title="The trail was tampered with">
          <List size="sm">
            {verdict.faults.map((fault) => (
              <List.Item key={`${fault.position} ${fault.what}`}>
                {fault.position === null ? words[fault.what] : `Record ${fault.position} ${words[fault.what]}`}
              </List.Item>
            ))}
          </List>
        </Alert>
      )}
    </>
  );
}

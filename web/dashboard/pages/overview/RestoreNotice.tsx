import { Alert, List, Text } from '@mantine/core';
import { Timestamp } from '../../parts/Timestamp.tsx';
import type { ResponseOf } from '../../service/api.ts';

type Props = { restore: NonNullable<ResponseOf<'overview.get'>['overview']['restore']> };

/** What a restore from a backup may have lost. */
export function RestoreNotice({ restore: { restored_at, backup_at, unfinished_jobs } }: Props) {
  return (
    <Alert color="yellow" title="Restored from a backup">
      <Text size="sm" mb="xs">
        Restored <Timestamp at={restored_at} show="clock" />. The backup is from{' '}
        <Timestamp at={backup_at} show="clock" />. Anything that happened after the backup is missing from the database:
      </Text>
      <List size="sm">
        <List.Item>
          Unfinished jobs: {unfinished_jobs.toLocaleString()}. Each job looks up its writes in the EMR before it sends
          anything. If the EMR cannot be searched, the job needs review.
        </List.Item>
        <List.Item>
          Requests accepted after the backup are lost, with their jobs, events and idempotency keys. If a client resends
          one, it is written again.
        </List.Item>
        <List.Item>Webhooks sent after the backup may be sent again.</List.Item>
        <List.Item>
          Links, revocations and erasures made after the backup are undone. Repeat those that are still needed.
        </List.Item>
      </List>
    </Alert>
  );
}

import { Anchor, Group, Progress, Text } from '@mantine/core';
import { Link } from 'wouter';
import { fieldLabel } from '../../parts/labels.ts';
import { Status } from '../../parts/Status.tsx';
import { Timestamp } from '../../parts/Timestamp.tsx';
import { Fields } from '../../parts/values.tsx';
import { useClient } from '../../service/client.tsx';
import type { Organization } from '../../service/types.ts';
import { isSyncing } from './useAccounts.ts';

/** The newest sync and when each record type was last synced. */
export function SyncStatus({ organization }: { organization: Organization }) {
  const { linkTo } = useClient();
  const { sync, kinds } = organization;
  if (!sync) {
    return (
      <Text size="sm" my="xs">
        Not synced yet
      </Text>
    );
  }
  const done = kinds.filter((kind) => kind.job_id === sync.job_id).length;
  return (
    <>
      <Group gap="xs" my="xs">
        <Text size="sm">
          <Anchor component={Link} href={linkTo(`/jobs/${sync.job_id}`)}>
            Last sync
          </Anchor>{' '}
          <Timestamp at={sync.at} />
        </Text>
        <Status of={sync.state} />
      </Group>
      {isSyncing(organization) && kinds.length > 0 && (
        <div role="status">
          <Progress value={(100 * done) / kinds.length} aria-label="Sync progress" transitionDuration={0} />
          <Text size="xs" mt={4}>
            {done} of {kinds.length} record types synced
          </Text>
        </div>
      )}
      {kinds.length > 0 && (
        <details className="more">
          <summary>Last sync by record type</summary>
          <Fields
            of={Object.fromEntries(
              kinds.map(({ kind, records, at }) => [
                fieldLabel(kind),
                <span key={kind}>
                  {records.toLocaleString()} · <Timestamp at={at} />
                </span>,
              ]),
            )}
          />
        </details>
      )}
    </>
  );
}

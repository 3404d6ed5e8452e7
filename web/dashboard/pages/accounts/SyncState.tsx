import { Anchor, Group, Progress, Text } from '@mantine/core';
import { Link } from 'wouter';
import type { OrganizationRow } from '../../../../src/model/dashboard/accounts.ts';
import { Fields } from '../../parts/Fields.tsx';
import { Moment } from '../../parts/Moment.tsx';
import { Status } from '../../parts/Status.tsx';
import { useClient } from '../../service/client.tsx';

export function isSyncing({ sync }: OrganizationRow): boolean {
  return sync !== null && ['queued', 'running'].includes(sync.state);
}

/** How the newest sync stands, and when each kind of record was last read. */
export function SyncState({ organization }: { organization: OrganizationRow }) {
  const { at } = useClient();
  const { sync, kinds } = organization;
  if (!sync) {
    return (
      <Text size="sm" my="xs">
        Its records were not read yet.
      </Text>
    );
  }
  const done = kinds.filter((kind) => kind.job_id === sync.job_id).length;
  return (
    <>
      <Group gap="xs" my="xs">
        <Text size="sm">
          <Anchor component={Link} href={`~/dashboard${at(`/jobs/${sync.job_id}`)}`}>
            Last sync
          </Anchor>{' '}
          <Moment at={sync.at} />
        </Text>
        <Status of={sync.state} />
      </Group>
      {isSyncing(organization) && kinds.length > 0 && (
        <div role="status">
          <Progress value={(100 * done) / kinds.length} aria-label="Kinds of records read" transitionDuration={0} />
          <Text size="xs" mt={4}>
            {done} of {kinds.length} kinds of records read
          </Text>
        </div>
      )}
      {kinds.length > 0 && (
        <details className="more">
          <summary>Last sync of each kind</summary>
          <Fields
            of={Object.fromEntries(
              kinds.map(({ kind, records, at }) => [
                nameOf(kind),
                <span key={kind}>
                  {records.toLocaleString()} · <Moment at={at} />
                </span>,
              ]),
            )}
          />
        </details>
      )}
    </>
  );
}

function nameOf(kind: string): string {
  const words = kind.replaceAll('_', ' ');
  return words.charAt(0).toUpperCase() + words.slice(1);
}

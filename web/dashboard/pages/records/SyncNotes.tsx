import { Alert, Anchor, Progress, Text } from '@mantine/core';
import { Link } from 'wouter';
import { Timestamp } from '../../parts/Timestamp.tsx';
import type { ResponseOf } from '../../service/api.ts';
import { useClient } from '../../service/client.tsx';
import { useQuery } from '../../service/queries.ts';
import { age, describeFailure } from '../jobs/labels.ts';
import { useOrganization } from './organization.tsx';

export type KindRow = ResponseOf<'records.count'>['kinds'][number];

/** The ages of syncs change by themselves. */
const ages_ms = 30_000;

/** The organization's record types with their counts and syncs. */
export function useKinds() {
  const { params } = useOrganization();
  return useQuery('records.count', params, { live: ['jobs'], refresh_ms: ages_ms });
}

/** How current a list is, next to its title. */
export function ListSync({ kind }: { kind: string }) {
  const row = useKinds().data?.kinds.find((each) => each.kind === kind);
  return row ? (
    <Text size="sm" c="dimmed" component="div">
      <SyncAge kind={row} />
    </Text>
  ) : null;
}

export function SyncAge({ kind: { synced_at, first_sync_pending, refused_in } }: { kind: KindRow }) {
  const { linkTo } = useClient();
  if (refused_in !== null) {
    return (
      <>
        The EMR refused access to this list during the{' '}
        <Anchor component={Link} href={linkTo(`/jobs/${refused_in}`)} inherit underline="always">
          last sync
        </Anchor>
        {synced_at !== null && <>. Synced {age(synced_at)} ago</>}
      </>
    );
  }
  if (first_sync_pending) return 'First sync not finished';
  if (synced_at === null) return 'Not synced';
  return (
    <>
      Synced {age(synced_at)} ago (<Timestamp at={synced_at} show="clock" />)
    </>
  );
}

/** The progress of the first sync, and why the newest one failed or waits. */
export function SyncNotes() {
  const { linkTo } = useClient();
  const { data } = useKinds();
  if (!data) return null;
  const { kinds, sync } = data;
  const pending = kinds.filter(({ first_sync_pending }) => first_sync_pending).length;
  const stopped = sync !== null && ['failed', 'parked', 'needs_review'].includes(sync.state);
  return (
    <>
      {stopped && (
        <Alert
          color="orange"
          mb="md"
          title={sync.state === 'parked' ? 'Sync waiting for re-linking' : 'Last sync failed'}
        >
          {sync.error_code !== null && `${describeFailure(sync.error_code).label}. `}
          The records are as of the last successful sync.{' '}
          <Anchor component={Link} href={linkTo(`/jobs/${sync.job_id}`)} size="sm" c="inherit" underline="always">
            View sync
          </Anchor>
        </Alert>
      )}
      {pending > 0 && !stopped && (
        <Alert color="blue" mb="md" title="First sync in progress" role="status">
          <Progress
            value={(100 * (kinds.length - pending)) / kinds.length}
            aria-label="First sync"
            transitionDuration={0}
            my="xs"
          />
          {kinds.length - pending} of {kinds.length} record types complete. Until all are, lists and searches are
          incomplete.
        </Alert>
      )}
    </>
  );
}

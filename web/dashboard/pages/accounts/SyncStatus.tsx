import { Alert, Anchor, Group, Progress, Stack, Text } from '@mantine/core';
import { Link } from 'wouter';
import { FormDialog } from '../../parts/forms/FormDialog.tsx';
import { fieldLabel } from '../../parts/labels.ts';
import { Status } from '../../parts/Status.tsx';
import { Timestamp } from '../../parts/Timestamp.tsx';
import { Fields } from '../../parts/values.tsx';
import { call } from '../../service/api.ts';
import { useClient } from '../../service/client.tsx';
import { useSession } from '../../service/session.tsx';
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
      <Text size="xs" c="dimmed" mb="xs">
        {sync.emr_requests.toLocaleString()} EMR requests. In the last hour{' '}
        {organization.emr_requests_last_hour.toLocaleString()}; a sync sends at most{' '}
        {organization.emr_requests_per_hour_max.toLocaleString()} per hour.
      </Text>
      {isSyncing(organization) && organization.outage === null && kinds.length > 0 && (
        <div role="status">
          <Progress value={(100 * done) / kinds.length} aria-label="Sync progress" transitionDuration={0} />
          <Text size="xs" mt={4}>
            {done} of {kinds.length} record types synced
          </Text>
        </div>
      )}
      <HeldRemovals organization={organization} />
      <EarlierSyncs organization={organization} />
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

/** How many requests each of the syncs before the newest one sent. */
function EarlierSyncs({ organization: { earlier_syncs } }: { organization: Organization }) {
  const { linkTo } = useClient();
  if (earlier_syncs.length === 0) return null;
  return (
    <details className="more">
      <summary>Earlier syncs</summary>
      <Stack gap={4} mt={4}>
        {earlier_syncs.map(({ job_id, at, state, emr_requests }) => (
          <Group key={job_id} gap="xs">
            <Anchor component={Link} href={linkTo(`/jobs/${job_id}`)} size="sm">
              <Timestamp at={at} show="exact" />
            </Anchor>
            <Text size="sm">{emr_requests.toLocaleString()} EMR requests</Text>
            {state !== 'succeeded' && <Status of={state} />}
          </Group>
        ))}
      </Stack>
    </details>
  );
}

/** Lists that lost so many records at once that nothing was removed. */
function HeldRemovals({ organization }: { organization: Organization }) {
  const { may } = useSession();
  const { client_id } = useClient();
  return organization.held_removals.map(({ kind, stored, missing, at, confirmed }) => (
    <Alert key={kind} color="orange" my="xs" title={`${fieldLabel(kind)}: removals held back`}>
      <Text size="sm">
        At the last full sync (<Timestamp at={at} show="clock" />) the EMR listed {(stored - missing).toLocaleString()}{' '}
        of {stored.toLocaleString()} stored records. Nothing was removed, because the EMR may have returned an
        incomplete list.
      </Text>
      {confirmed && <Text size="sm">Confirmed. The next sync removes what is still missing.</Text>}
      {!confirmed && may('operator') && (
        <Group mt="xs">
          <FormDialog
            opener="Apply removals"
            title={`Apply removals: ${fieldLabel(kind)}`}
            submit="Apply removals"
            danger
            action={() => call('removals.confirm', { client_id, organization_id: organization.id, kind })}
          >
            <Text size="sm">
              Check in the EMR that {missing.toLocaleString()} of {stored.toLocaleString()} records were actually
              deleted. The next sync then removes them here.
            </Text>
          </FormDialog>
        </Group>
      )}
    </Alert>
  ));
}

import { Anchor, Group, Text } from '@mantine/core';
import { Link } from 'wouter';
import { useClient } from '../../service/client.tsx';
import { useQuery } from '../../service/queries.ts';

const views = [
  { label: 'Failed in 24 hours', query: 'state=unfixed&period=24h' },
  { label: 'Retrying', query: 'state=retrying' },
  { label: 'Needs review', query: 'state=unresolved' },
  { label: 'Waiting for re-linking', query: 'state=parked' },
] as const;

type Props = { filters: Record<string, string>; searched: boolean; unknown_state: string | undefined };

/** Above the list: frequent views, how many jobs match, and whether the list follows changes. */
export function JobListHead({ filters, searched, unknown_state }: Props) {
  const count = useCount(filters, searched);
  return (
    <>
      {unknown_state !== undefined && (
        <Text size="sm" mb="xs" role="status">
          There is no status “{unknown_state.slice(0, 40)}”, so the list is not filtered by status.
        </Text>
      )}
      <Group justify="space-between" gap="xs" mb="xs">
        <Group gap="md" component="nav" aria-label="Views">
          {views.map(({ label, query }) => (
            <Anchor key={query} component={Link} href={`/?${query}`} size="sm">
              {label}
            </Anchor>
          ))}
        </Group>
        <Text size="sm" c="dimmed" role="status">
          {count === undefined ? ' ' : `${count}${searched ? '' : ' · live'}`}
        </Text>
      </Group>
    </>
  );
}

/** The count comes with the first page of the list, which is the same query. */
function useCount(filters: Record<string, string>, searched: boolean): string | undefined {
  const { client_id } = useClient();
  const query = Object.fromEntries(Object.entries(filters).filter(([, value]) => value !== ''));
  const { data } = useQuery(
    'jobs.list',
    { client_id },
    { query: { ...query, page_size: 1 }, live: ['jobs'], enabled: !searched },
  );
  const count = searched ? undefined : data?.count;
  if (!count) return undefined;
  if (count.more) return `More than ${count.jobs.toLocaleString()} jobs`;
  return count.jobs === 1 ? '1 job' : `${count.jobs.toLocaleString()} jobs`;
}

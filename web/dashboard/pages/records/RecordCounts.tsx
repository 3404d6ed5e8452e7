import { Title } from '@mantine/core';
import { type Column, DataTable } from '../../parts/DataTable.tsx';
import { QueryResult } from '../../parts/QueryResult.tsx';
import { Timestamp } from '../../parts/Timestamp.tsx';
import type { ResponseOf } from '../../service/api.ts';
import { useQuery } from '../../service/queries.ts';
import { kind_labels, kind_paths } from './labels.ts';
import { useOrganization } from './organization.tsx';

/** How many records of each type are stored, and when they were last synced. */
export function RecordCounts() {
  const { organization, params } = useOrganization();
  const counts = useQuery('records.count', params, { live: ['jobs'] });
  return (
    <>
      <Title order={2} size="h4" mb="sm">
        Records of {organization.org_id}
      </Title>
      <QueryResult query={counts}>
        {({ kinds }) => (
          <DataTable
            label="Records by type"
            rows={kinds}
            columns={columns}
            keyOf={(row) => row.kind}
            href={(row) => kind_paths[row.kind] ?? '/'}
            empty="No records yet. They appear after the first sync."
          />
        )}
      </QueryResult>
    </>
  );
}

const columns: Column<ResponseOf<'records.count'>['kinds'][number]>[] = [
  { head: 'Type', cell: (row) => kind_labels[row.kind] },
  { head: 'Records', cell: (row) => row.total.toLocaleString(), align: 'right' },
  { head: 'Last synced', cell: (row) => (row.synced_at ? <Timestamp at={row.synced_at} /> : 'Never') },
];

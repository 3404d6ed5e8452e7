import { Text } from '@mantine/core';
import { DataTable } from '../../parts/lists/DataTable.tsx';
import { QueryResult } from '../../parts/QueryResult.tsx';
import { useQuery } from '../../service/queries.ts';
import { Disposals } from './Disposals.tsx';

export function Retention() {
  const query = useQuery('retention.get', {});
  return (
    <>
      <Text size="sm" c="dimmed" mb="sm">
        How long data is kept. Records of practices are kept as long as the EMR has them. Clients can have periods of
        their own: see their pages.
      </Text>
      <QueryResult query={query}>
        {({ retention }) => (
          <DataTable
            label="Retention"
            rows={retention}
            rowKey={(row) => row.what}
            columns={[
              { head: 'Data', cell: (row) => row.what },
              { head: 'Kept for', cell: (row) => retentionLabel(row.days) },
              { head: 'Setting', cell: (row) => row.setting ?? '–' },
            ]}
            empty="No retention rules."
          />
        )}
      </QueryResult>
      <Disposals />
    </>
  );
}

function retentionLabel(days: number | null): string {
  if (days === null) return 'Forever';
  if (days === 0) return 'Deleted immediately';
  return days === 1 ? '1 day' : `${days} days`;
}

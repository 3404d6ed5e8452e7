import { Title } from '@mantine/core';
import { type Column, DataTable } from '../../parts/lists/DataTable.tsx';
import { QueryResult } from '../../parts/QueryResult.tsx';
import { kindPath } from './KindList.tsx';
import { useOrganization } from './organization.tsx';
import { type KindRow, SyncAge, useKinds } from './SyncNotes.tsx';

/** How many records of each type are stored, and when they were last synced. */
export function RecordCounts() {
  const { organization } = useOrganization();
  const counts = useKinds();
  return (
    <>
      <Title order={2} size="h3" mb="sm">
        Records for {organization.org_id}
      </Title>
      <QueryResult query={counts}>
        {({ kinds }) => (
          <DataTable
            label="Records by type"
            rows={kinds}
            columns={columns}
            rowKey={(row) => row.kind}
            href={(row) => kindPath(row.kind)}
            empty="No records yet. They appear after the first sync, which you can start under Accounts."
          />
        )}
      </QueryResult>
    </>
  );
}

const columns: Column<KindRow>[] = [
  { head: 'Type', cell: (row) => row.label },
  { head: 'Records', cell: (row) => row.total.toLocaleString(), align: 'right' },
  { head: 'Last synced', cell: (row) => <SyncAge kind={row} /> },
];

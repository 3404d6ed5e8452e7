import { Title } from '@mantine/core';
import type { KindRow } from '../../../../src/model/dashboard/recordKinds.ts';
import { Answer } from '../../parts/Answer.tsx';
import { Moment } from '../../parts/Moment.tsx';
import { type Column, Rows } from '../../parts/Rows.tsx';
import { useAnswer } from '../../service/useService.ts';
import { useOrganization } from './organization.tsx';
import { kind_paths, kind_words } from './words.ts';

/** What is held of an organization, and how fresh it is. */
export function Kinds() {
  const { organization, of } = useOrganization();
  const counts = useAnswer<{ kinds: KindRow[] }>(of('records'), { live: ['jobs'] });
  return (
    <>
      <Title order={2} size="h4" mb="sm">
        What is held of {organization.org_id}
      </Title>
      <Answer to={counts}>
        {({ kinds }) => (
          <Rows
            label="Records by kind"
            rows={kinds}
            columns={columns}
            keyOf={(row) => row.kind}
            href={(row) => kind_paths[row.kind] ?? '/'}
            empty="Nothing is held yet."
          />
        )}
      </Answer>
    </>
  );
}

const columns: Column<KindRow>[] = [
  { head: 'Kind', cell: (row) => kind_words[row.kind] },
  { head: 'Records', cell: (row) => row.total.toLocaleString(), align: 'right' },
  { head: 'Last read from the EMR', cell: (row) => (row.synced_at ? <Moment at={row.synced_at} /> : 'Not yet') },
];

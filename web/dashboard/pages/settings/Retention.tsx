import { Text } from '@mantine/core';
import type { Retention as Shown } from '../../../../src/model/dashboard/encryption.ts';
import { Answer } from '../../parts/Answer.tsx';
import { Rows } from '../../parts/Rows.tsx';
import { useAnswer } from '../../service/useService.ts';

/** What is deleted by itself. */
export function Retention() {
  const kept = useAnswer<{ retention: Shown }>('retention');
  return (
    <>
      <Text size="sm" c="dimmed" mb="sm">
        How long things are kept. Records of clinics are kept as long as their EMR has them.
      </Text>
      <Answer to={kept}>
        {({ retention }) => (
          <Rows
            label="Retention"
            rows={retention}
            keyOf={(row) => row.what}
            columns={[
              { head: 'What', cell: (row) => row.what },
              { head: 'Kept for', cell: (row) => wordsOf(row.days) },
              { head: 'Setting', cell: (row) => row.setting ?? '–' },
            ]}
            empty="Nothing is kept."
          />
        )}
      </Answer>
    </>
  );
}

function wordsOf(days: number | null): string {
  if (days === null) return 'Always';
  if (days === 0) return 'Deleted at once';
  return days === 1 ? '1 day' : `${days} days`;
}

import { Text } from '@mantine/core';
import type { AccountRow } from '../../../../src/model/dashboard/accounts.ts';
import { wordOperations } from '../../parts/wordOperations.ts';

/** What the EMR behind an account was found able to do when it was linked or last synced, and what it cannot. */
export function Capabilities({ account: { capabilities, lacks } }: { account: AccountRow }) {
  return (
    <details className="more">
      <summary>
        {capabilities.length} of {capabilities.length + lacks.length}
      </summary>
      <Text size="xs" miw={240} maw={360}>
        Can: {wordOperations(capabilities)}.
      </Text>
      {lacks.length > 0 && (
        <Text size="xs" miw={240} maw={360} mt={4}>
          Cannot: {wordOperations(lacks)}.
        </Text>
      )}
    </details>
  );
}

import { Text } from '@mantine/core';
import type { AccountRow } from '../../../../src/model/dashboard/accounts.ts';

/** What the EMR behind an account was found able to do when it was linked, and what it cannot. */
export function Capabilities({ account: { capabilities, lacks } }: { account: AccountRow }) {
  return (
    <details className="more">
      <summary>
        {capabilities.length} of {capabilities.length + lacks.length}
      </summary>
      <Text size="xs" miw={240} maw={360}>
        Can: {wordsOf(capabilities)}.
      </Text>
      {lacks.length > 0 && (
        <Text size="xs" miw={240} maw={360} mt={4}>
          Cannot: {wordsOf(lacks)}.
        </Text>
      )}
    </details>
  );
}

/** `createAppointment` reads as `create appointment`. */
function wordsOf(names: readonly string[]): string {
  return names.map((name) => name.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)).join(', ');
}

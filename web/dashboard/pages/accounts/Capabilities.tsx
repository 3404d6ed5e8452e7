import { Group, List, Text } from '@mantine/core';
import { ActionButton } from '../../parts/ActionButton.tsx';
import { operationLabels } from '../../parts/labels.ts';
import { call } from '../../service/api.ts';
import { useClient } from '../../service/client.tsx';
import { useSession } from '../../service/session.tsx';
import type { Account } from '../../service/types.ts';

type Evidence = Account['evidence'][number];

/** What the account's EMR supports, and how that is known. */
export function Capabilities({ account }: { account: Account }) {
  const { may } = useSession();
  const { client_id } = useClient();
  const { capabilities, lacks, evidence } = account;
  const refused = evidence.filter(({ state }) => state === 'refused');
  const unsupported = lacks.filter((name) => !refused.some(({ capability }) => capability === name));
  return (
    <details className="more">
      <summary>
        {capabilities.length} of {capabilities.length + lacks.length}
        {refused.length > 0 && `, ${refused.length} refused`}
      </summary>
      <List size="xs" className="wide-cell" maw={360}>
        {[...refused, ...evidence.filter(({ state }) => state !== 'refused')].map((each) => (
          <List.Item key={each.capability}>{describeEvidence(each)}</List.Item>
        ))}
      </List>
      {unsupported.length > 0 && (
        <Text size="xs" className="wide-cell" maw={360} mt={4}>
          Not supported: {operationLabels(unsupported)}.
        </Text>
      )}
      {may('operator') && account.status === 'active' && (
        <Group mt="xs">
          <ActionButton
            action={() => call('accounts.check', { client_id, account_id: account.id })}
            done={() => 'Checked.'}
          >
            Check again
          </ActionButton>
        </Group>
      )}
    </details>
  );
}

const day = new Intl.DateTimeFormat(undefined, { month: 'short', day: 'numeric' });

/** `Claims: 3,741 readable`, `Create patient: declared, not yet used`, `Upload document: refused by the server on Nov 15`. */
function describeEvidence({ capability, state, detail, records, at }: Evidence): string {
  const label = operationLabels([capability]).replace(/^list /, '');
  const title = label.replace(/^./, (letter) => letter.toUpperCase());
  const reason = detail === null ? '' : `: ${detail}`;
  const on = day.format(new Date(at));
  if (state === 'refused') return `${title}: refused by the server on ${on}${reason}`;
  if (records !== null) return `${title}: ${records.toLocaleString()} readable`;
  return state === 'works'
    ? `${title}: works, last seen on ${on}${reason}`
    : `${title}: declared, not yet used${reason}`;
}

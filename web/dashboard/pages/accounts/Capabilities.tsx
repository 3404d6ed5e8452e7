import { Anchor, Drawer, Group, List, Stack, Text, Title } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { ActionButton } from '../../parts/forms/ActionButton.tsx';
import { operationLabels } from '../../parts/labels.ts';
import { call } from '../../service/api.ts';
import { useClient } from '../../service/client.tsx';
import { useSession } from '../../service/session.tsx';
import type { Account } from '../../service/types.ts';

type Evidence = Account['evidence'][number];

/** How many operations the account's EMR supports; a drawer has the list, and how each is known. */
export function Capabilities({ account }: { account: Account }) {
  const [opened, { open, close }] = useDisclosure(false);
  const { capabilities, lacks, evidence } = account;
  const refused = evidence.filter(({ state }) => state === 'refused').length;
  return (
    <>
      <Anchor component="button" type="button" size="sm" ta="left" onClick={open}>
        {capabilities.length} of {capabilities.length + lacks.length}
        {refused > 0 && `, ${refused} refused`}
        <span className="visually-hidden">: capabilities of {account.user_id}</span>
      </Anchor>
      <Drawer opened={opened} onClose={close} position="right" size="md" title={`Capabilities of ${account.user_id}`}>
        <CapabilityGroups account={account} />
      </Drawer>
    </>
  );
}

function CapabilityGroups({ account }: { account: Account }) {
  const { may } = useSession();
  const { client_id } = useClient();
  const { lacks, evidence } = account;
  const refused = evidence.filter(({ state }) => state === 'refused');
  const unsupported = lacks.filter((name) => !refused.some(({ capability }) => capability === name));
  return (
    <Stack>
      <CapabilityGroup
        title="Refused"
        about="The server declares these and rejected them. Requests that need them are rejected until it is checked again."
        evidence={refused}
      />
      <CapabilityGroup
        title="Works"
        about="Seen to work with this account."
        evidence={evidence.filter(({ state }) => state === 'works')}
      />
      <CapabilityGroup
        title="Not used yet"
        about="The server declares these."
        evidence={evidence.filter(({ state }) => state === 'declared')}
      />
      {unsupported.length > 0 && (
        <section aria-label="Not supported">
          <Title order={3} size="h5">
            Not supported
          </Title>
          <Text size="sm" c="dimmed">
            {operationLabels(unsupported)}
          </Text>
        </section>
      )}
      {may('operator') && account.status === 'active' && (
        <Group>
          <ActionButton
            action={() => call('accounts.check', { client_id, account_id: account.id })}
            done={() => 'Checked.'}
          >
            Check again
          </ActionButton>
        </Group>
      )}
    </Stack>
  );
}

function CapabilityGroup(props: { title: string; about: string; evidence: readonly Evidence[] }) {
  const { title, about, evidence } = props;
  if (evidence.length === 0) return null;
  return (
    <section aria-label={title}>
      <Title order={3} size="h5">
        {title} ({evidence.length})
      </Title>
      <Text size="xs" c="dimmed" mb={4}>
        {about}
      </Text>
      <List size="sm">
        {evidence.map((each) => (
          <List.Item key={each.capability}>{describeEvidence(each)}</List.Item>
        ))}
      </List>
    </section>
  );
}

const day = new Intl.DateTimeFormat(undefined, { month: 'short', day: 'numeric' });

/** `Claims: 3,741 readable`, `Create patient`, `Upload document: on Nov 15. The server refuses documents.` */
function describeEvidence({ capability, state, detail, records, at }: Evidence): string {
  const label = operationLabels([capability]).replace(/^list /, '');
  const title = label.replace(/^./, (letter) => letter.toUpperCase());
  const parts = [
    ...(records === null ? [] : [`${records.toLocaleString()} readable`]),
    ...(state === 'declared' || records !== null
      ? []
      : [`${state === 'refused' ? 'on' : 'last seen'} ${day.format(new Date(at))}`]),
    ...(detail === null ? [] : [detail]),
  ];
  return parts.length === 0 ? title : `${title}: ${parts.join('. ')}`;
}
